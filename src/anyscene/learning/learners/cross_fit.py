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


def folds_of_runs(count: int) -> NDArray[np.int64]:
    """The fold of each of so many images in their order, int64[count].

    A fold is one run of neighbours, which is a drive, or a good part of one, where images come from a video.
    Then what is chosen is chosen by other places and another light, as on the images that will come.
    """
    return np.asarray(np.arange(count) * FOLDS // max(count, 1))


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
