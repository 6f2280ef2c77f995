"""Recorded streams whose best decisions are known: a coarse look errs often, a fine one hardly ever.

Where the camera moves, a new column comes into sight with each frame, and it must be looked at; what stands
still need not be looked at again.
"""

import numpy as np

from anyscene.data.clips import Clip
from anyscene.streams.motion import Motion, no_motion
from anyscene.streams.simulation import Recording, begin

GRID, CLASSES, FRAMES = (6, 8), 3, 20
COSTS = np.array([0.0, 0.25, 1.0])
TRUSTS = (0.25, 1.0)


def recording(moves, seed=0):
    random = np.random.default_rng(seed)
    world = random.integers(0, CLASSES, (GRID[0], GRID[1] + FRAMES)).astype(np.int16)
    starts = range(FRAMES) if moves else [0] * FRAMES
    truth = [world[:, start : start + GRID[1]] for start in starts]
    motions = (None, *[pan() if moves else no_motion(GRID)] * (FRAMES - 1))
    scores = tuple(tuple(_scores(each, right, random) for right in (0.6, 0.97)) for each in truth)
    clip = Clip("toy", "pan", "slow", []) if moves else Clip("toy", "still", "", [])
    return Recording(clip, motions, scores, tuple(truth), TRUSTS)


def pan():
    """By one column a frame."""
    still = no_motion(GRID)
    match = np.full(GRID, 0.9, np.float32)
    match[:, -1] = 0
    return Motion(still.columns + 1, still.rows, match, 1 / GRID[1])


def _scores(truth, right, random):
    said = np.where(random.random(GRID) < right, truth, random.integers(0, CLASSES, GRID))
    return np.where(said[..., None] == np.arange(CLASSES), 0.0, -3.0).astype(np.float16)


def streams(moves, seed=0):
    """One stream for each answer to whether the camera moves."""
    return [begin(recording(each, seed + number), COSTS) for number, each in enumerate(moves)]
