"""Reading and writing videos (PyAV, the extra `video`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from anyscene.errors import ConfigError, ImageError
from anyscene.files import remove_stale, told_as_one_sentence, unfinished
from anyscene.marks import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


USUAL_RATE = 25.0
"""Frames a second of a video that does not say how many."""


def read_frames(path: Path) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of a video, uint8[H, W, 3] RGB and upright; one without frames is an ImageError."""
    return (frame for _, frame in read_stamped_frames(path))


def read_stamped_frames(path: Path) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Yield the frames of a video file with their times in milliseconds."""
    from anyscene.data.images import require_file

    _pyav(path)
    require_file(path)
    return decode(str(path))


def decode(address: str) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Yield the frames of a file or a network address with their times in milliseconds."""
    import numpy as np

    from anyscene.data.images import most_pixels

    av = _pyav(address)
    try:
        with av.open(address) as container:
            if not container.streams.video:
                raise ImageError(f"{address}: holds no video; name a video file")
            last_ms, is_empty = 0.0, True
            for frame in container.decode(video=0):
                is_empty = False
                if frame.width * frame.height > most_pixels():
                    raise ImageError(
                        f"{address}: its frames have more than {most_pixels() // 10**6} million pixels; "
                        "scale it down first, or set ANYSCENE_MAX_PIXELS if there is memory for more"
                    )
                last_ms = last_ms + 1e3 / USUAL_RATE if frame.time is None else 1e3 * frame.time
                quarter_turns = round(getattr(frame, "rotation", 0) / 90) % 4
                picture = np.rot90(frame.to_ndarray(format="rgb24"), quarter_turns)
                yield last_ms, np.ascontiguousarray(picture)
            if is_empty:
                raise ImageError(f"{address}: the video has no frames; copy or download it again")
    except ImageError:
        raise
    except Exception as error:  # damaged files make decoders raise almost anything
        reason = getattr(error, "strerror", None) or error
        raise ImageError(
            f"{address}: the video is damaged or not one that can be read ({reason}); copy it again"
        ) from error


def frame_rate(path: Path) -> float:
    """How many frames a second a video says it has; the usual rate where it does not say."""
    av = _pyav(path)
    try:
        with av.open(str(path)) as container:
            return float(container.streams.video[0].average_rate or USUAL_RATE)
    except (av.error.FFmpegError, OSError, IndexError):
        return USUAL_RATE  # whoever reads the frames says what is wrong with the file


MILLISECOND = Fraction(1, 1000)
"""The unit of time in videos that are written: frames of a live source come at any time."""

CODECS: dict[str, tuple[str, str, str]] = {
    "overlay": ("libx264", "yuv420p", "rgb24"),
    "ids": ("ffv1", "gray", "gray"),
}
"""Kind of a video -> codec, its pixel format, the format of the pictures. FFV1 loses nothing."""


class VideoWriter:
    """Writes pictures of one size as a video; it is put in its place when it is complete.

    kind : "overlay" for pictures uint8[H, W, 3], "ids" for label ids uint8[H, W], which are kept exactly.
    frames_per_second : of pictures that come without a time.
    """

    def __init__(
        self, path: Path, kind: Literal["overlay", "ids"], frames_per_second: float = USUAL_RATE
    ) -> None:
        self._path = path
        self._unfinished = unfinished(path, path.suffix)
        self._kind = kind
        self._rate = Fraction(max(frames_per_second, 1.0)).limit_denominator(1000)
        self._container: Any = None
        self._stream: Any = None
        self._size: tuple[int, int] = (0, 0)
        self._added = 0
        self._shown_ms = -1

    def __enter__(self) -> VideoWriter:
        return self

    def add(self, picture: NDArray[np.uint8], at_ms: float | None = None) -> None:
        """Add a picture; one of another size than the first is scaled to it. at_ms : when it is shown."""
        import cv2
        import numpy as np

        av = _pyav(self._path)
        if self._container is None:
            self._open(picture)
        height, width = self._size
        if picture.shape[0] - height not in (0, 1) or picture.shape[1] - width not in (0, 1):
            picture = np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_NEAREST))
        even = np.ascontiguousarray(picture[:height, :width])
        frame = av.VideoFrame.from_ndarray(even, format=CODECS[self._kind][2])
        due_ms = float(1000 * self._added / self._rate) if at_ms is None else at_ms
        self._shown_ms = max(self._shown_ms + 1, round(due_ms))  # no two pictures at one time
        self._added += 1
        frame.pts, frame.time_base = self._shown_ms, MILLISECOND
        with told_as_one_sentence(self._path):
            self._container.mux(self._stream.encode(frame))

    def _open(self, picture: NDArray[np.uint8]) -> None:
        av = _pyav(self._path)
        codec, pixels, _ = CODECS[self._kind]
        height, width = picture.shape[:2]
        # Colour is stored for blocks of 2 by 2 pixels; an odd last row or column is left out.
        self._size = (height, width) if self._kind == "ids" else (height // 2 * 2, width // 2 * 2)
        remove_stale(self._path.parent)
        try:
            self._container = av.open(str(self._unfinished), "w")
            self._container.metadata["comment"] = MARK
            self._stream = self._container.add_stream(codec, rate=self._rate)
        except (av.error.FFmpegError, ValueError, OSError) as error:
            raise ConfigError(
                f"{self._path}: cannot be written as a video ({error}); name an .mp4 file for an overlay and "
                "an .mkv file for ids, in a folder that exists"
            ) from error
        self._stream.width, self._stream.height = self._size[1], self._size[0]
        self._stream.pix_fmt = pixels
        self._stream.codec_context.time_base = MILLISECOND

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._container is None:
            return
        try:
            if kind is None or kind is KeyboardInterrupt:  # what was seen until Ctrl-C is worth keeping
                with told_as_one_sentence(self._path):
                    self._container.mux(self._stream.encode())
                    self._container.close()
                    os.replace(self._unfinished, self._path)
            else:
                with suppress(OSError):
                    self._container.close()
        finally:
            self._unfinished.unlink(missing_ok=True)


def _pyav(what: object) -> Any:
    try:
        import av
    except ImportError:
        raise ConfigError(
            f"{what}: videos need PyAV; install it with `pip install 'anyscene[video]'`"
        ) from None
    return av
