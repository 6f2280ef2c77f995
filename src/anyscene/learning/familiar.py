"""Learning which images are familiar, from the training images of a data set."""

from __future__ import annotations

from pathlib import Path

from anyscene.data import DataSet
from anyscene.data.splits import evenly_spread
from anyscene.familiarity import Familiarity, describe, fit_familiarity
from anyscene.learning.parallel import map_threads
from anyscene.marks import MARK
from anyscene.named_arrays import write_arrays

MOST_IMAGES = 2000


def familiarity_of(data: DataSet, threads: int = 1) -> Familiarity:
    """Learn from the images of `train`, evenly spread where there are many."""
    scenes = data.split("train")
    chosen = evenly_spread(len(scenes), MOST_IMAGES)
    return fit_familiarity(map_threads(lambda index: describe(scenes.image(index)), chosen, threads))


def write_familiarity(path: Path, familiarity: Familiarity) -> None:
    """Write what is familiar beside a model that was made without it."""
    write_arrays(path, familiarity.to_arrays(), {"comment": MARK})
