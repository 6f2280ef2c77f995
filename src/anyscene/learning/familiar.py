"""Learning which images are familiar, from the training images of a data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data import DataSet
from anyscene.data.splits import evenly_spread
from anyscene.familiarity import Familiarity, describe, fit_usual
from anyscene.features import Bank
from anyscene.features.hypercolumn.ladder import glance_at
from anyscene.learning.parallel import map_threads
from anyscene.marks import MARK
from anyscene.named_arrays import write_arrays

MOST_IMAGES = 2000


def familiarity_of(data: DataSet, bank: Bank, threads: int = 1) -> Familiarity:
    """Learn from the images of `train`, evenly spread where there are many. bank : what labels new images."""
    scenes = data.split("train")

    def describe_both(index: int) -> tuple[NDArray[np.float64], NDArray[np.float32] | None]:
        image = scenes.image(index)
        return describe(image), glance_at(image, bank.values())

    both = map_threads(describe_both, evenly_spread(len(scenes), MOST_IMAGES), threads)
    features = [seen for _, seen in both if seen is not None]
    return Familiarity(fit_usual([looks for looks, _ in both]), fit_usual(features) if features else None)


def write_familiarity(path: Path, familiarity: Familiarity) -> None:
    """Write what is familiar beside a model that was made without it."""
    write_arrays(path, familiarity.to_arrays(), {"comment": MARK})
