"""`Spares`: memory for copies of frames that is used again: fresh memory takes longer to write to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Spares:
    """Copies of frames that nobody needs any more; two threads may use it."""

    def __init__(self) -> None:
        self._spares: list[NDArray[np.uint8]] = []

    def copy_of(self, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Copy a frame, over one that was given back if there is one of its size."""
        while self._spares:
            spare = self._spares.pop()
            if spare.shape == frame.shape:
                np.copyto(spare, frame)
                return spare
        return frame.copy()

    def give_back(self, copy: NDArray[np.uint8]) -> None:
        """Take back a copy that nobody reads any more."""
        self._spares.append(copy)
