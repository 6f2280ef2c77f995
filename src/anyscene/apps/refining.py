"""How a labeling came about, step by step, as pictures; for `anyscene watch` and `anyscene explain`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.engine import Engine, Run
from anyscene.engine.clock import Budget
from anyscene.engine.progress import paint_state
from anyscene.labeling import Labeling, Step
from anyscene.model.state import State
from anyscene.painting.leaves import Painter

Picture = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Frame:
    """One moment of labeling an image, drawn at the size of `image`.

    step : the action that led here, None at the start. elapsed : milliseconds spent by then.
    leaf : int32[h, w], the leaf of each pixel. active : bool[h, w].
    """

    image: Picture
    step: Step | None
    elapsed: float
    labeling: Labeling
    leaf: NDArray[np.int32]
    active: NDArray[np.bool_]

    def outlined(self) -> Picture:
        """The image with the outlines of the leaves; what is not active is darkened."""
        picture = np.where(self.active[:, :, None], self.image, self.image // 3)
        edge = np.zeros(self.leaf.shape, bool)
        edge[:, 1:] |= self.leaf[:, 1:] != self.leaf[:, :-1]
        edge[1:] |= self.leaf[1:] != self.leaf[:-1]
        picture[edge] = (255, 220, 0)
        return picture.astype(np.uint8, copy=False)

    def caption(self) -> str:
        """What led here, in words."""
        sure = f"{self.labeling.mean_confidence:.0%} sure"
        if self.step is None:
            return f"0.0 ms: the prior, {sure}"
        leaves = "1 leaf" if self.step.leaves == 1 else f"{self.step.leaves} leaves"
        return f"{self.elapsed:.1f} ms: {self.step.action}; {leaves}, {sure}"


def record(engine: Engine, image: Picture, budget: Budget, width: int) -> tuple[Run, list[Frame]]:
    """Label an image and draw every state on the way, `width` pixels wide at most.

    Drawing waits until the labeling is done, so that it is no part of the budget.
    """
    run = engine.begin(image, budget, confidence=True)
    states = [run.state]
    while run.advance():
        states.append(run.state)
    return run, list(_draw(engine, run, states, shrunk(image, width)))


def _draw(engine: Engine, run: Run, states: list[State], image: Picture) -> Iterator[Frame]:
    evidence = run.look()
    size = (image.shape[0], image.shape[1])
    steps = (None, *run.steps)
    spent = accumulate((step.actual_ms if step else 0.0) for step in steps)
    for state, step, elapsed in zip(states, steps, spent, strict=True):
        leaf_painter = Painter(evidence.tree, evidence.nodes(0), state.leaves, size)
        painted = paint_state(state, engine.learned, evidence, size)
        labeling = Labeling(painted.labels, engine.classes, painted.confidence(), elapsed)
        rows = np.arange(len(state.leaves), dtype=np.int32)
        known = step and replace(step, mean_entropy=float(state.area @ state.entropy))
        yield Frame(image, known, elapsed, labeling, leaf_painter(rows), leaf_painter(state.active))


def shrunk(image: Picture, width: int) -> Picture:
    """The image at most `width` pixels wide."""
    if image.shape[1] <= width:
        return image
    height = max(1, round(image.shape[0] * width / image.shape[1]))
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)
