"""States of small images, for painting."""

import numpy as np

from anyscene.model.actions import Pool, split
from anyscene.model.state import initial_state

POOL = Pool((), (), (), 3, 8)


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def opened(evidence, thresholds, seed=0):
    """A state some splits after the start; leaves differ in entropy, so that layers mix."""
    random = np.random.default_rng(seed)
    state = initial_state(np.full(3, 1 / 3, np.float32), 1, evidence.layer_count, 0)
    for threshold in thresholds:
        state = split(state, threshold, POOL, evidence)
        state.belief[:] = random.dirichlet(np.full(3, 0.5), len(state.leaves))
        state = type(state)(**{name: getattr(state, name) for name in state.__dataclass_fields__})
    return state
