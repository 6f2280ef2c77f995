"""`Pace`: how long a step of a call usually takes."""

from __future__ import annotations

from dataclasses import dataclass

LEARNING_RATE = 0.1
"""How much the newest time of a step counts in what it usually takes."""

FADING = 0.9998
"""What is too dear is believed to cost a little less each time, so that it is tried again at some time."""

LONGEST = 3.0
"""A step that took more than so many times what it usually takes was interrupted, and counts as this many."""


@dataclass
class Pace:
    """How long a step usually takes, learned from how long it took.

    ms : milliseconds. margin : how many times as long it may take before anything else is late.
    """

    ms: float
    margin: float = 1.0

    def fits(self, within_ms: float) -> bool:
        """Tell whether there is time for the step; what is too dear fades a little."""
        fits = self.margin * self.ms <= within_ms
        if not fits:
            self.ms *= FADING
        return fits

    def note(self, ms: float) -> None:
        """Learn from how long it took this time."""
        self.ms += LEARNING_RATE * (min(ms, LONGEST * self.ms) - self.ms)
