"""When a stream begins anew: nothing of another scene is ever shown."""

from __future__ import annotations

from anyscene.streams.motion import Motion

LEAST_MATCH = 0.6
"""Where less of the moved image than this share matches the new one, the new one shows another scene."""

LONGEST_PAUSE_MS = 1_000.0
"""After so long without a frame, beliefs are not carried on."""


def is_another_scene(motion: Motion) -> bool:
    """Tell whether a frame shows something else than the one before, or shows it in another light."""
    return bool(motion.match.mean() < LEAST_MATCH)
