"""Folds of images, and how well trees fitted to some folds do on another.

Every chain is fitted several times: once to all images, which is what a model keeps, and once for each fold
to the images of the others. Each of these is a line of its own: its learners and its states know nothing of
the fold that it leaves out. What is chosen is chosen by the images of the left-out folds.

States of one line must not advance by another line's chains. Boosting fits what is left over. On a fold that
a chain has not seen, what is left over is the opposite of what the chain took from the other folds, and trees
fitted to that undo it (docs/research/2026-11-18-staircase.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.learners.boosting import BoostingSettings, Columns, boost
from anyscene.learning.learners.leaves import LeafRows

FOLDS = 4
"""Each fold's line sees three quarters of the images: nearly as much as the line that a model keeps."""

RUNS = 3
"""Runs of neighbours in a fold: of a data set of several drives every line sees something of each."""


def folds_of_runs(count: int) -> NDArray[np.int64]:
    """The fold of each of so many images in their order, int64[count].

    Folds are made of runs of neighbours: neighbours in a video are alike, and must not judge one another.
    """
    return np.asarray(np.arange(count) * (FOLDS * RUNS) // max(count, 1) % FOLDS)


def loss_after(
    fitted: LeafRows,
    judged: LeafRows,
    columns: Columns,
    trees: int,
    settings: BoostingSettings,
    random: np.random.Generator,
) -> float:
    """The cross-entropy of some leaves after trees that were fitted to others."""
    rows = judged.rows()
    for tree in boost(fitted.rows(), trees, settings, random, columns=columns):
        tree.apply(rows)
    return replace(judged, belief=rows.belief).cross_entropy
