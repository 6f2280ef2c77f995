"""Features for training, extracted on a cluster: nodes get images, this machine keeps what they find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.cluster.ray_executor import run_on_ray
from anyscene.cluster.sending import SentFile, send_file
from anyscene.data import Classes, DataSet, Scene, SceneList
from anyscene.features.cache import FeatureCache, compute_features, hash_image
from anyscene.features.hypercolumn.backbone import SeenByAllError
from anyscene.features.hypercolumn.rung import Rung
from anyscene.features.regions import RegionFeatures
from anyscene.features.view import View
from anyscene.hierarchy import LAYERS, Tree, working_frame
from anyscene.learning.banks import Backbones, Banks, load_banks
from anyscene.learning.config import TrainConfig
from anyscene.learning.corpus_building import Ahead
from anyscene.threads import one_thread

Found = tuple[str, dict[str, NDArray[np.float32]]]
"""What names an image in the cache, and its features by set."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """All that a node needs to make the feature sets of a training run.

    splits : ids of the splits that sets were fitted to. arrays : what they learned.
    """

    key: str
    classes: Classes
    splits: dict[str, tuple[str, ...]]
    names: tuple[str, ...]
    arrays: Mapping[str, NDArray[Any]]
    backbones: Mapping[str, SentFile]
    rungs: tuple[str, ...]
    trees: bool

    def banks(self) -> Banks:
        """The feature sets."""
        data = DataSet(self.key, self.classes, self.splits, _not_here, _not_here)
        backbones = {name: Path(sent.received()) for name, sent in self.backbones.items()}
        rungs = map(Rung.parse, self.rungs)
        return load_banks(data, self.names, self.arrays, backbones, 1, self.trees, rungs)


def _not_here(id: str) -> Any:
    raise AssertionError(f"scene {id} is asked for on a node, which has no data")


def extract_on_ray(
    cores: int,
    data: DataSet,
    names: Sequence[str],
    arrays: Mapping[str, NDArray[Any]],
    backbones: Backbones,
    config: TrainConfig,
) -> Ahead:
    """Extract features on so many cores of the cluster that was joined."""
    recipe = Recipe(
        data.name,
        data.classes,
        {name: tuple(data.split(name).ids) for name in ("train", "a", "b")},
        tuple(names),
        arrays,
        {name: send_file(file) for name, file in backbones.items()},
        tuple(map(str, config.rungs)),
        config.looks_at_embedding,
    )
    return partial(_extract_all, recipe, cores)


def _extract_all(
    recipe: Recipe, cores: int, scenes: SceneList, chosen: Sequence[int], cache: FeatureCache
) -> None:
    banks = recipe.banks()
    frames = ((scenes.ids[index], scenes.image(index)) for index in chosen)
    for (id, image), found in run_on_ray(partial(_extract, recipe), frames, cores):
        if found is not None:
            image_key, features = found
            bank = banks.for_scene(Scene(id, image, None))
            for name, array in features.items():
                cache.add(image_key, bank[name], array)


_banks: dict[str, Banks] = {}
"""The sets of the run that this process works for; a run has one recipe."""


def _extract(recipe: Recipe, item: tuple[str, NDArray[np.uint8]]) -> Found | None:
    """On a node: describe all regions of an image; None for one that every part of a network has seen."""
    id, image = item
    image = np.array(image)  # what Ray hands over is read-only, which kernels would be compiled for anew
    with one_thread():
        if recipe.key not in _banks:
            _banks[recipe.key] = recipe.banks()
        try:
            bank = _banks[recipe.key].for_scene(Scene(id, image, None))
        except SeenByAllError:
            return None
        frame = working_frame(image)
        tree = Tree(frame)
        tree.grow(LAYERS)
        regions = RegionFeatures(bank, View(frame), tree)
        return hash_image(frame, tree), {name: compute_features(regions, name) for name in bank}
