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
from anyscene.features.view import Rect, View

PAPER_SETS = ("color", "position", "texture", "lbp", "hog", "sift", "geometry", "semantics")
"""The paper's sets but for the hypercolumn, which has no module here: its rungs come from a backbone."""

SET_MODULES = (*PAPER_SETS, "place")

SCORE_FLOOR = np.float32(1e-4)
"""A source that rules a class out is believed no further than this."""

SHAPES = "shapes"
"""What a set that describes the shapes of regions names among its needs."""

Arrays = Mapping[str, NDArray[Any]]


class FeatureSet:
    """One source of evidence about regions: a map of the frame, pooled, and then made into features.

    name: unique among the sets in use. dimensions: columns of the features.
    needs: the shared maps that `extract` asks the view for, as `name` or `name/stride`; their cost is known
        apart. A bare name means stride 1, or the tree's stride for a set that follows it.
    pooling: what regions keep of the map; None for a set that is described by shapes alone.
    channels: of the map; the size of the vocabulary for words.
    stride: pixels of the frame to a cell of the map. None: the map is made anew for each stride of the tree,
        so that coarse layers are described by a small map. 0: the map is of any size, stretched over its
        rectangle, which may be any.
    local: whether the map of a crop is a crop of the map (up to rounding), so that the frame can be extracted
        in pieces that add up. Pieces of a set that is not local stand alone: a region takes its features from
        the first piece that it lies in wholly.
    speaks_of_classes: whether the first columns are the probabilities of the classes.
    fineness: how fine the map is, if its channels are these probabilities and good enough to label pixels by.
    """

    name: str
    dimensions: int
    needs: tuple[str, ...] = ()
    pooling: Pooling | None = None
    channels: int = 0
    stride: int | None = 1
    local: bool = False
    speaks_of_classes: bool = False
    fineness: float = 0.0

    def extract(self, view: View, rect: Rect, stride: int) -> NDArray[Any]:
        """Compute the map over `rect`, [h', w', channels] or words [h', w'].

        A local set gets a rectangle whose top left corner lies on its stride and returns one cell for each
        block of `stride`, the last ones cut short by the frame. Others may return any resolution.
        """
        raise NotImplementedError

    def poolable(self, values: NDArray[Any]) -> NDArray[Any]:
        """What of a map is pooled; most maps are as they are."""
        return values

    def log_scores(self, values: NDArray[np.float32], classes: int) -> NDArray[np.float32]:
        """Log-probabilities of the classes in each cell of a map, float32[h, w, classes], a new array.

        For sets that are fine enough to label pixels by; but for something that all classes share.
        """
        return np.asarray(cv2.log(np.maximum(values[..., :classes], SCORE_FLOOR)))

    def features(self, pooled: NDArray[np.float32], shapes: Callable[[], Shapes]) -> NDArray[np.float32]:
        """Features float32[n, dimensions] of a layer's regions from what was pooled of the map.

        shapes: gives the regions' shapes when called; a set that calls it names SHAPES among its `needs`.
        """
        return pooled

    @property
    def is_strided(self) -> bool:
        """Whether the map has one cell for each block of its stride."""
        return self.stride != 0

    def extraction_pixels(self, rect: Rect, frame: tuple[int, int]) -> int:
        """The size of extracting `rect` of a frame of (height, width), as the cost model counts it."""
        return rect.area

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
    """To be raised by whoever changes what the same arrays give."""


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
        own = {
            key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")
        }
        try:
            bank[name] = feature_set_class(name).from_arrays(own)
        except TypeError as error:
            raise ModelError(
                f"the arrays of feature set '{name}' do not fit this version: {error}"
            ) from error
    return bank
