"""A process that opens files from strangers: a line of JSON for each, and a missing one for a crash.

`python -m tests.hostile.victim KIND` reads paths from its input, one a line, with a limit on memory.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from anyscene.errors import AnysceneError
from tests.hostile.wards import MOST_MEMORY, peak_of

RESERVED = 6 * 2**30
"""Address space that libraries reserve without using it; the peak of what is used is measured."""


def open_model(path: Path) -> list[np.ndarray]:
    """Load a model, take each of its actions and label by its policy and its plans; what was labelled."""
    from anyscene.apps.info import describe_model
    from anyscene.costs.deadline import local_costs
    from anyscene.costs.steps import CostModel, StepCost
    from anyscene.engine.engine import Engine
    from anyscene.engine.loading import learned_from
    from anyscene.engine.progress import paint_state
    from anyscene.model.actions import advance
    from anyscene.modelfile import load_model

    class AnyStep(dict):
        """Costs of steps that nobody measured: calibrating each file would take ten seconds."""

        def __missing__(self, step):
            return StepCost(0.01, 1e-7, 1e-7, 1.1)

        def __contains__(self, step):
            return True

    trained = load_model(path)
    describe_model(trained)
    learned = learned_from(trained)
    bank = learned.make_bank(1)
    engine = Engine(learned, local_costs(CostModel("", AnyStep()), bank, learned.model.costs.branching), bank)
    image = picture()
    shown = []
    for budget in (None, 0.2, 2, 30, 60_000):
        labeling = engine.label(image, budget, confidence=True)
        check_labels(labeling.labels, labeling.confidence, len(trained.classes))
        if budget in (None, 60_000):
            shown.append(labeling.labels)
    evidence, latest = engine.begin(image).look(), learned.model.start()
    for action in learned.model.pool.actions:
        latest = advance(latest, action, learned.model.pool, evidence, 0.0)
        painted = paint_state(latest, learned, evidence, image.shape[:2])
        check_labels(painted.labels, painted.confidence(), len(trained.classes))
        shown.append(painted.labels)
    return shown


def check_labels(labels: np.ndarray, confidence: np.ndarray, classes: int) -> None:
    """Raise unless every pixel has a class, and every confidence is a number."""
    if not np.isfinite(confidence).all() or labels.min() < 0 or labels.max() >= classes:
        raise ArithmeticError("labels or confidences are no numbers")


def open_backbone(path: Path) -> list[np.ndarray]:
    """Read a backbone and run each of its parts with each of its heads; what they scored."""
    from anyscene.features.hypercolumn.backbone import read_backbone
    from anyscene.features.hypercolumn.network import Network

    backbone = read_backbone(path)
    shown = []
    for part, graph in backbone.graphs.items():
        network = Network(graph)
        for name in backbone.classes:
            shown.append(network.scores(picture()[:64, :96], backbone.heads[part, name]))
    return shown


def open_picture(path: Path) -> list[np.ndarray]:
    """Read a picture."""
    from anyscene.data.images import read_image

    image = read_image(path)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ArithmeticError("this is no picture")
    return [image]


def open_calibration(path: Path) -> list[np.ndarray]:
    """Read a calibration; nothing, or times that are numbers."""
    from anyscene.costs import calibration_file

    key = path.name.partition(".")[0]
    folder = Path(os.environ["ANYSCENE_CACHE"]) / "calibration"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, folder / f"{key}.json")
    found = calibration_file.load_calibration(key)
    if found is None:
        raise AnysceneError("measured again")
    return [
        np.array([[cost.fixed, cost.per_pixel, cost.per_region, cost.high] for cost in found.steps.values()])
    ]


def open_features(path: Path) -> list[np.ndarray]:
    """Ask a cache, one file of which is this one, for the features of a picture: always the same."""
    with tempfile.TemporaryDirectory() as folder:
        ask_for_features(folder)
        (kept,) = Path(folder).rglob("*.npy")
        shutil.copyfile(path, kept)
        return [ask_for_features(folder)]


def kept_calibration() -> bytes:
    """What a cache keeps of a calibration."""
    from anyscene.costs.steps import CostModel, StepCost
    from anyscene.marks import sealed

    steps = {f"step {number}": StepCost(0.1 * number, 1e-6, 1e-5, 1.3) for number in range(40)}
    return json.dumps(sealed(CostModel("0123456789abcdef", steps).to_json()), indent=1).encode()


def kept_features() -> bytes:
    """What a cache keeps of the features of a picture."""
    with tempfile.TemporaryDirectory() as folder:
        ask_for_features(folder)
        (kept,) = Path(folder).rglob("*.npy")
        return kept.read_bytes()


def ask_for_features(folder: str) -> np.ndarray:
    """The features of a picture, kept in a folder."""
    from anyscene.features import bank_from_arrays
    from anyscene.features.cache import FeatureCache
    from anyscene.hierarchy import Tree

    bank, tree = bank_from_arrays(["color"], {}), Tree(picture())
    return np.array(FeatureCache(folder).features(picture(), tree, bank, ["color"])["color"])


def open_manifest(path: Path) -> list[np.ndarray]:
    """Read the manifest of a job, one file of which is this one, and merge it with another."""
    from anyscene.cluster.manifest import Manifest
    from anyscene.cluster.places import place

    with tempfile.TemporaryDirectory() as folder:
        manifest = Manifest(place(folder))
        manifest.add(manifest_rows_of("a", 3))
        shutil.copyfile(path, Path(folder, "manifest", "whole-1-1.parquet"))
        manifest.ids()
        manifest.compact()
        rows = [row for table in manifest.tables() for row in table.to_pylist()]
        return [np.frombuffer(repr(sorted(rows, key=repr)).encode(), np.uint8)]


def kept_manifest() -> bytes:
    """A file of a manifest."""
    from anyscene.cluster.manifest import Manifest
    from anyscene.cluster.places import place

    with tempfile.TemporaryDirectory() as folder:
        manifest = Manifest(place(folder))
        for start in ("b", "c"):
            manifest.add(manifest_rows_of(start, 30))
        manifest.compact()
        (kept,) = Path(folder, "manifest").glob("whole-*")
        return kept.read_bytes()


def manifest_rows_of(start: str, count: int):
    """Rows of a manifest."""
    from anyscene.cluster.ids import ID_BYTES
    from anyscene.cluster.manifest import manifest_rows
    from anyscene.outputs.records import Record

    def more(number: int) -> dict:
        return {"id": f"{start}{number}".encode().ljust(ID_BYTES), "version": "", "cpu_ms": 1.0, "node": "n"}

    return manifest_rows([(Record(f"{start}{k}.png", "labelled"), more(k)) for k in range(count)])


def picture() -> np.ndarray:
    """A picture with something in it, uint8[96, 128, 3]."""
    rows, columns = np.mgrid[0:96, 0:128]
    return np.stack([2 * rows, columns, (rows // 16 * 40 + columns) % 256], axis=2).astype(np.uint8)


OPENERS: dict[str, Callable[[Path], list[np.ndarray]]] = {
    "model": open_model,
    "backbone": open_backbone,
    "picture": open_picture,
    "calibration": open_calibration,
    "features": open_features,
    "manifest": open_manifest,
}


def digest(shown: list[np.ndarray]) -> str:
    """A short name for what was shown."""
    import hashlib

    whole = hashlib.sha256()
    for array in shown:
        whole.update(f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()[:16]


def judge(opened: Callable[[Path], list[np.ndarray]], path: Path) -> dict:
    """Open a file; what came of it."""
    begun = time.process_time()  # other processes may keep this one waiting
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    try:
        verdict = {"verdict": "accepted", "digest": digest(opened(path))}
    except AnysceneError as error:
        text = str(error)
        fine = "\n" not in text and text.isprintable() and len(text) < 1000
        verdict = {"verdict": "refused" if fine else "message", "text": text[:300]}
    except BaseException as error:
        verdict = {"verdict": "traceback", "text": f"{type(error).__name__}: {error}"[:300]}
        if "labels or confidences" in str(error):
            verdict["verdict"] = "nonsense"
    seconds = round(time.process_time() - begun, 2)
    return {"file": path.name, **verdict, "seconds": seconds, "peak": peak_of()}


def main() -> None:
    """Judge the files named on the input until it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY + RESERVED, MOST_MEMORY + RESERVED))
    opened = OPENERS[sys.argv[1]]
    for line in sys.stdin:
        print(json.dumps(judge(opened, Path(line.rstrip("\n")))), flush=True)


if __name__ == "__main__":
    main()
