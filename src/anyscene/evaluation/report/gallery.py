"""Pictures of single images on their way: what the policy did, and what the labels were by then."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anyscene import metrics
from anyscene.data import Classes, Scene
from anyscene.data.classes import VOID
from anyscene.engine.learned import describe_action
from anyscene.engine.loading import bank_of
from anyscene.evaluation.report.markup import picture
from anyscene.evaluation.scored_image import ScoredImage, prepare_image
from anyscene.evaluation.traces import Trace
from anyscene.features import Bank
from anyscene.features.cache import FeatureCache
from anyscene.files import cache_dir
from anyscene.model.actions import Pool
from anyscene.model.state import State
from anyscene.modelfile import TrainedModel
from anyscene.painting.leaves import Painter
from anyscene.policy.policies import StaticPolicy
from anyscene.policy.rollout import walk

SHOWN_WIDTH = 340
BUDGETS = 4


@dataclass(frozen=True, eq=False)
class Moment:
    """The labels at some cost, and the actions taken since the moment before."""

    cost: float
    accuracy: float
    labels: NDArray[np.int16]
    actions: tuple[str, ...]


class Gallery:
    """Shows images again, by the actions that were taken on them."""

    def __init__(self, trained: TrainedModel) -> None:
        self._trained = trained
        self._bank: Bank = bank_of(trained)
        self._cache = FeatureCache(cache_dir() / "features")

    def strip(self, scene: Scene, trace: Trace, budgets: Sequence[float]) -> str:
        """The image, its labels within each budget, its truth, side by side."""
        classes = self._trained.classes
        cells = [cell(photo(scene.image), "image", scene.id)]
        for budget, moment in zip(budgets, self._moments(scene, trace, budgets), strict=True):
            steps = "".join(f"<li>{escape(action)}</li>" for action in moment.actions)
            words = f"{100 * moment.accuracy:.1f} % right after {moment.cost:.1f} ms"
            list_of_steps = f"<ol>{steps}</ol>" if steps else ""
            title = f"within {budget:.3g} ms"
            cells.append(cell(label_map(moment.labels, classes), title, words, list_of_steps))
        assert scene.truth is not None
        cells.append(cell(label_map(scene.truth, classes), "truth", "black: unknown"))
        return f'<div class="strip">{"".join(cells)}</div>'

    def errors(self, scene: Scene, trace: Trace) -> str:
        """The image, the final labels, the truth, and where the two differ."""
        (moment,) = self._moments(scene, trace, [float(trace.cost[-1])])
        classes = self._trained.classes
        assert scene.truth is not None
        wrong = (moment.labels != scene.truth) & (scene.truth != VOID)
        marked = scene.image // 3 + 110
        marked[wrong] = (209, 36, 47)
        cells = (
            cell(photo(scene.image), scene.id, ""),
            cell(label_map(moment.labels, classes), "labels", f"{100 * moment.accuracy:.1f} % right"),
            cell(label_map(scene.truth, classes), "truth", ""),
            cell(photo(marked.astype(np.uint8)), "errors", f"{100 * wrong.mean():.1f} % of the image"),
        )
        return f'<div class="strip">{"".join(cells)}</div>'

    def replay(self, scene: Scene, trace: Trace) -> tuple[ScoredImage, list[State]]:
        """An image, and the states that the actions of a trace lead through."""
        image = prepare_image(scene, self._bank, len(self._trained.classes), self._cache)
        model = self._trained.model
        policy = StaticPolicy(tuple(trace.actions.tolist()))
        return image, [model.start(), *(state for _, _, state in walk(model, policy, image.evidence))]

    def _moments(self, scene: Scene, trace: Trace, budgets: Sequence[float]) -> list[Moment]:
        image, states = self.replay(scene, trace)
        model = self._trained.model
        moments, before = [], 0
        for step in trace.last_within(np.array(budgets)).tolist():
            seen = model.shown(states[step], image.evidence)
            actions = _words(trace.actions[before:step].tolist(), model.pool)
            accuracy = metrics.pixel_accuracy(trace.counts[step])
            painted = painter(image, seen.nodes)(seen.labels.astype(np.int16))
            moments.append(Moment(float(trace.cost[step]), accuracy, painted, actions))
            before = step
        return moments


def legend(classes: Classes) -> str:
    """The colours of the classes."""
    items = [
        f'<span><i style="background: rgb({red},{green},{blue})"></i>{escape(name)}</span>'
        for name, (red, green, blue) in zip(classes.names, classes.palette.tolist(), strict=True)
    ]
    return f'<div class="legend">{"".join(items)}</div>'


def _words(actions: Sequence[int], pool: Pool) -> tuple[str, ...]:
    """Actions in words; how many times where one is repeated."""
    words: list[tuple[str, int]] = []
    for action in actions:
        name = describe_action(pool.actions[action], pool).partition(" (")[0]
        if words and words[-1][0] == name:
            words[-1] = name, words[-1][1] + 1
        else:
            words.append((name, 1))
    return tuple(name if times == 1 else f"{name}, {times} times" for name, times in words)


def painter(image: ScoredImage, leaves: NDArray[np.int32]) -> Painter:
    """Paints values of leaves at the size of the image."""
    height, width = image.scene.image.shape[:2]
    return Painter(image.tree, image.evidence.tree, leaves, (height, width))


def cell(shown: str, title: str, words: str, more: str = "") -> str:
    """One picture of a strip, with words below it."""
    return f"<div>{shown}<b>{escape(title)}</b>{escape(words)}{more}</div>"


def photo(image: NDArray[np.uint8]) -> str:
    """A photo, shrunk, for the page."""
    made = io.BytesIO()
    Image.fromarray(_small(image, cv2.INTER_AREA)).save(made, "JPEG", quality=82)
    return picture(made.getvalue(), "jpeg", "")


def label_map(labels: NDArray[np.int16], classes: Classes) -> str:
    """A label map, shrunk, for the page; black is unknown."""
    colors = np.vstack([classes.palette, [(0, 0, 0)]]).astype(np.uint8)
    small = _small(labels, cv2.INTER_NEAREST)
    made = io.BytesIO()
    Image.fromarray(colors[small]).quantize(64).save(made, "PNG", optimize=True)
    return picture(made.getvalue(), "png", "")


def _small(image: NDArray[np.generic], method: int) -> NDArray[np.generic]:
    height, width = image.shape[:2]
    if width <= SHOWN_WIDTH:
        return image
    return np.asarray(
        cv2.resize(image, (SHOWN_WIDTH, round(height * SHOWN_WIDTH / width)), interpolation=method)
    )
