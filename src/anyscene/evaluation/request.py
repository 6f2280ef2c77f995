"""What to evaluate, and what can be said against it before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyscene.data import DataSet, SceneList
from anyscene.data.splits import evenly_spread
from anyscene.errors import ConfigError, DataError, ModelError
from anyscene.modelfile import TrainedModel
from anyscene.processes import Died, run_in_processes

MODEL_CLOCK, WALL_CLOCK = "model", "wall"
LAZY, UPFRONT = "lazy", "upfront"

Runner = Callable[[Callable[[Any], Any], Iterable[Any], int], Iterator[tuple[Any, Any | Died]]]
"""Applies work to items, so many at a time; yields each item with its result as they come."""


@dataclass(frozen=True)
class Request:
    """What to evaluate.

    systems : keys of `SYSTEMS`; with none, all that the model and the backbone allow.
    clock : costs are the model's, or wall-clock times of this machine.
    segmentation : the tree is charged as it grows, or whole before the first action.
    images : the most images to score, evenly spread; 0 stands for all.
    processes : how many processes share the images. runner : starts them, here or elsewhere.
    fit_split : the split that baselines are fitted to.
    baselines : the folder that fitted baselines are kept in, to be used again.
    """

    data: str
    split: str
    model: str
    report: Path
    systems: tuple[str, ...] = ()
    clock: str = MODEL_CLOCK
    segmentation: str = LAZY
    backbone: Path | None = None
    baselines: Path | None = None
    fit_split: str = "train"
    images: int = 0
    processes: int = 1
    runner: Runner = run_in_processes


def check_options(request: Request) -> None:
    """Refuse words that options do not have."""
    for value, known, option in (
        (request.clock, (MODEL_CLOCK, WALL_CLOCK), "--clock"),
        (request.segmentation, (LAZY, UPFRONT), "--segmentation"),
    ):
        if value not in known:
            raise ConfigError(f"{option} is {' or '.join(known)}, not '{value}'")


def check_classes(trained: TrainedModel, dataset: DataSet, path: Path) -> None:
    """Refuse a model whose classes are not those of the data."""
    ours, theirs = trained.classes.names, dataset.classes.names
    if ours != theirs:
        odd = next((name for name in (*ours, *theirs) if (name in ours) != (name in theirs)), "their order")
        raise ModelError(
            f"{path} labels {len(ours)} classes, {dataset.name} has {len(theirs)}, and they differ "
            f"(first in {odd}); evaluate it on the data that it was trained for"
        )


def check_overlap(dataset: DataSet, request: Request) -> None:
    """Refuse to score baselines on images that they are fitted to."""
    fitted = set(dataset.split(request.fit_split).ids)
    if shared := fitted.intersection(dataset.split(request.split).ids):
        raise ConfigError(
            f"the baselines would be scored on {len(shared)} images of '{request.fit_split}' that they are "
            "fitted to; choose another --split, or leave fsm, dcrf, him and hdcrf out of --systems"
        )


def images_to_score(scenes: SceneList, request: Request) -> tuple[int, ...]:
    """The positions of labeled images in the split, as many as were asked for."""
    labeled = [index for index in range(len(scenes)) if scenes.truth(index) is not None]
    if not labeled:
        raise DataError(
            f"no image of split '{request.split}' of {request.data} has a truth to score by; choose another"
        )
    return tuple(labeled[i] for i in evenly_spread(len(labeled), request.images or len(labeled)))
