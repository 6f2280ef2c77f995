"""What one frame of a video showed, as evidence for the next."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features.sets import SCORE_FLOOR

TRUST = 0.1
"""Power that carried beliefs are raised to: things move, and what was carried before is in them.

On 40 frames of a drive that neither network nor model had seen, one a second, no limit: 84.0 % of pixels and
46.8 % mean IoU without, 84.6 and 47.1 with 0.1, 85.0 and 46.6 with 0.3, 84.3 and 44.0 with 0.5.
"""


@dataclass(frozen=True, eq=False)
class Carried:
    """Beliefs at each place of the frame before, float32[rows, columns, C]."""

    belief: NDArray[np.float32]

    def log_scores(self, cells: tuple[int, int]) -> NDArray[np.float32]:
        """What they add to the log-beliefs of a map of (rows, columns) cells, float32[rows, columns, C]."""
        belief = cv2.resize(self.belief, (cells[1], cells[0]), interpolation=cv2.INTER_LINEAR)
        scores = cv2.log(np.maximum(belief.reshape(*cells, -1), SCORE_FLOOR))
        return np.asarray(scores * np.float32(TRUST), np.float32)
