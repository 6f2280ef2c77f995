"""What a whole job may take, in time or in CPU time, shared out fairly."""

from __future__ import annotations

import time
from collections.abc import Callable

FEWEST_MS = 1.0
"""The least that an image is given; the first labels take about half of it."""


class Allowance:
    """Shares out what is left of a job's time among the images that are left.

    total_ms : for the whole job, from now on. images : how many there are. side_by_side : how many are
    labelled at the same time.
    """

    def __init__(
        self, total_ms: float, images: int, side_by_side: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._ends = clock() + total_ms / 1e3
        self._images = self._left = images
        self._side_by_side = side_by_side
        self._all_around_ms = 0.0
        self._seen = 0

    def next_ms(self, images: int = 1) -> float | None:
        """What each of the next images may take; None when too little time is left."""
        remaining = (self._ends - self._clock()) * 1e3
        fair = remaining * self._side_by_side / max(1, self._left)
        self._left -= images
        if remaining <= images * (self.around_ms + FEWEST_MS) / 2:  # they would take twice what is left
            return None
        return max(FEWEST_MS, fair - self.around_ms)

    def seen(self, images: int) -> None:
        """Learn that so many images are done in all, whoever was asked for them."""
        self._left = min(self._left, self._images - images)

    @property
    def around_ms(self) -> float:
        """What an image takes besides labeling, on average."""
        return self._all_around_ms / self._seen if self._seen else 0.0

    def took(self, all_ms: float, labeling_ms: float, images: int = 1) -> None:
        """Learn what images took besides labeling: reading them and writing their results."""
        self._all_around_ms += max(0.0, all_ms - labeling_ms)
        self._seen += images
