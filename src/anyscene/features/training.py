"""Fitting feature sets to training images; whatever learns from them gets sets fitted to other images."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes
from anyscene.data.scenes import DataSet, SceneList
from anyscene.features.geometry import fit_geometry
from anyscene.features.place import fit_place
from anyscene.features.semantics import fit_semantics
from anyscene.features.sets import Bank, bank_from_arrays, list_feature_sets
from anyscene.features.sift import fit_sift
from anyscene.features.texture import fit_texture
from anyscene.hierarchy import working_frame
from anyscene.named_arrays import Arrays

CODEBOOK_IMAGES = 120
"""Images that a codebook is learned from, at most; it bounds the time and the memory that this takes."""


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Banks that differ in what their trained sets were fitted to.

    whole: fitted to all training scenes; for labeling new images, and for a model file.
    folds: for the name of each fold, the bank that was not fitted to its scenes.
    fold_of: the fold of each training scene.
    """

    whole: Bank
    folds: Mapping[str, Bank]
    fold_of: Mapping[str, str]

    def bank_for(self, scene_id: str) -> Bank:
        """The bank whose trained sets have not seen this scene."""
        fold = self.fold_of.get(scene_id)
        return self.whole if fold is None else self.folds[fold]


def fit_bank(dataset: DataSet, rng: np.random.Generator, names: Collection[str] | None = None) -> CrossFit:
    """Learn the registered sets (or those named) on the split `train`; its folds are the splits `a` and `b`.

    Codebooks see no labels, so all banks share them. The classifiers of semantics and surfaces are fitted
    once to all of train and once to each fold.
    """
    names = list_feature_sets() if names is None else tuple(names)
    arrays = fit_codebooks(dataset.split("train"), rng, names)
    scenes = {split: dataset.split(split) for split in ("train", "a", "b")}
    fitted = {
        split: bank_from_arrays(names, arrays | fit_classifiers(part, dataset.classes, rng, names))
        for split, part in scenes.items()
    }
    fold_of = {scene_id: fold for fold in ("a", "b") for scene_id in scenes[fold].ids}
    return CrossFit(fitted["train"], {"a": fitted["b"], "b": fitted["a"]}, fold_of)


def fit_codebooks(
    scenes: SceneList, rng: np.random.Generator, names: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Learn the codebooks of those of the named sets that have one, as `<set>/<array>`."""
    chosen = range(0, len(scenes), -(-len(scenes) // CODEBOOK_IMAGES))
    frames = [working_frame(scenes.image(index)) for index in chosen]
    fits = {"texture": fit_texture, "sift": fit_sift}
    return _named({name: fit(frames, rng) for name, fit in fits.items() if name in names})


def fit_classifiers(
    scenes: SceneList, classes: Classes, rng: np.random.Generator, names: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Learn the classifiers of those of the named sets that have one, as `<set>/<array>`."""
    learned: dict[str, Arrays] = {}
    if "semantics" in names:
        learned["semantics"] = fit_semantics(labeled_frames(scenes), len(classes), rng)
    if "geometry" in names:
        learned["geometry"] = fit_geometry(labeled_frames(scenes), classes.names, rng)
    if "place" in names:
        learned["place"] = fit_place(labeled_frames(scenes), len(classes))
    return _named(learned)


def labeled_frames(scenes: SceneList) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int16]]]:
    """The working frame of each labeled scene, with its truth at the frame's size."""
    for scene in scenes:
        if scene.truth is None:
            continue
        frame = working_frame(scene.image)
        yield frame, labels_at(scene.truth, (frame.shape[0], frame.shape[1]))


def labels_at(labels: NDArray[np.int16], size: tuple[int, int]) -> NDArray[np.int16]:
    """A map of class ids at another (height, width): each pixel takes the nearest one's."""
    return np.asarray(cv2.resize(labels, size[::-1], interpolation=cv2.INTER_NEAREST), np.int16)


def _named(learned: Mapping[str, Arrays]) -> dict[str, NDArray[Any]]:
    return {f"{name}/{key}": array for name, arrays in learned.items() for key, array in arrays.items()}
