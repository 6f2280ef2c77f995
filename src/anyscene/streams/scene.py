"""`Scene`: what a stream keeps of the scene in sight."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.streams.memory import Carried, Memory
from anyscene.streams.motion import Motion, Sight, after_another
from anyscene.streams.policies import NEVER


@dataclass(frozen=True, eq=False)
class Pending:
    """A look under way: at which frame, and how the image moved since. motion : None if it did not.

    The worker also mixes what the look tells with what was believed then, so that no call has to.
    """

    look: int
    seen_ms: float
    expected_ms: float
    motion: Motion | None = None


@dataclass(eq=False)
class Scene:
    """What is kept of the scene in sight; another scene begins with an empty one.

    shape : of its frames. carried : what is believed. sight : of the last frame that beliefs were moved to.
    frames : how many came since the last look. painted : the labels that were shown last, and of what.
    """

    shape: tuple[int, ...] = ()
    carried: Carried | None = None
    sight: Sight | None = None
    pending: Pending | None = None
    frames: int = NEVER
    painted: tuple[Memory, NDArray[np.int16]] | None = None

    @property
    def memory(self) -> Memory | None:
        """What is believed of the frame in sight."""
        return None if self.carried is None else self.carried.memory

    def move(self, motion: Motion) -> None:
        """Take beliefs, and what a look under way will tell, along to the next frame."""
        if self.carried is not None:
            self.carried = self.carried.along(motion)
        if self.pending is not None:
            before = self.pending.motion
            since = motion if before is None else after_another(before, motion)
            self.pending = replace(self.pending, motion=since)
