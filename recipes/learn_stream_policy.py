"""Learn when a model should look in streams, and write it into the model file or beside it.

    python recipes/learn_stream_policy.py MODEL DATA-SET [BACKBONE]
    python recipes/learn_stream_policy.py camvid camvid:CamVid

A model that ships keeps its file, and gets a `.stream-policy` beside it. Clips are camera paths over training
stills. Each is scored by a part of the backbone that has not seen the still, so that learning sees the
network as it is on new images. Of CamVid no frame is used from the drive of val after frame 5280, and none of
drive 0006R0, on which `benchmarks/stream_policies.py` judges.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from anyscene.data import open as open_data
from anyscene.engine.loading import find_model, shipped_models
from anyscene.features.hypercolumn.backbone import installed_backbone, read_backbone
from anyscene.modelfile import load_model, save_model
from anyscene.policy.stream_section import SUFFIX, write_section
from anyscene.streams.engine import load
from anyscene.streams.looks import looks_of
from anyscene.streams.training import learn_policy, relative_costs, streams_over

STILLS = 44
"""Every motion at every speed four times."""

LAST_BEFORE_VAL = 5280
"""Of CamVid's drive 0016E5, in which val begins at frame 7959; also the last frame of half a."""


def main(model: str, data: str, backbone: Path | None) -> None:
    """Learn, and write the policy where it belongs."""
    dataset = open_data(data)
    looks = looks_of(load(model))
    train = dataset.split("train")
    allowed = [index for index, id in enumerate(train.ids) if may_be_learned_from(dataset.name, id)]
    chosen = [allowed[int(place)] for place in np.linspace(0, len(allowed) - 1, STILLS)]
    path = backbone or installed_backbone(dataset.name)
    assert path is not None, "name a backbone, or install anyscene-models"
    starts = streams_over(
        list(train.pick(chosen)),
        looks,
        relative_costs(looks),
        read_backbone(path),
        dataset.name,
        np.random.default_rng(0),
    )
    section = learn_policy(starts, looks, lambda text: print(text, flush=True))
    file = find_model(model)
    if file in shipped_models().values():
        write_section(file.with_suffix(SUFFIX), section)
    else:
        save_model(file, replace(load_model(file), stream=section))


def may_be_learned_from(dataset: str, id: str) -> bool:
    """Whether a still is neither near CamVid's val nor kept for judging."""
    if dataset != "camvid":
        return True
    drive, number = id.split("_")
    frame = int(re.sub("[^0-9]", "", number))
    return drive == "0001TP" or (drive == "0016E5" and frame <= LAST_BEFORE_VAL)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]) if len(sys.argv) > 3 else None)
