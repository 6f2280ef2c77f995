"""`Trail`: the states of a run, each worked out when somebody asks for it."""

from __future__ import annotations

from threading import Lock

import numpy as np

from anyscene.engine.evidence import LazyEvidence
from anyscene.model.actions import Action, Pool, Update, advance
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.state import State


class Trail:
    """From a state on, the actions taken; what they need is extracted, but perhaps not pooled yet.

    A plan, or a policy that only follows its guide, decides without a state. Where the actions are blends of
    whole maps, the labels do not need the leaves' beliefs either, and those are left until somebody asks.
    """

    def __init__(self, start: State, pool: Pool) -> None:
        self._pool = pool
        self._states = [start]
        self._actions: list[tuple[Action, float]] = []
        self._lock = Lock()  # a trace may be read while the run goes on

    def take(self, action: Action, cost: float) -> int:
        """Note an action that costs so many milliseconds; how many there are now."""
        self._actions.append((action, cost))
        return len(self._actions)

    def give_up(self) -> None:
        """Take the latest action back: it was not carried out."""
        del self._actions[-1]

    def state(self, evidence: LazyEvidence | None, steps: int | None = None) -> State:
        """The state after so many actions, or all."""
        steps = len(self._actions) if steps is None else steps
        with self._lock:
            while len(self._states) <= steps:
                assert evidence is not None  # whoever took an action looked at something
                action, cost = self._actions[len(self._states) - 1]
                self._states.append(advance(self._states[-1], action, self._pool, evidence, cost))
        return self._states[steps]

    def mean_entropy(self, evidence: LazyEvidence | None, steps: int) -> float:
        """How uncertain the leaves were after so many actions, in nats, weighted by area."""
        state = self.state(evidence, steps)
        return float(state.area @ state.entropy)


def plain_blend(action: Action, pool: Pool) -> Chain | None:
    """The chain of an action that blends maps which show detail, and at most the parent's belief with them.

    On the image as a whole q ∝ exp(bias)·p^v·Π s̄^w, p the prior, and so exp(bias)·p^v·Π s^w in a cell.
    """
    if not isinstance(action, Update) or action.size != 1:
        return None
    chain = pool.chains[action.chain]
    maps = chain.blend_source[chain.blend_source != PARENT_BELIEF]
    return chain if len(maps) and np.isin(maps, pool.ladder).all() else None
