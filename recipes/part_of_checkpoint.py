"""Make a part of the averaged weights in the checkpoint of a run that is not done: to judge it, or to learn.

    python recipes/part_of_checkpoint.py RUN PART OUT-RUN camvid:CamVid stanford:iccv09Data

The data sets are those of the run. The run itself is left alone and can go on.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from safetensors import safe_open

from anyscene.data import open as open_data
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.learning.backbone.network import SceneNetwork, shape_of
from anyscene.learning.backbone.part_files import Part, write_part

AVERAGE = "average."


def main(run: Path, name: str, out: Path, specs: list[str]) -> None:
    """Write the part, with what the run has seen by now: all images of its split."""
    with safe_open(run / f"{name}.checkpoint", framework="pt") as file:
        metadata = file.metadata()
        stored = [key for key in file.keys() if key.startswith(AVERAGE)]  # noqa: SIM118 - not a dict
        weights = {key.removeprefix(AVERAGE): file.get_tensor(key) for key in stored}
    datasets = {spec.split(":", 1)[0]: open_data(spec) for spec in specs}
    classes = {data: dataset.classes.names for data, dataset in datasets.items()}
    network = SceneNetwork({data: len(names) for data, names in classes.items()}, shape=shape_of(weights))
    network.load_state_dict(weights)
    seen = {image_key(scene.image) for dataset in datasets.values() for scene in dataset.split(name)}
    recipe = json.loads(metadata["identity"])["recipe"] | {"steps": int(metadata["step"])}
    write_part(Part(network, classes, tuple(sorted(seen)), recipe), out / f"{name}.weights")
    print(f"wrote {out / f'{name}.weights'}: the average after {metadata['step']} steps")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
