"""When a stream begins anew: nothing of another scene is ever shown."""

from __future__ import annotations

import cv2

from anyscene.streams.motion import Motion, MotionFinder, Sight, going_on, is_still, no_motion

OTHER_SHADES = 0.25
"""By so much the shares of shades differ in all in another scene, but not when a camera moves."""

OTHER_LEVELS = 22.0
"""Grey levels. Cells differ by more on average in another scene, but not when something large goes by."""

LEAST_MATCH = 0.6
"""Where less of the moved image than this share matches the new one, the new one shows another scene."""

LONGEST_PAUSE_MS = 1_000.0
"""After so long without a frame, beliefs are not carried on."""


def has_changed_much(before: Sight, after: Sight) -> bool:
    """Tell whether the cells of two frames of one size differ so much that they may show different scenes."""
    return bool(cv2.norm(before.greys, after.greys, cv2.NORM_L1) > OTHER_LEVELS * after.greys.size)


def is_other_scene(before: Sight, after: Sight) -> bool:
    """Tell at a glance whether two frames of one size show different scenes; most that do are told."""
    return has_changed_much(before, after) and bool(
        cv2.norm(before.shades, after.shades, cv2.NORM_L1) > OTHER_SHADES
    )


def motion_within_scene(
    finder: MotionFinder, before: Sight, after: Sight, fine: bool = True, as_before: Motion | None = None
) -> Motion | None:
    """How a scene moved between two frames of one size; None if the later shows another scene or light.

    It is `no_motion` where nothing moved. fine : see `MotionFinder.find`. Where much has changed, motion is
    found roughly: if the scene is another one, the time is needed for a look at it. as_before : an earlier
    motion, if there is no time to find one: all is taken to go on like that, unless that does not match.
    """
    if is_other_scene(before, after):
        return None
    if is_still(before, after):
        return no_motion(after.grid)
    if as_before is not None and _matches(motion := going_on(as_before, before, after)):
        return motion
    motion = finder.find(before, after, fine and not has_changed_much(before, after))
    return motion if _matches(motion) else None


def _matches(motion: Motion) -> bool:
    return cv2.mean(motion.match)[0] >= LEAST_MATCH  # numpy takes longer after a pause
