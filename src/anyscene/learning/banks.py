"""Which feature sets describe a scene: if it is learned from, sets that were not fitted to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anyscene.data import DataSet, Scene
from anyscene.errors import ConfigError
from anyscene.familiarity import FAMILIARITY
from anyscene.features import Bank, bank_from_arrays, bank_to_arrays, list_feature_sets
from anyscene.features.hypercolumn.backbone import (
    MAIN,
    Backbone,
    SeenByAllError,
    read_backbone,
    shipped_backbone,
)
from anyscene.features.hypercolumn.ladder import HonestLadder
from anyscene.features.hypercolumn.rung import NETWORK, RUNGS, Rung
from anyscene.features.training import CrossFit, fit_bank

Arrays = dict[str, NDArray[Any]]
Value = TypeVar("Value")

Backbones = Mapping[str, Path]
"""The backbone file of each network, by the network's name; none: learning does without."""

WHOLE = "whole"

MOST_COPIES = 0.01
"""Share of images that may be left out because every part of a backbone has seen them.

A data set may hold an image under two names, one in each half: SIFT Flow does.
"""


@dataclass(frozen=True, eq=False)
class Banks:
    """The sets that are learned with. ladders : the rungs of each network."""

    crossfit: CrossFit
    ladders: tuple[HonestLadder, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all sets."""
        return tuple(self.whole)

    @property
    def whole(self) -> Bank:
        """The sets that label new images."""
        return {**self.crossfit.whole, **_joined(ladder.of_part(MAIN) for ladder in self.ladders)}

    def networks(self) -> tuple[Arrays, dict[str, bytes]]:
        """The arrays and the graphs that a model file keeps of the networks."""
        kept = [ladder.in_model() for ladder in self.ladders]
        return _joined(arrays for arrays, _ in kept), _joined(graphs for _, graphs in kept)

    def for_scene(self, scene: Scene) -> Bank:
        """The sets whose features of this scene are as honest as of a new one."""
        rungs = _joined(ladder.for_image(scene.image) for ladder in self.ladders)
        return {**self.crossfit.bank_for(scene.id), **rungs}


def _joined(parts: Iterable[Mapping[str, Value]]) -> dict[str, Value]:
    return {name: value for part in parts for name, value in part.items()}


def bank_unless_copy(banks: Banks, scene: Scene, left_out: list[str], images: int) -> Bank | None:
    """The honest sets of a scene; None if all parts of a backbone have seen it, as they may `MOST_COPIES`.

    left_out : ids of those so far; grows.
    """
    try:
        return banks.for_scene(scene)
    except SeenByAllError:
        left_out.append(scene.id)
        if len(left_out) > MOST_COPIES * images:
            raise
        return None


def restrict(dataset: DataSet, split: str) -> DataSet:
    """The data set with one split as its `train`, and halves of that as the folds `a` and `b`.

    Neighbours stay together, as in the data set's own halves.
    """
    if split == "train":
        return dataset
    ids = list(dataset.split(split).ids)
    middle = len(ids) // 2
    splits = {"train": ids, "a": ids[:middle], "b": ids[middle:]}
    return DataSet(dataset.name, dataset.classes, splits, dataset.load_image, dataset.load_truth)


def named_backbones(given: str | Path | Mapping[str, str | Path] | None, dataset: str) -> Backbones:
    """The backbone files by the names of their networks; where none is given, the one that ships."""
    if given is None:
        return {NETWORK: shipped_backbone(dataset)}
    files = given if isinstance(given, Mapping) else {NETWORK: given}
    # The usual network comes first, whose glance tells familiar images.
    return {name: Path(files[name]) for name in sorted(files, key=lambda name: name != NETWORK)}


def check_networks(backbones: Backbones, rungs: Iterable[Rung], sets: Iterable[str]) -> None:
    """Raise a ConfigError unless each network has a backbone, rungs, and a name that nothing else has."""
    named = dict.fromkeys(rung.network for rung in rungs)
    if missing := [name for name in named if name not in backbones]:
        raise ConfigError(
            f"'rungs' of the settings names the network '{missing[0]}', which has no backbone; "
            f"add it by --backbone {missing[0]}=FILE, or take its rungs out"
        )
    if idle := [name for name in backbones if name not in named]:
        raise ConfigError(
            f"'rungs' of the settings names no input of the network '{idle[0]}'; "
            f"add some, such as '{idle[0]}@1000', or leave its backbone out"
        )
    if taken := {*sets, FAMILIARITY} & backbones.keys():
        raise ConfigError(
            f"a network cannot be called '{min(taken)}', as something else in a model file is; rename it"
        )


def usual_sets(classes: Sequence[str], backbones: Backbones) -> tuple[str, ...]:
    """The sets to learn with where none are named: all, but `place` only beside a network's finer maps.

    A map shows detail within leaves, so that a split changes nothing until weak learners follow it. Were the
    map of places the only one, a greedy sequence would take it first and end there.
    """
    speaks = any(choose_head(read_backbone(file), classes)[1] for file in backbones.values())
    return tuple(name for name in list_feature_sets() if speaks or name != "place")


def fit_banks(dataset: DataSet, names: Sequence[str], random: np.random.Generator) -> Arrays:
    """Fit the named sets on `train` and its folds; as arrays, by bank."""
    crossfit = fit_bank(dataset, random, names)
    banks = {WHOLE: crossfit.whole, **crossfit.folds}
    return {
        f"{which}/{key}": array
        for which, bank in banks.items()
        for key, array in bank_to_arrays(bank).items()
    }


def load_banks(
    dataset: DataSet,
    names: Sequence[str],
    arrays: Mapping[str, NDArray[Any]],
    backbones: Backbones,
    threads: int,
    embedding: bool = True,
    rungs: Iterable[Rung] = RUNGS,
) -> Banks:
    """The banks that `fit_banks` fitted, and the rungs of backbone files.

    embedding : whether trees will look at the networks' embeddings. Rungs that speak can do without.
    rungs : at which the networks read frames; each network has some (`check_networks`).
    """
    wanted = tuple(rungs)

    def bank(which: str) -> Bank:
        own = {key.removeprefix(f"{which}/"): a for key, a in arrays.items() if key.startswith(f"{which}/")}
        return bank_from_arrays(names, own)

    fold_of = {scene: fold for fold in ("a", "b") for scene in dataset.split(fold).ids}
    crossfit = CrossFit(bank(WHOLE), {"a": bank("a"), "b": bank("b")}, fold_of)

    def ladder(name: str, file: Path) -> HonestLadder:
        backbone = read_backbone(file)
        head, speaks = choose_head(backbone, dataset.classes.names)
        own = [rung for rung in wanted if rung.network == name]
        return HonestLadder(backbone, head, own, threads, speaks, bare=speaks and not embedding)

    return Banks(crossfit, tuple(ladder(name, file) for name, file in backbones.items()))


def choose_head(backbone: Backbone, names: Sequence[str]) -> tuple[str, bool]:
    """The head whose classes have these names, in this order; else, and then False, the one of most classes.

    What is none of the head's classes still looks different to it from what is something else: the more
    classes it tells apart, the better its scores serve as features.
    """
    for head, classes in backbone.classes.items():
        if classes == tuple(names):
            return head, True
    return max(backbone.classes, key=lambda head: len(backbone.classes[head])), False
