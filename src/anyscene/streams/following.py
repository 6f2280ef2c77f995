"""`Follower`: how the scene moved from frame to frame, found as well as there is time for."""

from __future__ import annotations

import time
from collections.abc import Callable

from anyscene.streams.motion import Motion, MotionFinder, Sight, no_motion
from anyscene.streams.pace import FLOW_MARGIN, Pace
from anyscene.streams.restarts import motion_within_scene


class Follower:
    """Finds motion finely, roughly, or not at all: where time is short, all goes on as it moved before.

    What could only be guessed in a call is measured between calls, so that the next guess is better.
    """

    def __init__(self) -> None:
        self._finder, self._between_calls = MotionFinder(), MotionFinder()
        self._fine, self._rough = Pace(1.0, FLOW_MARGIN), Pace(0.4, FLOW_MARGIN)
        self._last: Motion | None = None
        self._guessed: tuple[Sight, Sight] | None = None

    def motion(self, before: Sight, after: Sight, within_ms: float) -> Motion | None:
        """How the scene moved between two frames; None if the later one shows another scene."""
        fine = self._fine.fits(within_ms)
        guess = None if fine or self._rough.fits(within_ms) else self._guess(after)
        begun = time.perf_counter()
        motion = motion_within_scene(self._finder, before, after, fine, guess)
        if guess is not None:
            self._guessed = before, after
        elif motion is not None and motion.speed > 0:
            (self._fine if fine else self._rough).note((time.perf_counter() - begun) * 1e3)
        self._last = motion
        return motion

    def _guess(self, after: Sight) -> Motion:
        still = no_motion(after.grid)
        return self._last if self._last is not None and self._last.match.shape == after.grid else still

    def left_to_measure(self) -> Callable[[], None] | None:
        """What is left to do between calls: measure the motion that was guessed last; None if none was."""
        guessed, self._guessed = self._guessed, None
        if guessed is None:
            return None

        def measure() -> None:
            self._last = self._between_calls.find(*guessed)

        return measure
