"""Reading videos frame by frame (PyAV, the extra `video`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from anyscene.errors import ConfigError, ImageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def read_frames(path: Path) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of a video, uint8[H, W, 3] RGB and upright."""
    import numpy as np

    from anyscene.data.images import require_file

    try:
        import av
    except ImportError:
        raise ConfigError(
            f"{path}: reading videos needs PyAV; install it with `pip install 'anyscene[video]'`"
        ) from None
    require_file(path)
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise ImageError(f"{path}: holds no video; name a video file")
            for frame in container.decode(video=0):
                quarter_turns = round(getattr(frame, "rotation", 0) / 90) % 4
                yield np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), quarter_turns))
    except (av.error.FFmpegError, OSError) as error:
        raise ImageError(
            f"{path}: the video is damaged or not one that can be read ({error.strerror}); copy it again"
        ) from error
