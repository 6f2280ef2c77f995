"""Policies as arrays, for model files and run folders."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_array, check_keys
from anyscene.model.validation import MOST_STEPS
from anyscene.named_arrays import Arrays
from anyscene.policy.phi import Phi
from anyscene.policy.policies import LearnedPolicy, LinearQ, StaticPolicy

StoredPolicy = StaticPolicy | LearnedPolicy
SEQUENCE = "sequence"
"""The one array of a static policy; a learned policy has those of Q, its guide and its two levels."""

LARGEST_Q = 1e12
"""The largest weight in a file: with larger ones, Q̂ might not stay finite."""


def policy_to_arrays(policy: StoredPolicy) -> dict[str, NDArray[Any]]:
    """A policy's arrays by name."""
    if isinstance(policy, StaticPolicy):
        return {SEQUENCE: np.array(policy.sequence, np.int64)}
    return {
        **{part.name: getattr(policy.q, part.name) for part in fields(LinearQ)},
        "guide": np.array(policy.guide, np.int64),
        "margin": np.array([policy.margin]),
        "stop_below": np.array([policy.stop_below]),
    }


def check_policy(arrays: Arrays, phi: Phi, actions: int) -> None:
    """Raise a ValueError unless arrays from a file are those of a policy that weighs what `phi` says.

    Version 2 of model files keeps guides and levels elsewhere.
    """
    for name in {SEQUENCE, "guide"} & arrays.keys():
        check_array(f"'{name}' of a policy", arrays[name], np.int64, (None,), 0, actions - 1)
        if len(arrays[name]) > MOST_STEPS:
            raise ValueError(f"a policy takes {len(arrays[name])} actions")
    if SEQUENCE in arrays:
        return check_keys("a static policy", arrays, (SEQUENCE,))
    shapes = {"state": phi.state.shape, "action": phi.action.shape[1:], "own": phi.own.shape}
    levels = ("guide", "margin", "stop_below") if "guide" in arrays else ()
    check_keys("a policy", arrays, (*shapes, *levels))
    for name, shape in shapes.items():
        check_array(f"'{name}' of a policy", arrays[name], np.float64, shape, -LARGEST_Q, LARGEST_Q)
    if levels:
        check_array("the margin of a policy", arrays["margin"], np.float64, (1,), 0, infinite=True)
        check_array("the level of a policy", arrays["stop_below"], np.float64, (1,), infinite=True)


def policy_from_arrays(arrays: Arrays) -> StoredPolicy:
    """The inverse of `policy_to_arrays`."""
    if SEQUENCE in arrays:
        return StaticPolicy(tuple(arrays[SEQUENCE].tolist()))
    return LearnedPolicy(
        q=LinearQ(**{part.name: arrays[part.name] for part in fields(LinearQ)}),
        guide=tuple(arrays["guide"].tolist()),
        margin=float(arrays["margin"][0]),
        stop_below=float(arrays["stop_below"][0]),
    )
