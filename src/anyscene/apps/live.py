"""`anyscene live`: label a camera, a video file or a network stream as it comes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Condition, Thread
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live as Screen
from rich.text import Text

from anyscene.apps.console import JsonOption, busy, check_outputs, console, emit_json, table
from anyscene.apps.label import ModelOption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anyscene.data import Classes
    from anyscene.labeling import Labeling
    from anyscene.streams.live import Status

MOST_CLASSES = 255
"""A video holds ids in bytes, and 255 is void."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(live)


def live(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A webcam's number, a video file, or an rtsp/http address."),
    ],
    model: ModelOption = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="Time for each frame, such as 5ms.")] = "5ms",
    cpu: Annotated[
        float, typer.Option(min=0, max=1, help="Share of one core for frames and looks between them.")
    ] = 1.0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for labels as PNGs, one a frame.")
    ] = None,
    overlay_video: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the labels over the frames, as .mp4.")
    ] = None,
    ids_video: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write class ids as a lossless grey video, .mkv.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(min=0, help="Stop after so long.")] = None,
    json: JsonOption = None,
) -> None:
    """Label the frames of a camera or video as they come, each within a budget.

    A video file is played at its own speed. Frames that come faster than they can be labelled are dropped and
    counted. Ctrl-C ends it; videos and labels that were written until then are kept.
    """
    from anyscene.engine.clock import parse_budget
    from anyscene.engine.loading import find_model
    from anyscene.errors import ConfigError, StreamError
    from anyscene.streams.engine import load

    folder = None if output is None else Folder(output, source, parse_budget(budget))
    in_folder = folder.there_already() if folder else []
    check_outputs(json, overlay_video, ids_video, *in_folder, inputs=[source, find_model(model)])
    frames = open_source(source)
    with busy("getting ready"):
        engine = load(model)
    if ids_video and len(engine.classes) > MOST_CLASSES:
        raise ConfigError(
            f"--ids-video holds {MOST_CLASSES} classes, the model has {len(engine.classes)}; use -o instead"
        )
    if folder:
        folder.begin(engine.classes)
    failures = 0
    with ExitStack() as stack:
        outputs = stack.enter_context(Outputs(folder, overlay_video, ids_video))
        stream = stack.enter_context(engine.live(budget, cpu))
        newest = stack.enter_context(Newest(frames))
        screen = stack.enter_context(_screen())
        begun = time.perf_counter()
        try:
            while seconds is None or time.perf_counter() - begun < seconds:
                frame = newest.take()
                if frame is None:
                    break
                try:
                    labeling = stream.label(frame)
                except StreamError as error:
                    failures += 1
                    console("-").print(Text(str(error)), soft_wrap=True)
                    continue
                outputs.add(frame, labeling, (time.perf_counter() - begun) * 1e3)
                screen.update(Text(status_line(stream.status, newest.dropped, time.perf_counter() - begun)))
        except KeyboardInterrupt:
            pass
        passed, status, dropped = time.perf_counter() - begun, stream.status, newest.dropped
    summary = {
        "frames": status.frames,
        "dropped": dropped,
        "late": status.late,
        "failures": failures,
        "scenes": status.restarts,
        "looks": status.looks,
        "frames_per_second": status.frames / max(passed, 1e-9),
        "cpu_share": status.cpu_share,
    }
    rows = [(name.replace("_", " "), f"{value:.3g}") for name, value in summary.items()]
    console(json).print(table(f"stream of {source}", ("what", "value"), rows))
    emit_json(summary, json)
    if newest.problem is not None:
        raise newest.problem


def status_line(status: Status, dropped: int, passed: float) -> str:
    """How a stream is doing, in one line."""
    return (
        f"{status.frames / max(passed, 1e-9):.1f} fps · {status.late} late · {dropped} dropped · "
        f"evidence {status.age_ms:.0f} ms old · {status.cpu_share:.0%} of a core"
    )


def _screen() -> Screen:
    return Screen(Text("waiting for the first frame"), console=Console(stderr=True), transient=True)


def open_source(source: str) -> Iterator[NDArray[np.uint8]]:
    """The frames of a webcam, a file (at its own speed) or an address; raises where there is none."""
    from anyscene.apps.video import decode, read_stamped_frames

    if source.isdigit():
        return _webcam(int(source))
    if "://" in source:
        return (frame for _, frame in decode(source))
    return _in_real_time(read_stamped_frames(Path(source)))


