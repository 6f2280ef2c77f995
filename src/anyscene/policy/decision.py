"""`Decision`: what to do next, whoever decides."""

from __future__ import annotations

from typing import NamedTuple


class Decision(NamedTuple):
    """The next action.

    action : its index in the pool. cost : its milliseconds by the model. predicted_ms : what it typically
    takes on this machine. rest_ms : what a plan's labels take after its last action; None without a plan.
    """

    action: int
    cost: float
    predicted_ms: float
    rest_ms: float | None = None
