"""`Arrival`: a frame that has just come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.engine.clock import Clock
from anyscene.streams.motion import SMALLEST_SIDE, Sight


@dataclass(frozen=True, eq=False)
class Arrival:
    """A frame that has just come.

    image : as it was given. frame : in the size that is worked on. sight : of the frame. at_ms : when it
    came, by the clock of the stream. clock : of the call; it says when labels are due.
    """

    image: NDArray[np.uint8]
    frame: NDArray[np.uint8]
    sight: Sight
    at_ms: float
    clock: Clock

    @property
    def can_be_followed(self) -> bool:
        """Whether the frame is large enough to find motion in."""
        height, width, _ = self.frame.shape
        return bool(min(height, width) >= SMALLEST_SIDE)
