"""The parts of a backbone: the network trained on everything, and the two that cross-fitting needs.

Each part is a run of its own with a folder-wide naming: `PART.checkpoint` while it trains, and `PART.weights`
(fp16 weights, with the keys of the images they were fitted to) when it is done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from anyscene.data import DataSet
from anyscene.errors import DataError, ModelError
from anyscene.features.hypercolumn.keys import image_key
from anyscene.files import write_atomically
from anyscene.learning.backbone.batches import Source
from anyscene.learning.backbone.network import SceneNetwork
from anyscene.learning.backbone.recipe import Recipe
from anyscene.learning.backbone.trainer import Progress, train

PARTS = ("train", "a", "b")
"""Splits that the parts are fitted to; the first is the network that labels, the others judge each other's half."""


@dataclass(frozen=True)
class Part:
    """A trained part: its weights, the classes of its heads, and the keys of the images it has seen."""

    network: SceneNetwork
    classes: dict[str, tuple[str, ...]]
    seen: tuple[str, ...]
    recipe: Recipe


def train_part(
    datasets: Mapping[str, DataSet],
    part: str,
    recipe: Recipe,
    folder: Path,
    seed: int,
    report: Callable[[Progress], None],
) -> Part:
    """Train one part, or go on with it; a finished part is read, not trained again."""
    path = folder / f"{part}.weights"
    if path.exists():
        return read_part(path)
    sources = [_hold(name, dataset, part) for name, dataset in datasets.items()]
    counts = {name: len(dataset.classes) for name, dataset in datasets.items()}
    network = train(sources, counts, recipe, folder / f"{part}.checkpoint", seed, report)
    classes = {name: dataset.classes.names for name, dataset in datasets.items()}
    seen = sorted(image_key(image) for source in sources for image in source.images)
    done = Part(network, classes, tuple(seen), recipe)
    _write_part(done, path)
    return done


def read_part(path: Path) -> Part:
    """Read a finished part."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {})["part"])
            tensors: dict[str, Tensor] = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
        classes = {name: tuple(names) for name, names in metadata["classes"].items()}
        network = SceneNetwork({name: len(names) for name, names in classes.items()})
        network.load_state_dict(tensors)
        recipe = Recipe.model_validate(metadata["recipe"])
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path} is not a trained part of a backbone ({error}); train it anew") from error
    return Part(network.eval(), classes, tuple(metadata["seen"]), recipe)


def _hold(name: str, dataset: DataSet, split: str) -> Source:
    scenes = [scene for scene in dataset.split(split) if scene.truth is not None]
    if not scenes:
        raise DataError(f"the split '{split}' of {name} holds no labelled image to train on")
    truths: Sequence[np.ndarray] = [scene.truth for scene in scenes if scene.truth is not None]
    return Source(name, [scene.image for scene in scenes], truths)


def _write_part(part: Part, path: Path) -> None:
    metadata = {"classes": part.classes, "seen": part.seen, "recipe": part.recipe.model_dump()}
    tensors = {name: value.to(torch.float16).contiguous() for name, value in part.network.state_dict().items()}
    with write_atomically(path) as file:
        file.write(save(tensors, {"part": json.dumps(metadata)}))
