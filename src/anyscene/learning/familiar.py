"""Learning which images are familiar, from the training images of a data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save

from anyscene.data import DataSet
from anyscene.familiarity import Familiarity, describe, fit_familiarity
from anyscene.files import write_atomically
from anyscene.learning.parallel import map_threads
from anyscene.marks import MARK

MOST_IMAGES = 2000


def familiarity_of(data: DataSet, threads: int = 1) -> Familiarity:
    """Learn from the images of `train`, evenly spread where there are many."""
    scenes = data.split("train")
    count = min(len(scenes), MOST_IMAGES)
    chosen = np.linspace(0, len(scenes) - 1, count).round().astype(int).tolist()
    return fit_familiarity(map_threads(lambda index: describe(scenes.image(index)), chosen, threads))


def write_familiarity(path: Path, familiarity: Familiarity) -> None:
    """Write what is familiar beside a model that was made without it."""
    arrays = {name: np.ascontiguousarray(array) for name, array in familiarity.to_arrays().items()}
    with write_atomically(path) as file:
        file.write(save(arrays, {"comment": MARK}))
