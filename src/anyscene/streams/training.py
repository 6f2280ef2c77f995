"""From a model and stills with truth to a stream policy, by camera paths over the stills."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from anyscene.data.camera_paths import camera_clips
from anyscene.data.scenes import Scene
from anyscene.features.hypercolumn.backbone import Backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.ladder import HonestLadder
from anyscene.features.hypercolumn.rung import Rung
from anyscene.policy.stream_section import StreamSection
from anyscene.streams.learning import StreamSettings, learn
from anyscene.streams.looks import Looks, network_looks
from anyscene.streams.simulation import Moment, begin, record

USUAL_FRAME = (360, 480)
"""Height and width of the noise at which looks are timed."""

JUDGING = 4
"""One clip of so many judges the iterations of the policy and is not learned from."""


def relative_costs(looks: Looks) -> NDArray[np.float64]:
    """What each action costs here, in units of the finest look, float64[A]."""
    noise = np.random.default_rng(0).integers(0, 256, (*USUAL_FRAME, 3), dtype=np.uint8)
    costs_ms = np.array([0.0, *looks.measure(noise, time.thread_time)])
    return np.asarray(costs_ms / costs_ms[-1])


def streams_over(
    stills: Sequence[Scene],
    looks: Looks,
    costs: NDArray[np.float64],
    backbone: Backbone,
    dataset: str,
    random: np.random.Generator,
) -> list[Moment]:
    """Recorded streams of camera paths, each scored by a part of the backbone that has not seen the stills.

    looks : of the model; the parts look at the same input sizes.
    """
    ladder = HonestLadder(backbone, dataset, map(Rung.parse, looks.names), bare=True)
    by_part: defaultdict[str, list[Scene]] = defaultdict(list)
    for still in stills:
        by_part[backbone.part_for(image_key(still.image))].append(still)
    starts = []
    for part, scenes in by_part.items():
        honest = network_looks(list(ladder.of_part(part).values()), len(backbone.classes[dataset]))
        starts += [begin(record(clip, honest), costs) for clip in camera_clips(scenes, random)]
    return starts


def learn_policy(
    starts: Sequence[Moment], looks: Looks, report: Callable[[str], None], seed: int = 0
) -> StreamSection:
    """Learn on most streams, judge on the rest.

    The policy chooses between the finest look and nothing: at any cost, the finest look at longer periods
    labels better than a coarser one at shorter periods (docs/research/2026-11-18-stream-policies.md).
    """
    judging = starts[::JUDGING]
    fitted = [start for index, start in enumerate(starts) if index % JUDGING]
    random = np.random.default_rng(seed)
    policy = learn(fitted, judging, (len(looks),), StreamSettings(), random, report)
    return policy.to_section(looks.names)
