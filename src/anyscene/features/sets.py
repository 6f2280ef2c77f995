"""What a feature set is, and the registry of those there are.

Adding one is one file with a class under `@register`, named as the set, and one line in `SET_MODULES`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ConfigError, ModelError
from anyscene.features.pooling import Pooling
from anyscene.features.shapes import Shapes
from anyscene.features.view import View
from anyscene.named_arrays import Arrays, under

PAPER_SETS = ("color", "position", "texture", "lbp", "hog", "sift", "geometry", "semantics")
"""The paper's sets, without the hypercolumn: that has no module here, its rungs come from a backbone."""

SET_MODULES = (*PAPER_SETS, "place")
"""All registered sets; each has a module of its name."""

SCORE_FLOOR = np.float32(1e-4)
"""Least probability that a source is taken to give a class: no source rules a class out."""

SHAPES = "shapes"
"""Stands among the needs of a set that describes the shapes of regions."""


class FeatureSet:
    """One source of evidence about regions: a map of the frame is pooled and then made into features.

    name: unique among the sets in use. dimensions: columns of the features.
    needs: the shared maps that `extract` asks the view for, as `name` or `name/stride`; they are priced on
        their own. A bare name means stride 1, or the tree's stride for a set that follows the tree.
    pooling: what regions keep of the map; None for a set that needs shapes alone.
    channels: how many the map has; for a map of words, the size of the vocabulary.
    stride: pixels of the frame to a cell of the map; the frame cuts the last cells short. None: the map has
        any resolution, is stretched over the frame and interpolated between its cells.
    follows_tree: whether the map is made anew for each stride of the tree, so that a small map describes
        coarse layers. `stride` then says nothing.
    speaks_of_classes: whether the first columns are the probabilities of the classes.
    fineness: how fine the map is, by which such sets are ordered; 0 unless its channels are these
        probabilities and good enough to label pixels by.
    """

    name: str
    dimensions: int
    needs: tuple[str, ...] = ()
    pooling: Pooling | None = None
    channels: int = 0
    stride: int | None = 1
    follows_tree: bool = False
    speaks_of_classes: bool = False
    fineness: float = 0.0

    def extract(self, view: View) -> NDArray[Any]:
        """Compute the map of the frame, [h', w', channels] or words [h', w']."""
        raise NotImplementedError

    def poolable(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values that are pooled; most sets pool the map as it is."""
        return values

    def log_scores(self, values: NDArray[np.float32], classes: int) -> NDArray[np.float32]:
        """Log-probabilities of the classes in each cell of a map, float32[h, w, classes], a new array.

        They need not be normalised. Asked only of sets that are fine enough to label pixels by.
        """
        return np.asarray(cv2.log(np.maximum(values[..., :classes], SCORE_FLOOR)))

    def features(self, pooled: NDArray[np.float32], shapes: Callable[[], Shapes]) -> NDArray[np.float32]:
        """Features float32[n, dimensions] of a layer's regions from what was pooled of the map.

        shapes: gives the regions' shapes when called; a set that calls it names SHAPES among its `needs`.
        """
        return pooled

    def extraction_pixels(self, frame: tuple[int, int]) -> int:
        """The pixels that extraction visits for a frame of (height, width), as the cost model counts them."""
        return frame[0] * frame[1]

    def arrays(self) -> Arrays:
        """What was learned, to be kept in a model file; `from_arrays` is the inverse."""
        return {}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> FeatureSet:
        """Make the set from what was learned; no arrays for a set that learns nothing."""
        return cls(**arrays)

    def fingerprint(self) -> str:
        """A hash of all that the features depend on, for caches."""
        digest = hashlib.sha256(f"{self.name} {type(self).__name__} {self.version}".encode())
        for name, array in sorted(self.arrays().items()):
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    version: ClassVar[int] = 1
    """Raise it when the same arrays give other features: caches then make them anew."""


SetClass = TypeVar("SetClass", bound=type[FeatureSet])
_REGISTRY: dict[str, type[FeatureSet]] = {}


def register(cls: SetClass) -> SetClass:
    """Add a feature set to the registry, under its name."""
    if _REGISTRY.setdefault(cls.name, cls).__qualname__ != cls.__qualname__:
        raise ConfigError(f"two feature sets are called '{cls.name}'; rename one")
    return cls


def list_feature_sets() -> tuple[str, ...]:
    """Names of all feature sets, in the order of `SET_MODULES` and then of registration."""
    for module in SET_MODULES:
        import_module(f"anyscene.features.{module}")
    return tuple(dict.fromkeys([*SET_MODULES, *_REGISTRY]))


def feature_set_class(name: str) -> type[FeatureSet]:
    """The class of a registered feature set."""
    known = list_feature_sets()
    if name not in known:
        raise ConfigError(f"there is no feature set '{name}'; there are {', '.join(known)}")
    return _REGISTRY[name]


Bank = Mapping[str, FeatureSet]
"""Feature sets ready for use, by name."""


def bank_to_arrays(bank: Bank) -> dict[str, NDArray[Any]]:
    """What the registered sets of a bank learned, as `<set>/<array>`."""
    return {f"{name}/{key}": array for name, chosen in bank.items() for key, array in chosen.arrays().items()}


def bank_from_arrays(names: Iterable[str], arrays: Arrays) -> dict[str, FeatureSet]:
    """The inverse of `bank_to_arrays` for registered sets."""
    bank = {}
    for name in names:
        try:
            bank[name] = feature_set_class(name).from_arrays(under(name, arrays))
        except (TypeError, KeyError, ValueError) as error:
            raise ModelError(
                f"the arrays of feature set '{name}' do not fit this version ({error}); train the model anew"
            ) from error
    return bank
