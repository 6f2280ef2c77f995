"""Videos labelled as streams by `anyscene label --live`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.apps.video import VideoWriter, frame_rate, read_stamped_frames
from anyscene.engine.clock import Budget
from anyscene.labeling import Labeling
from anyscene.streams.engine import StreamingEngine


def label_stream(
    engine: StreamingEngine, path: Path, budget: Budget, confidence: bool, overlay_video: str | None
) -> Iterator[tuple[NDArray[np.uint8], Labeling]]:
    """Label the frames of a video as a stream, and write a video of overlays if that is asked for."""
    shown: deque[NDArray[np.uint8]] = deque()

    def frames() -> Iterator[tuple[float, NDArray[np.uint8]]]:
        for stamp_ms, frame in read_stamped_frames(path):
            shown.append(frame)
            yield stamp_ms, frame

    with ExitStack() as stack:
        video = None
        if overlay_video is not None:
            video = stack.enter_context(VideoWriter(Path(overlay_video), "overlay", frame_rate(path)))
        for labeling in engine.video(frames(), budget, confidence=confidence):
            frame = shown.popleft()
            if video is not None:
                video.add(labeling.overlay(frame))
            yield frame, labeling
