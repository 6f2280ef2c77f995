"""Chains and sequences as arrays and plain JSON, for run folders and model files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.proposals.static_sequence import GreedySequence
from anyscene.modelfile import action_from_json, action_to_json, chain_from_arrays, chain_to_arrays
from anyscene.named_arrays import under


def sequence_to_arrays(sequence: GreedySequence) -> dict[str, NDArray[Any]]:
    """A sequence as arrays; its actions as bytes of JSON-like rows (kind, threshold or chain, size)."""
    arrays: dict[str, NDArray[Any]] = {
        "actions": np.array([action_to_json(action) for action in sequence.actions], np.float64).reshape(
            -1, 3
        ),
        "held_out_loss": np.array(sequence.held_out_loss),
        "count": np.array([len(sequence.chains)]),
    }
    for i, chain in enumerate(sequence.chains):
        arrays |= {f"{i}/{key}": array for key, array in chain_to_arrays(chain).items()}
    return arrays


def sequence_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> GreedySequence:
    """The inverse of `sequence_to_arrays`."""
    chains = tuple(chain_from_arrays(under(str(i), arrays)) for i in range(int(arrays["count"][0])))
    actions = tuple(action_from_json(row) for row in arrays["actions"].tolist())
    return GreedySequence(chains, actions, tuple(arrays["held_out_loss"].tolist()))
