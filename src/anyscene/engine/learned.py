"""`Learned`: what training leaves behind, ready to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anyscene.data.classes import Classes
from anyscene.familiarity import Familiarity
from anyscene.features import Bank
from anyscene.model.actions import Action, Pool, Split, Update
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.policy.model import Model
from anyscene.policy.plans import Plan
from anyscene.policy.policies import Policy
from anyscene.policy.stream_section import StreamSection


@dataclass(frozen=True, eq=False)
class Learned:
    """What training leaves behind, ready to run.

    make_bank : makes the feature sets for a number of threads. temperature : turns beliefs into
    probabilities. plans : what to do by a known deadline, from worst to best. policy_ms : what the policy
    typically takes without a deadline, by the model's costs; None where that is not known.
    familiarity : tells images like the training images from others; None where the model was made without.
    stream : the policy for streams of frames; None where none was learned.
    """

    model: Model
    policy: Policy
    make_bank: Callable[[int], Bank]
    classes: Classes
    temperature: float = 1.0
    plans: tuple[Plan, ...] = ()
    policy_ms: float | None = None
    familiarity: Familiarity | None = None
    stream: StreamSection | None = None

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """Every action of the pool in words."""
        return tuple(describe_action(action, self.model.pool) for action in self.model.pool.actions)

    @cached_property
    def plain_blends(self) -> dict[Action, Chain]:
        """The actions whose labels need no beliefs of leaves, and their blends."""
        blends = {action: plain_blend(action, self.model.pool) for action in self.model.pool.actions}
        return {action: chain for action, chain in blends.items() if chain}


def plain_blend(action: Action, pool: Pool) -> Chain | None:
    """Return the chain of an action that blends maps which show detail, and at most the parent's belief.

    On the image as a whole q ∝ exp(bias)·p^v·Π s̄^w, p the prior, and so exp(bias)·p^v·Π s^w in a cell.
    """
    if not isinstance(action, Update) or action.size != 1:
        return None
    chain = pool.chains[action.chain]
    maps = chain.blend_source[chain.blend_source != PARENT_BELIEF]
    return chain if len(maps) and np.isin(maps, pool.ladder).all() else None


def describe_action(action: Action, pool: Pool) -> str:
    """An action in words, as traces show it."""
    if isinstance(action, Split):
        return f"split where entropy > {action.threshold:g}"
    used = pool.chains[action.chain].sets_of(action.size, len(pool.sets))
    sets = [name for name, is_used in zip(pool.sets, used, strict=True) if is_used]
    learners = f"{action.size} learner{'s' * (action.size != 1)}"
    return f"update by {', '.join(sets) or 'parents'} (chain {action.chain}, {learners})"
