"""What a worker keeps of a live stream from frame to frame: today its engine; each frame stands by itself.

`streams` could carry beliefs along, but looks at frames between requests in a thread of its own, which would
take time from other requests of the same worker.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from anyscene.engine import Engine
from anyscene.labeling import Labeling

MOST = 64
"""States that a worker keeps; the one that was used least recently goes first."""


class LiveStates:
    """The streams that a worker labels, by their names."""

    def __init__(self) -> None:
        self._engines: OrderedDict[str, Engine] = OrderedDict()

    def label(self, session: str, engine: Engine, frame: NDArray[np.uint8], budget: float | None) -> Labeling:
        """Label the next frame of a stream."""
        kept = self._engines.setdefault(session, engine)
        self._engines.move_to_end(session)
        if len(self._engines) > MOST:
            self._engines.popitem(last=False)
        return kept.label(frame, budget, confidence=True)

    def close(self, session: str) -> None:
        """Forget a stream."""
        self._engines.pop(session, None)
