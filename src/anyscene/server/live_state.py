"""What a worker keeps of live streams: beliefs move along with the image from frame to frame.

Between frames the latest one is looked at more closely, in a thread, as long as nobody else asks: a request
of somebody else ends the look that is under way.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anyscene.engine import Engine
from anyscene.engine.clock import Clock
from anyscene.features.hypercolumn.ladder import RungScores
from anyscene.labeling import Labeling
from anyscene.streams.live import stream_maker
from anyscene.streams.looks import Run, looks_of
from anyscene.streams.stream import Stream
from anyscene.streams.workers import ThreadWorker, Worker

MOST = 64
"""States that a worker keeps; the one that was used least recently goes first."""

FAR_SECONDS = 600.0
"""Only runs with a deadline can be ended: those without one get this."""

ENDING_SECONDS = 0.02
"""So long a request of somebody else waits at most for a look to end."""

OLDEST_MS = 500.0
"""Where looks are ended again and again, a stream begins anew when its newest look is older than this."""


def networks_of(engines: Iterable[Engine]) -> list[RungScores]:
    """The feature sets that run networks, whose runs can be ended."""
    return [each for engine in engines for each in engine.feature_sets if isinstance(each, RungScores)]


class Watcher:
    """How a model looks at frames; all streams of the model share it."""

    def __init__(self, engine: Engine) -> None:
        self._networks = networks_of([engine])
        looks = looks_of(engine)
        if self._networks:  # without one, a look is a whole labeling, which nothing ends
            looks = replace(looks, run=_endable(looks.run))
        self._make = stream_maker(engine, looks=looks)

    def stream(self, worker: Worker) -> Stream:
        """Begin a stream."""
        return self._make(worker, 1.0)

    def end_looks(self) -> None:
        """End the looks of this model that are under way."""
        for network in self._networks:
            network.end_runs()


def _endable(run: Run) -> Run:
    """The same looks, all with a deadline: only those can be ended."""
    return lambda frame, look, deadline: run(frame, look, deadline or time.perf_counter() + FAR_SECONDS)


class _State:
    """One stream. was_ended : whether a look has been ended since the newest that was finished."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._worker = ThreadWorker()
        self._stream = watcher.stream(self._worker)
        self._was_ended = False
        self._age_ms = 0.0

    def label(self, frame: NDArray[np.uint8], arrived: float, clock: Clock) -> Labeling:
        """Label the next frame."""
        labeling = self._stream.label(frame, arrived * 1e3, clock, confidence=True)
        age_ms = labeling.age_ms or 0.0
        if age_ms < self._age_ms:
            self._was_ended = False
        self._age_ms = age_ms
        if self._was_ended and age_ms > OLDEST_MS:
            self._stream = self._watcher.stream(self._worker)
        return labeling

    def end_look(self) -> None:
        """End the look that is under way, if any; its time is lost."""
        if not self._worker.is_busy:
            return
        self._was_ended = True
        self._worker.set_aside()
        until = time.perf_counter() + ENDING_SECONDS
        while self._worker.is_busy and time.perf_counter() < until:
            self._watcher.end_looks()  # again and again: the look may be just about to begin
            time.sleep(1e-4)

    def close(self) -> None:
        """End the stream and its thread."""
        self.end_look()
        self._stream.close()


class LiveStates:
    """The streams that a worker labels, by their names."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self._watchers = {name: Watcher(engine) for name, engine in engines.items()}
        self._states: OrderedDict[str, _State] = OrderedDict()

    def label(
        self, session: str, model: str, frame: NDArray[np.uint8], arrived: float, budget: float
    ) -> Labeling:
        """Label the next frame of a stream. arrived : by `time.perf_counter()`. budget : milliseconds."""
        if session not in self._states:
            self._states[session] = _State(self._watchers[model])
        self._states.move_to_end(session)
        if len(self._states) > MOST:
            self._states.popitem(last=False)[1].close()
        return self._states[session].label(frame, arrived, Clock(budget))

    def make_way(self, session: str | None) -> None:
        """A request has come, of a stream or of none: the looks of other streams end."""
        for name, state in self._states.items():
            if name != session:
                state.end_look()

    def close(self, session: str) -> None:
        """Forget a stream."""
        if (state := self._states.pop(session, None)) is not None:
            state.close()
