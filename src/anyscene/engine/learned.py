"""`Learned`: what training leaves behind, ready to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from anyscene.data.classes import Classes
from anyscene.engine.trail import plain_blend
from anyscene.features import Bank
from anyscene.model.actions import Action, Pool, Split
from anyscene.model.chain import Chain
from anyscene.model.plans import Plan
from anyscene.model.policies import Policy
from anyscene.model.rollout import Model


@dataclass(frozen=True, eq=False)
class Learned:
    """What training leaves behind, ready to run.

    make_bank : the feature sets for a number of threads. temperature : makes beliefs into probabilities.
    plans : what the policy does by a known deadline.
    """

    model: Model
    policy: Policy
    make_bank: Callable[[int], Bank]
    classes: Classes
    temperature: float = 1.0
    plans: tuple[Plan, ...] = ()

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """Every action of the pool in words."""
        return tuple(describe_action(action, self.model.pool) for action in self.model.pool.actions)

    @cached_property
    def plain_blends(self) -> dict[Action, Chain]:
        """The actions whose labels need no beliefs of leaves, and their blends."""
        blends = {action: plain_blend(action, self.model.pool) for action in self.model.pool.actions}
        return {action: chain for action, chain in blends.items() if chain}


def describe_action(action: Action, pool: Pool) -> str:
    """An action in words, as traces show it."""
    if isinstance(action, Split):
        return f"split where entropy > {action.threshold:g}"
    used = pool.chains[action.chain].sets_of(action.size, len(pool.sets))
    sets = [name for name, is_used in zip(pool.sets, used, strict=True) if is_used]
    return f"update by {', '.join(sets) or 'parents'} (chain {action.chain}, {action.size} learners)"
