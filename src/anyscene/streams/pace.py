"""`Pace`: how long a step of a call usually takes; and what is kept back for other steps."""

from __future__ import annotations

from dataclasses import dataclass

LEARNING_RATE = 0.1
"""How much the newest time of a step counts in what it usually takes."""

STOPPED_RATE = 0.5
"""The same for a look that had to be stopped: its time was lost, and that should not happen often."""

FADING = 0.9998
"""What is too dear is believed to cost a little less each time, so that it is tried again at some time."""

DEAR_FADING = 0.995
"""The same for looks inside calls, which are wanted more rarely."""

LONGEST = 3.0
"""A step that took more than so many times what it usually takes was interrupted, and counts as this many."""

LOOK_MARGIN = 1.25
"""A look may take so many times what it usually takes."""

FLOW_MARGIN = 1.3
"""Fine flow may take so many times what it usually takes."""

PLAIN_MS = 0.3
"""What must be left for labels at least: those of whole cells."""

HANDING_OVER_MS = 0.1
"""What it takes to hand a frame to the worker."""

RESERVE_MS = 0.2
"""What is kept back in each call, for steps that take longer than usual."""

MOVING_MS = 0.3
"""What moving beliefs takes at most, once it is known where everything went."""


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
