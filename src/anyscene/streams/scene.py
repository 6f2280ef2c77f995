"""`Scene`: what a stream keeps of the scene in sight."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.streams.memory import Carried
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
    painted: tuple[Carried, NDArray[np.int16]] | None = None

    def labels_of(self, carried: Carried) -> NDArray[np.int16] | None:
        """The labels that were shown last, if they were painted of these beliefs, as a copy to write into."""
        painted = self.painted
        return painted[1].copy() if painted is not None and painted[0] is carried else None

    def keep_labels(self, carried: Carried, labels: NDArray[np.int16]) -> None:
        """Keep a copy of labels in case the next frame shows the same, in the memory of the copy before."""
        kept = np.empty_like(labels) if self.painted is None else self.painted[1]
        np.copyto(kept, labels)
        self.painted = carried, kept

    def move(self, motion: Motion) -> None:
        """Take beliefs, and what a look under way will tell, along to the next frame."""
        if self.carried is not None:
            self.carried = self.carried.along(motion)
        if self.pending is not None:
            before = self.pending.motion
            since = motion if before is None else after_another(before, motion)
            self.pending = replace(self.pending, motion=since)
