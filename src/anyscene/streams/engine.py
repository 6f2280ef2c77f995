"""`StreamingEngine`: an engine that also labels the frames of a camera."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from anyscene.engine import Engine
from anyscene.engine.clock import Budget
from anyscene.engine.loading import learned_for
from anyscene.engine.ready import prepare_as
from anyscene.labeling import Labeling
from anyscene.streams.live import Frame, Live, label_video


class StreamingEngine(Engine):
    """All that an engine does, and streams; made by `anyscene.load`."""

    def live(self, budget: Budget = None, cpu: float = 1.0) -> Live:
        """Open a stream: `with model.live("5ms") as live: out = live.label(frame)`.

        Beliefs move along with the image. Between calls the network looks at the latest frame more closely.
        budget : for each call, such as "5ms". cpu : the share of one core that calls and looks may take
        together; 0 means that frames are looked at inside of calls alone.
        """
        return Live(self, budget, cpu)

    def video(
        self,
        frames: Iterable[Frame | tuple[float, Frame]],
        budget: Budget = None,
        cpu: float = 1.0,
        frames_per_second: float = 30.0,
        confidence: bool = False,
    ) -> Iterator[Labeling]:
        """Label recorded frames as if they came from a camera; yield a labeling for each.

        frames : images uint8[H, W, 3], or pairs of a time stamp in milliseconds and an image. budget, cpu :
        as for `live`; the time between frames is that between their stamps. frames_per_second : how fast
        frames without stamps come.
        """
        return label_video(self, frames, budget, cpu, frames_per_second, confidence)


def load(model: str | Path | None = None, threads: int = 1) -> StreamingEngine:
    """Load a model, `load("camvid")` or `load("my.anyscene")`, ready to label within any deadline.

    The first time on a machine, what every step costs there is measured, which takes 15 seconds or more;
    `anyscene calibrate` does it again and more thoroughly. model : None for the default one, for outdoor
    photos. threads : CPU threads to use.

    Examples:
        >>> model = anyscene.load("camvid")
        >>> image = anyscene.data.open("streets:1?size=240x180").split("all")[0].image
        >>> out = model.label(image, budget="50ms")  # or the path of a picture
        >>> out.labels.shape, out.is_prior
        ((180, 240), False)

    """
    return prepare_as(StreamingEngine, learned_for(model), threads)
