"""When a stream begins anew: nothing of another scene is ever shown."""

from __future__ import annotations

import cv2

from anyscene.streams.motion import Motion, MotionFinder, Sight

OTHER_SHADES = 0.2
"""By so much the shares of shades differ in all in another scene, but not when a camera moves."""

OTHER_LEVELS = 25.0
"""Grey levels. Cells differ by more on average in another scene, but not when something large goes by."""

LEAST_MATCH = 0.6
"""Where less of the moved image than this share matches the new one, the new one shows another scene."""

LONGEST_PAUSE_MS = 1_000.0
"""After so long without a frame, beliefs are not carried on."""


def motion_within_scene(finder: MotionFinder, before: Sight, after: Sight) -> Motion | None:
    """How a scene moved between two frames of one size; None if the later shows another scene or light."""
    if cv2.norm(before.shades, after.shades, cv2.NORM_L1) > OTHER_SHADES and (
        cv2.norm(before.greys, after.greys, cv2.NORM_L1) > OTHER_LEVELS * after.greys.size
    ):
        return None
    motion = finder.find(before, after)
    return motion if motion.match.mean() >= LEAST_MATCH else None
