"""How slow the machine is of late."""

from __future__ import annotations

START = 1.25
"""Nothing is known of a machine before the first steps, and those find its caches cold."""

WEIGHT = 0.25
"""Of the latest step among those before it."""

FORGETTING = 0.05
"""By so much of what is left every call forgets: where nothing seems to fit, nothing shows that it would."""

LARGEST, LONGEST = 4.0, 1.5
"""Nothing is taken to be slower than LARGEST times what was measured, no step than LONGEST times the mean."""

LEAST_MS = 0.5
"""Shorter steps tell nothing."""


class Tempo:
    """What steps take, over what they took when the machine was measured: a mean of the latest.

    Other programs, and on rented machines other people's, come and go within seconds. All calls of an engine
    share one tempo. None need wait for another: a lost update is one step that was not seen.
    """

    def __init__(self) -> None:
        self.slowness = START

    def begin(self) -> None:
        """A call begins."""
        self.slowness += FORGETTING * (1.0 - self.slowness)

    def note(self, predicted_ms: float, actual_ms: float) -> None:
        """A step has ended, or was given up."""
        if predicted_ms >= LEAST_MS:
            seen = min(actual_ms / predicted_ms, LONGEST * self.slowness)
            self.slowness = min(self.slowness + WEIGHT * (seen - self.slowness), LARGEST)
