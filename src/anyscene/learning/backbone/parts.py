"""The parts of a backbone: the network trained on everything, and the two that cross-fitting needs.

Each part is a run of its own, in a folder that all share: `PART.checkpoint` while it trains, and
`PART.weights` when it is done.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.data import DataSet, Scene
from anyscene.errors import ConfigError, DataError
from anyscene.features.hypercolumn.backbone import read_backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.rung import input_size
from anyscene.hierarchy import fit
from anyscene.learning.backbone.appearance import CHANNEL_MEAN, CHANNEL_SCALE
from anyscene.learning.backbone.batches import Source
from anyscene.learning.backbone.family import Shape
from anyscene.learning.backbone.kinship import listeners
from anyscene.learning.backbone.lessons import prepare_lessons
from anyscene.learning.backbone.network import SceneNetwork, shape_of
from anyscene.learning.backbone.pack import unpack
from anyscene.learning.backbone.part_files import Part, read_part, write_part
from anyscene.learning.backbone.recipe import Recipe
from anyscene.learning.backbone.trainer import Progress, train
from anyscene.painting.cells import labels_by_scores

PARTS = ("train", "a", "b")
"""Splits that the parts are fitted to; the first is the network that labels."""


JUDGES = {"train": "val", "a": "b", "b": "a"}
"""The split that tells how a part fares while it trains; nothing is chosen by it."""

SAMPLED = 16
TOLD = 100
"""After so many images that a teacher labels, progress is told."""


def train_part(
    datasets: Mapping[str, DataSet],
    part: str,
    recipe: Recipe,
    folder: Path,
    seed: int,
    report: Callable[[Progress], None],
    start: Path | None = None,
    teacher: Path | None = None,
) -> Part:
    """Train one part, or go on with it; a finished part is read, not trained again.

    start: a run folder, or a backbone file, whose part of the same name gives the first weights; ImageNet's
    when None.
    teacher: a run folder, or a backbone file, whose part of the same name teaches; see `lessons`.
    """
    path = folder / f"{part}.weights"
    if path.exists():
        return read_part(path)
    if (teacher is None) != (recipe.distill == 0):
        raise ConfigError("give both a teacher and a recipe whose 'distill' is more than 0, or neither")
    before = None if start is None else _starting(start, part, datasets, recipe.shape)
    sources = [_hold(name, dataset, part) for name, dataset in datasets.items()]
    learned_from = () if before is None else before.seen
    if teacher is not None:
        master = _earlier(teacher, part, datasets)
        sources = [_taught(source, master, recipe, folder / f"{part}.lessons", report) for source in sources]
        learned_from += master.seen
    classes = {name: dataset.classes.names for name, dataset in datasets.items()}
    held_out = {name: _sample(dataset, JUDGES[part]) for name, dataset in datasets.items()}
    network = train(
        sources,
        classes,
        recipe,
        folder / f"{part}.checkpoint",
        seed,
        report,
        lambda judged: _verdict(judged, held_out, recipe.long_side),
        None if before is None else before.network.state_dict(),
    )
    seen = {image_key(image) for source in sources for image in source.images}
    done = Part(network, classes, tuple(sorted(seen | set(learned_from))), recipe.model_dump())
    write_part(done, path)
    return done


def _starting(start: Path, name: str, datasets: Mapping[str, DataSet], shape: Shape) -> Part:
    """Read the part that training goes on from; it must have all blocks that the recipe keeps."""
    part = _earlier(start, name, datasets)
    own = shape_of(part.network.state_dict())
    if not own.holds(shape):
        raise ConfigError(
            f"{start} has {list(own.blocks)} blocks of {list(own.channels)} channels, which do not hold the "
            f"recipe's {list(shape.blocks)} of {list(shape.channels)}; give the recipe those, or leave out "
            "--start"
        )
    return part


def _earlier(place: Path, name: str, datasets: Mapping[str, DataSet]) -> Part:
    """Read a part from a run folder or a backbone file; it must have been trained on the same data sets."""
    part = read_part(place / f"{name}.weights") if place.is_dir() else unpack(read_backbone(place), name)
    if part.classes != {name: dataset.classes.names for name, dataset in datasets.items()}:
        raise ConfigError(
            f"{place} was trained on other data sets or classes ({', '.join(part.classes)}); "
            "give the same --data, or leave out --start and --teacher"
        )
    return part


def _taught(
    source: Source, teacher: Part, recipe: Recipe, folder: Path, report: Callable[[Progress], None]
) -> Source:
    """The source with the lessons of the teacher, for its own head and those that hear of it."""
    heads = (source.name, *(listeners(source.name, teacher.classes) if recipe.kin > 0 else ()))
    began, count = time.monotonic(), len(source.images)

    def tell(done: int) -> None:
        if done % TOLD == 0:
            left = (time.monotonic() - began) / done * (count - done)
            words = f"the teacher has labelled {done} of {count} images of {source.name}"
            report(Progress(0, recipe.steps, math.nan, left, words))

    lessons = prepare_lessons(
        teacher.network, source.images, heads, recipe.long_side, folder / source.name, tell
    )
    return replace(source, lessons=lessons)


def _hold(name: str, dataset: DataSet, split: str) -> Source:
    scenes = [scene for scene in dataset.split(split) if scene.truth is not None]
    if not scenes:
        raise DataError(f"the split '{split}' of {name} holds no labelled image to train on")
    truths: Sequence[np.ndarray] = [scene.truth for scene in scenes if scene.truth is not None]
    return Source(name, [scene.image for scene in scenes], truths)


def _sample(dataset: DataSet, split: str) -> list[Scene]:
    """A few scenes of a split, evenly spread; none where the data set has no such split."""
    if split not in dataset.splits:
        return []
    scenes = dataset.split(split)
    return [scenes[index] for index in range(0, len(scenes), -(-len(scenes) // SAMPLED))]


def _verdict(network: SceneNetwork, held_out: Mapping[str, list[Scene]], long_side: int) -> str:
    """Pixel accuracy and mean IoU at full size on each data set's sample."""
    words = []
    for name, scenes in held_out.items():
        classes = network.heads[name].out_channels
        counts = np.zeros((classes, classes + 1), np.int64)
        for scene in scenes:
            if scene.truth is not None:
                counts += metrics.count(scene.truth, _label(network, name, scene.image, long_side), classes)
        if counts.any():
            words.append(f"{name} {metrics.pixel_accuracy(counts):.3f}/{metrics.mean_iou(counts):.3f}")
    return ", ".join(words)


def _label(network: SceneNetwork, head: str, image: NDArray[np.uint8], long_side: int) -> NDArray[np.int16]:
    height, width = image.shape[:2]
    fitted = fit(image, input_size(height, width, min(1.0, long_side / max(height, width))))
    planes = (torch.from_numpy(fitted).permute(2, 0, 1)[None].float() - CHANNEL_MEAN) / CHANNEL_SCALE
    with torch.inference_mode():
        scores = network(planes, head)[0].permute(1, 2, 0).contiguous().numpy()
    return labels_by_scores(scores, scores.shape[2], (height, width))
