"""How slow the machine has been lately."""

from __future__ import annotations

START = 1.25
"""The factor to begin with: nothing is known of the machine yet, and its caches are cold."""

WEIGHT = 0.25
"""Share of the latest step in the running mean."""

FORGETTING = 0.05
"""Every call forgets this share: where nothing seems to fit, no step could show that it would."""

LARGEST, LONGEST = 4.0, 1.5
"""The factor never exceeds LARGEST. A single step counts at most LONGEST times the mean."""

LEAST_MS = 0.5
"""Shorter steps tell nothing."""


class Slowness:
    """What steps take relative to what they took when the machine was measured: a mean of the latest.

    Other programs come and go within seconds. All calls of an engine share one object, without a lock: a lost
    update is one step that was not seen.
    """

    def __init__(self) -> None:
        self.factor = START

    def begin_call(self) -> None:
        """Forget a little."""
        self.factor += FORGETTING * (1.0 - self.factor)

    def note(self, predicted_ms: float, actual_ms: float) -> None:
        """Take a step into account that has ended, or that was given up."""
        if predicted_ms >= LEAST_MS:
            seen = min(actual_ms / predicted_ms, LONGEST * self.factor)
            self.factor = min(self.factor + WEIGHT * (seen - self.factor), LARGEST)