def _in_real_time(stamped: Iterator[tuple[float, NDArray[np.uint8]]]) -> Iterator[NDArray[np.uint8]]:
    """Hold frames back until their time has come."""
    first: tuple[float, float] | None = None
    for stamp_ms, frame in stamped:
        now = time.perf_counter()
        first = first or (now, stamp_ms)
        wait = first[0] + (stamp_ms - first[1]) / 1e3 - now
        if wait > 0:
            time.sleep(wait)
        yield frame


def _webcam(number: int) -> Iterator[NDArray[np.uint8]]:
    import cv2
    import numpy as np

    from anyscene.errors import ImageError

    quiet = cv2.utils.logging
    # OpenCV warns about a missing camera in words that say less than our sentence.
    before = quiet.setLogLevel(quiet.LOG_LEVEL_SILENT)
    camera = cv2.VideoCapture(number)
    quiet.setLogLevel(before)
    if not camera.isOpened():
        raise ImageError(f"there is no camera number {number} that can be opened; try another number")

    def frames() -> Iterator[NDArray[np.uint8]]:
        try:
            while True:
                there, frame = camera.read()
                if not there:
                    raise ImageError(f"camera number {number} gives no more frames; is it still connected?")
                yield np.asarray(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB), np.uint8)
        finally:
            camera.release()

    return frames()


class Newest:
    """Reads frames in a thread and keeps the newest only, so that nothing queues up.

    dropped : frames that nobody took.
    """

    def __init__(self, frames: Iterator[NDArray[np.uint8]]) -> None:
        self.dropped = 0
        self.problem: Exception | None = None
        self._frames = frames
        self._changed = Condition()
        self._frame: NDArray[np.uint8] | None = None
        self._ended = False

    def __enter__(self) -> Newest:
        Thread(target=self._read, name="anyscene frames", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True

    def take(self) -> NDArray[np.uint8] | None:
        """Wait for a frame that was not taken yet; None when no more will come."""
        with self._changed:
            while self._frame is None and not self._ended:
                self._changed.wait(0.2)  # a bound, so that Ctrl-C is noticed
            frame, self._frame = self._frame, None
            return frame

    def _read(self) -> None:
        try:
            for frame in self._frames:
                with self._changed:
                    if self._ended:
                        return
                    self.dropped += self._frame is not None
                    self._frame = frame
                    self._changed.notify()
        except Exception as error:
            self.problem = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify()


class Folder:
    """A folder of labels: a PNG and a record for each frame, and what ids mean."""

    def __init__(self, path: Path, source: str, budget_ms: float) -> None:
        self._path, self._source, self._budget_ms = path, source, budget_ms
        self._written = 0

    def there_already(self) -> list[Path]:
        """Return what may be in the folder and would be written over."""
        from anyscene.apps.results import CLASSES
        from anyscene.outputs.records import RECORDS

        return [self._path / CLASSES, self._path / RECORDS, *self._path.glob("[0-9]*.png")]

    def begin(self, classes: Classes) -> None:
        """Write what ids mean; records of an earlier stream are forgotten."""
        from anyscene.apps.results import write_classes
        from anyscene.outputs.records import RECORDS

        write_classes(self._path, classes)
        (self._path / RECORDS).unlink(missing_ok=True)

    def add(self, labeling: Labeling) -> None:
        """Write the labels of the next frame, and its record."""
        from anyscene.outputs.records import RECORDS, append_records, record_of

        target = self._path / f"{self._written:06d}.png"
        labeling.save(target)
        record = record_of(self._source, self._written, target, labeling, self._budget_ms)
        append_records(self._path / RECORDS, [record])
        self._written += 1


class Outputs:
    """Where labels go: a folder, a video of overlays, a lossless video of ids."""

    def __init__(self, folder: Folder | None, overlay: Path | None, ids: Path | None) -> None:
        from anyscene.apps.video import VideoWriter

        self._folder = folder
        self._overlay = VideoWriter(overlay, "overlay") if overlay else None
        self._ids = VideoWriter(ids, "ids") if ids else None
        self._stack = ExitStack()

    def __enter__(self) -> Outputs:
        for writer in (self._overlay, self._ids):
            if writer is not None:
                self._stack.enter_context(writer)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._stack.__exit__(kind, error, None)

    def add(self, frame: NDArray[np.uint8], labeling: Labeling, at_ms: float) -> None:
        """Write what was asked for of one frame. at_ms : when it is shown in videos."""
        if self._folder is not None:
            self._folder.add(labeling)
        if self._overlay is not None:
            self._overlay.add(labeling.overlay(frame), at_ms)
        if self._ids is not None:
            self._ids.add(labeling.labels.astype("uint8"), at_ms)  # -1, void, becomes 255
