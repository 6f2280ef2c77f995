"""Feature sets with random parameters of the usual sizes, which cost what trained ones cost."""

from __future__ import annotations

import numpy as np

from anyscene.features import geometry, place, semantics, sift, texture
from anyscene.features.boosting import Booster
from anyscene.features.layout import LayoutClassifier, draw_filters
from anyscene.features.sets import SET_MODULES, FeatureSet, bank_from_arrays
from anyscene.features.surfaces import SURFACES


def random_bank(rng: np.random.Generator, classes: int = 11) -> dict[str, FeatureSet]:
    """The sets of anyscene with random parameters, for measuring and for tests."""
    texture_words = rng.normal(size=(texture.WORDS, texture.FILTERS)).astype(np.float32)
    arrays = {
        "sift/words": rng.dirichlet(np.ones(128), sift.WORDS).astype(np.float32) ** 0.5,
        "texture/words": texture_words,
        "texture/scales": np.full(texture.FILTERS, 16, np.float32),
    }
    arrays["place/chances"] = rng.dirichlet(np.ones(classes), place.CELLS).astype(np.float32)
    sizes = {
        "semantics": (semantics.FILTERS, semantics.TREES, semantics.DEPTH, classes),
        "geometry": (geometry.FILTERS, geometry.TREES, geometry.DEPTH, len(SURFACES)),
    }
    for name, size in sizes.items():
        learned = _random_classifier(rng, *size).arrays()
        arrays |= {f"{name}/{key}": array for key, array in learned.items()}
    return bank_from_arrays(SET_MODULES, arrays)


def _random_classifier(
    rng: np.random.Generator, filters: int, trees: int, depth: int, classes: int
) -> LayoutClassifier:
    inner = 2**depth - 1
    booster = Booster(
        np.zeros(classes, np.float32),
        rng.integers(2 + filters, size=(trees, inner), dtype=np.int32),
        rng.random((trees, inner), dtype=np.float32),
        rng.normal(scale=0.1, size=(trees, 2**depth, classes)).astype(np.float32),
    )
    return LayoutClassifier(draw_filters(filters, rng), booster)
