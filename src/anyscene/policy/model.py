"""`Model`: the decision process of labeling one image (section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.model.action_costs import ActionCosts, coverage, offered
from anyscene.model.actions import Pool, advance
from anyscene.model.evidence import ArrayEvidence, Evidence
from anyscene.model.shown import Shown, shown_by
from anyscene.model.state import State, initial_state
from anyscene.policy.policies import Situation


@dataclass(frozen=True)
class Model:
    """The decision process: its actions, what they cost, where it starts and when it ends.

    prior : float32[C], the root's belief. max_steps : the horizon T.
    """

    pool: Pool
    costs: ActionCosts
    prior: NDArray[np.float32]
    max_steps: int

    def start(self) -> State:
        """Return the state before the first action: the same for every image."""
        return self._first

    @cached_property
    def _first(self) -> State:
        sets, chains = len(self.pool.sets), len(self.pool.chains)
        return initial_state(self.prior, sets, self.pool.layer_count, chains, self.costs.start)

    def situation(self, state: State, taken: tuple[int, ...] = ()) -> Situation:
        """Work out what is offered in a state and what it would cost."""
        covered = coverage(state, self.pool, self.costs.branching)
        costs = self.costs.of_actions(state, self.pool, covered)
        mask = offered(state, self.pool, covered)
        if state.steps >= self.max_steps:
            mask = np.zeros_like(mask)
        return Situation(state, self.pool, mask, costs, covered, taken)

    def advance(self, situation: Situation, action: int, evidence: Evidence) -> State:
        """Take an offered action at its predicted cost."""
        cost = float(situation.costs[action])
        return advance(situation.state, self.pool.actions[action], self.pool, evidence, cost)

    def shown(self, state: State, evidence: ArrayEvidence) -> Shown:
        """What a state shows of an image whose whole tree is in hand."""
        return shown_by(state, self.pool, evidence)
