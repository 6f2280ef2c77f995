"""Which feature sets describe a scene: if it is learned from, sets that were not fitted to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.data import DataSet, Scene
from anyscene.features import Bank, bank_from_arrays, bank_to_arrays, list_feature_sets
from anyscene.features.hypercolumn.backbone import MAIN, Backbone, SeenByAllError, read_backbone
from anyscene.features.hypercolumn.ladder import HonestLadder
from anyscene.features.hypercolumn.network import head_to_arrays
from anyscene.features.hypercolumn.rung import NETWORK, RUNGS, Rung
from anyscene.features.training import CrossFit, fit_bank

Arrays = dict[str, NDArray[Any]]
WHOLE = "whole"

MOST_COPIES = 0.01
"""Share of images that may be left out because every part of the backbone has seen them.

A data set may hold an image under two names, one in each half: SIFT Flow does.
"""


@dataclass(frozen=True, eq=False)
class Banks:
    """The sets that are learned with.

    backbone, ladder : the network and its rungs, if there is one. head : which of its heads the rungs read.
    speaks : whether that head's classes are those of the data.
    """

    crossfit: CrossFit
    backbone: Backbone | None = None
    ladder: HonestLadder | None = None
    head: str = ""
    speaks: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all sets."""
        return tuple(self.whole)

    @property
    def whole(self) -> Bank:
        """The sets that label new images."""
        rungs = self.ladder.of_part(MAIN) if self.ladder else {}
        return {**self.crossfit.whole, **rungs}

    def network(self) -> tuple[dict[str, NDArray[Any]], dict[str, bytes]]:
        """The arrays and the graph that a model file keeps of the backbone."""
        if self.backbone is None:
            return {}, {}
        head = self.backbone.heads[MAIN, self.head]
        return head_to_arrays(head, self.speaks), {NETWORK: self.backbone.graphs[MAIN]}

    def for_scene(self, scene: Scene) -> Bank:
        """The sets whose features of this scene are as honest as of a new one."""
        rungs = self.ladder.for_image(scene.image) if self.ladder else {}
        return {**self.crossfit.bank_for(scene.id), **rungs}


def bank_unless_copy(banks: Banks, scene: Scene, left_out: list[str], images: int) -> Bank | None:
    """The honest sets of a scene; None if every part has seen it, for at most `MOST_COPIES` of the images.

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


def usual_sets(classes: Sequence[str], backbone: Path | None) -> tuple[str, ...]:
    """The sets to learn with where none are named: all, but `place` only beside a network's finer maps.

    A map shows detail within leaves, so that a split changes nothing until weak learners follow it. Were the
    map of places the only one, a greedy sequence would take it first and end there.
    """
    speaks = backbone is not None and choose_head(read_backbone(backbone), classes)[1]
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
    backbone: Path | None,
    threads: int,
    embedding: bool = True,
    rungs: Iterable[Rung] = RUNGS,
) -> Banks:
    """The banks that `fit_banks` fitted, and the rungs of a backbone file.

    embedding : whether trees will look at the network's embedding. Rungs that speak can do without.
    rungs : at which the network reads frames.
    """

    def bank(which: str) -> Bank:
        own = {key.removeprefix(f"{which}/"): a for key, a in arrays.items() if key.startswith(f"{which}/")}
        return bank_from_arrays(names, own)

    fold_of = {scene: fold for fold in ("a", "b") for scene in dataset.split(fold).ids}
    crossfit = CrossFit(bank(WHOLE), {"a": bank("a"), "b": bank("b")}, fold_of)
    if backbone is None:
        return Banks(crossfit)
    network = read_backbone(backbone)
    head, speaks = choose_head(network, dataset.classes.names)
    ladder = HonestLadder(network, head, rungs, threads, speaks, bare=speaks and not embedding)
    return Banks(crossfit, network, ladder, head, speaks)


def choose_head(backbone: Backbone, names: Sequence[str]) -> tuple[str, bool]:
    """The head whose classes have these names, in this order; else, and then False, the one of most classes.

    What is none of the head's classes still looks different to it from what is something else: the more
    classes it tells apart, the better its scores serve as features.
    """
    for head, classes in backbone.classes.items():
        if classes == tuple(names):
            return head, True
    return max(backbone.classes, key=lambda head: len(backbone.classes[head])), False
