"""The oracle: how good a policy could be that knew the truth; for evaluation only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.model.evidence import ArrayEvidence
from anyscene.model.loss import Truth, pixel_accuracy
from anyscene.policy.model import Model
from anyscene.policy.policies import Policy, Situation
from anyscene.policy.rollout import walk


@dataclass(frozen=True)
class Oracle:
    """Knows the truth, and takes the action after which a policy's curve has the largest area.

    The policy's own action is among them, so on no image is the area below the policy's. (The largest
    R + γ·[return]₊ would be no such bound: rewards by Eq. 4 do not say how long it takes until the next one.)

    model, evidence, truth : of one image. policy : followed after each action that is tried.
    budgets : float64[B], evenly spaced in log cost; the area is the mean accuracy at these.
    """

    model: Model
    policy: Policy
    evidence: ArrayEvidence
    truth: Truth
    budgets: NDArray[np.float64]

    def choose(self, situation: Situation) -> int | None:
        """Return the action of largest area; stop when none is larger than that of stopping here."""
        choices = np.flatnonzero(situation.offered)
        gains = [self.gain(situation, int(action)) for action in choices]
        if not gains or max(gains) <= 0:
            return None
        return int(choices[int(np.argmax(gains))])

    def gain(self, situation: Situation, action: int) -> float:
        """True area of taking an action and following the policy to its end, less that of stopping here."""
        first = self.model.advance(situation, action, self.evidence)
        later = walk(self.model, self.policy, self.evidence, start=first, taken=(*situation.taken, action))
        states = [situation.state, first, *(state for _, _, state in later)]
        accuracy = np.array(
            [pixel_accuracy(self.model.shown(state, self.evidence), self.truth) for state in states]
        )
        last = np.searchsorted([state.cost for state in states], self.budgets, side="right") - 1
        return float((accuracy[np.maximum(last, 0)] - accuracy[0]).mean())
