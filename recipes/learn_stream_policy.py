"""Learn a stream policy and write it into a model file.

    python recipes/learn_stream_policy.py MODEL BACKBONE CAMVID

Clips are camera paths over stills of CamVid's drives 0001TP and 0016E5 up to frame 5280, scored by the half
of the backbone that has not seen them. No frame of val is used, nor a neighbour of one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data import Scene
from anyscene.data import open as open_data
from anyscene.data.camera_paths import camera_clips
from anyscene.engine.loading import load
from anyscene.features.hypercolumn.backbone import Backbone, read_backbone
from anyscene.features.hypercolumn.ladder import RungScores
from anyscene.features.hypercolumn.network import Network
from anyscene.features.hypercolumn.rung import Rung
from anyscene.modelfile import load_model, save_model
from anyscene.streams.learning import StreamSettings, learn
from anyscene.streams.looks import Looks, looks_of, network_looks
from anyscene.streams.motion import sight_of
from anyscene.streams.simulation import Moment, begin, record

STILLS = 22
"""Of each drive: every motion at every speed twice."""


def main(model: Path, backbone: Path, data: str) -> None:
    """Learn on three quarters of the clips, judge on the rest, and write the policy."""
    engine = load(model)
    looks = looks_of(engine)
    frame = np.zeros((360, 480, 3), np.uint8)
    costs = np.array([0.0, *looks.measure(frame, sight_of(frame).grid)])
    half = half_looks(read_backbone(backbone), "b", looks)
    train = open_data(f"camvid:{data}").split("a")  # which half b's network has not seen
    starts: list[Moment] = []
    for number, drive in enumerate(("0001TP", "0016E5")):
        of_drive = [index for index, id in enumerate(train.ids) if id.startswith(drive)]
        chosen = [of_drive[int(place)] for place in np.linspace(0, len(of_drive) - 1, STILLS)]
        stills: list[Scene] = list(train.pick(chosen))
        for clip in camera_clips(stills, np.random.default_rng(number)):
            starts.append(begin(record(clip, lambda frame: _scores(half, frame)), looks.trusts, costs))
    held_out = starts[::4]
    fitted = [start for index, start in enumerate(starts) if index % 4]
    policy = learn(fitted, held_out, (len(looks),), StreamSettings(), np.random.default_rng(0), print)
    save_model(model, replace(load_model(model), stream=policy.to_section()))


def half_looks(backbone: Backbone, part: str, like: Looks) -> Looks:
    """The looks of a model, by the network of one half."""
    network, head = Network(backbone.graphs[part], 1), backbone.heads[part, "camvid"]
    rungs = [RungScores(network, head.first_rows(head.classes), Rung.parse(name)) for name in like.names]
    return network_looks(rungs, head.classes)


def _scores(looks: Looks, frame: NDArray[np.uint8]) -> list[NDArray[np.float32]]:
    return [looks.scores(frame, look, sight_of(frame).grid) for look in range(len(looks))]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
