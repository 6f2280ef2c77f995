"""`Looks`: how closely a model can look at a frame, what each look takes and how far it is trusted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.engine import Engine
from anyscene.features import FeatureSet, View
from anyscene.features.hypercolumn.ladder import LOWEST, RungScores
from anyscene.streams.motion import grid_of

COUNT = 5
"""How many input sizes of a network a stream chooses among."""

ROUNDS = 3
"""Runs that tell what a look takes on this machine."""

PAUSE_S = 0.03
"""Before each of these runs, as before each frame of a camera: a core that has slept is slower."""

Run = Callable[[NDArray[np.uint8], int, float | None], NDArray[np.float32]]
"""From a working frame, a look and a deadline by `time.perf_counter()` to log-scores float32[h, w, C]."""


@dataclass(frozen=True, eq=False)
class Looks:
    """What a stream may look by, from the coarsest to the finest.

    names : of the looks. trusts : how much each is trusted beside the finest, whose trust is 1. run : looks;
    raises OutOfTime if it is not done by its deadline.
    """

    names: tuple[str, ...]
    trusts: tuple[float, ...]
    run: Run

    def __len__(self) -> int:
        return len(self.names)

    def scores(
        self, frame: NDArray[np.uint8], look: int, deadline: float | None = None
    ) -> NDArray[np.float32]:
        """Look at a working frame: log-scores of its cells, float32[h, w, C]."""
        return on_grid(self.run(frame, look, deadline), grid_of(frame))

    def measure(
        self, frame: NDArray[np.uint8], clock: Callable[[], float] = time.perf_counter
    ) -> tuple[float, ...]:
        """What each look at a frame takes here, in milliseconds by a clock in seconds."""
        medians = []
        for look in range(len(self)):
            times = []
            for _ in range(ROUNDS + 1):  # the first also loads
                time.sleep(PAUSE_S)
                begun = clock()
                self.scores(frame, look)
                times.append((clock() - begun) * 1e3)
            medians.append(float(np.median(times[1:])))
        return tuple(medians)


def looks_of(engine: Engine) -> Looks:
    """The looks of a model: its first network at some input sizes; without one, a whole labeling."""
    rungs = rungs_to_look_by(engine.feature_sets)
    return network_looks(rungs, len(engine.classes)) if rungs else whole_look(engine)


def rungs_to_look_by(sets: Iterable[FeatureSet]) -> list[RungScores]:
    """Up to COUNT rungs of one network that tell classes, from the coarsest to the finest."""
    rungs = [each for each in sets if isinstance(each, RungScores) and each.speaks_of_classes]
    plain = [each for each in rungs if not each.rung.mirrored and each.rung.network == rungs[0].rung.network]
    return _spread(sorted(plain, key=lambda rung: rung.fineness))


def network_looks(rungs: Sequence[RungScores], classes: int) -> Looks:
    """A network at rungs from the smallest to the finest; the fewer cells it sees, the less it is trusted."""

    def run(frame: NDArray[np.uint8], look: int, deadline: float | None) -> NDArray[np.float32]:
        view = View(frame)
        view.deadline = deadline
        return rungs[look].log_scores(rungs[look].extract(view), classes)

    finest = rungs[-1].fineness
    trusts = tuple((rung.fineness / finest) ** 2 for rung in rungs)
    return Looks(tuple(rung.name for rung in rungs), trusts, run)


def whole_look(engine: Engine) -> Looks:
    """An engine's labels as the only look: each is believed as far as the engine is sure of it."""
    classes = len(engine.classes)

    def run(frame: NDArray[np.uint8], look: int, deadline: float | None) -> NDArray[np.float32]:
        budget = None if deadline is None else f"{max(0.0, deadline - time.perf_counter()):.6f}s"
        found = engine.label(frame, budget, confidence=True)
        sure = np.clip(found.require_confidence(), 1 / classes, 1 - 1e-4)[..., None]
        others = np.log((1 - sure) / (max(classes - 1, 1) * sure))
        return np.where(
            found.labels[..., None] == np.arange(classes), 0.0, np.maximum(others, LOWEST)
        ).astype(np.float32)

    return Looks(("labeling",), (1.0,), run)


def on_grid(scores: NDArray[np.float32], grid: tuple[int, int]) -> NDArray[np.float32]:
    """Bring scores of a look's own cells, float32[h, w, C], to the grid of beliefs."""
    if scores.shape[:2] == grid:
        return scores
    method = cv2.INTER_AREA if scores.shape[0] > grid[0] else cv2.INTER_LINEAR
    resized = [  # OpenCV averages areas of four channels at most
        cv2.resize(scores[..., place : place + 4], (grid[1], grid[0]), interpolation=method).reshape(
            *grid, -1
        )
        for place in range(0, scores.shape[2], 4)
    ]
    return np.concatenate(resized, axis=2)


def _spread(rungs: list[RungScores]) -> list[RungScores]:
    """Up to COUNT of the rungs, whose numbers of cells grow by about the same factor."""
    if len(rungs) <= COUNT:
        return rungs
    logs = np.log([rung.fineness for rung in rungs])
    wanted = np.linspace(logs[0], logs[-1], COUNT)
    return [rungs[i] for i in sorted({int(np.argmin(np.abs(logs - place))) for place in wanted})]
