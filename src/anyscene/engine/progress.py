"""`Progress`: what was done to one image so far, and the state that it led to."""

from __future__ import annotations

import numpy as np

from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.learned import Learned
from anyscene.model.actions import Action, advance
from anyscene.model.chain import Chain
from anyscene.model.state import State
from anyscene.painting.show import Painted, leaf_answers, paint_detail, show


class Progress:
    """The actions taken on one image. What they lead to can be shown at any moment.

    A blend of whole maps can be painted without the leaves' beliefs. Where nobody needs a state to choose the
    next action, pooling and belief updates therefore wait until a state is asked for.

    taken : the actions so far, as indices of the pool.
    """

    def __init__(self, learned: Learned, states_wait: bool) -> None:
        self.taken: tuple[int, ...] = ()
        self._learned = learned
        self._states_wait = states_wait
        self._known = learned.model.start()
        self._waiting: list[tuple[Action, float]] = []
        self._blend: Chain | None = None  # what the labels show, if they need no leaves

    def take(self, index: int, cost: float, evidence: LazyEvidence) -> None:
        """Carry out an action; if that runs out of time, nothing has changed."""
        action = self._learned.model.pool.actions[index]
        blend = self._learned.plain_blends.get(action) if self._states_wait and self._is_whole else None
        if blend:
            evidence.extract(blend, self._learned.model.pool)
            self._waiting.append((action, cost))
        else:
            self._known = self._advanced([*self._waiting, (action, cost)], evidence)
            self._waiting = []
        self._blend = blend
        self.taken = (*self.taken, index)

    def state(self, evidence: LazyEvidence | None) -> State:
        """The state after all actions taken."""
        if self._waiting and evidence is not None:
            self._known = self._advanced(self._waiting, evidence)
            self._waiting = []
        return self._known

    @property
    def leaf_count(self) -> int:
        """How many leaves there are; actions that wait split none."""
        return len(self._known.leaves)

    @property
    def mean_entropy(self) -> float | None:
        """Entropy of the leaves' beliefs in nats, weighted by area; None where beliefs wait."""
        return None if self._waiting else float(self._known.area @ self._known.entropy)

    def paint(self, evidence: LazyEvidence | None, size: tuple[int, int]) -> Painted:
        """Paint what the actions have led to at a size (height, width)."""
        if self._blend is None or evidence is None:
            return paint_state(self.state(evidence), self._learned, evidence, size)
        pool, temperature = self._learned.model.pool, self._learned.temperature
        detail = evidence.blend(self._blend, pool, self._learned.model.start().belief[0])
        nothing, root = np.zeros((1, pool.classes), np.float32), np.zeros(1, np.int32)
        return paint_detail(detail, nothing, root, evidence.tree, evidence.nodes(0), temperature, size)

    @property
    def _is_whole(self) -> bool:
        return self.leaf_count == 1

    def _advanced(self, actions: list[tuple[Action, float]], evidence: LazyEvidence) -> State:
        state = self._known
        for action, cost in actions:
            state = advance(state, action, self._learned.model.pool, evidence, cost)
        return state


def paint_state(
    state: State, learned: Learned, evidence: LazyEvidence | None, size: tuple[int, int]
) -> Painted:
    """Paint a state of an image at a size (height, width); without evidence, the prior everywhere."""
    if evidence is None:
        labels, confidence = leaf_answers(state, learned.temperature)
        return Painted(np.full(size, labels[0]), lambda: np.full(size, confidence[0]))
    detail = evidence.detail(state, learned.model.pool) if len(state.maps) else None
    return show(state, evidence.tree, evidence.nodes(0), size, learned.temperature, detail)
