"""What full-cost baselines look at: one image's whole tree with all features, and its truth to learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features import Bank, RegionFeatures
from anyscene.hierarchy import LAYERS, Tree
from anyscene.hierarchy.totals import totals_of_layers
from anyscene.painting.leaves import paint_finest


@dataclass(frozen=True, eq=False)
class ImageEvidence:
    """One image with its tree fully grown and all its features.

    image : uint8[h, w, 3], the working frame.
    regions : int32[h, w], the finest region of every pixel.
    parents : for each layer, from the whole image to the finest, int32[n_k]: the region of the layer above;
        parents[0] is [0].
    features : for each layer float32[n_k, D], the same columns on all layers.
    widths : how many of the columns each feature set has, in their order.
    opinions : the sets whose columns are class probabilities.
    """

    image: NDArray[np.uint8]
    regions: NDArray[np.int32]
    parents: tuple[NDArray[np.int32], ...]
    features: tuple[NDArray[np.float32], ...]
    widths: Mapping[str, int]
    opinions: tuple[str, ...] = ()

    def opinions_among(self, names: Sequence[str]) -> tuple[int, ...]:
        """The first column of each set of class probabilities, among the columns of some feature sets."""
        ends = np.cumsum([self.widths[name] for name in names]).tolist()
        return tuple(
            end - self.widths[name] for name, end in zip(names, ends, strict=True) if name in self.opinions
        )

    def columns(self, names: Sequence[str]) -> NDArray[np.float32]:
        """What these feature sets say of the finest regions, float32[n, D'], in this order."""
        ends = dict(zip(self.widths, np.cumsum(list(self.widths.values())).tolist(), strict=True))
        return np.concatenate(
            [self.features[-1][:, ends[name] - self.widths[name] : ends[name]] for name in names], axis=1
        )

    def ancestors(self, layer: int) -> NDArray[np.int32]:
        """The region of a layer that each finest region lies in, int32[n]."""
        names = np.arange(len(self.parents[-1]), dtype=np.int32)
        for finer in range(len(self.parents) - 1, layer, -1):
            names = self.parents[finer][names]
        return names


@dataclass(frozen=True, eq=False)
class LabeledImage:
    """Evidence to learn from.

    truth : int16[h, w] at the frame's size, VOID where unknown.
    fold : which part of the training images this one belongs to, counted from 0. Images that look alike
        (a drive's) must share a fold: what learns from a classifier's output on an image uses one that
        never saw the image's fold.
    """

    evidence: ImageEvidence
    truth: NDArray[np.int16]
    fold: int

    def counts(self, classes: int) -> list[NDArray[np.int64]]:
        """Labeled pixels by region and class, int64[n_k, C] for each layer."""
        parents = self.evidence.parents
        known = self.truth >= 0
        flat = self.evidence.regions[known].astype(np.int64) * classes + self.truth[known]
        finest = np.bincount(flat, minlength=len(parents[-1]) * classes).reshape(-1, classes)
        return totals_of_layers(finest, parents)


Images = Sequence[LabeledImage]


@dataclass(frozen=True, eq=False)
class RegionSummary:
    """Where finest regions lie and what they look like, on average.

    position : float32[n, 2], x and y in pixels. color : float32[n, 3], RGB. area : float32[n], pixels.
    """

    position: NDArray[np.float32]
    color: NDArray[np.float32]
    area: NDArray[np.float32]


def summarise(evidence: ImageEvidence) -> RegionSummary:
    """Average position and colour over the finest regions."""
    regions = evidence.regions.ravel()
    count = len(evidence.parents[-1])
    area = np.maximum(np.bincount(regions, minlength=count), 1)
    rows, columns = np.indices(evidence.regions.shape, dtype=np.float32)
    channels = [columns, rows, *cv2.split(evidence.image)]
    means = [np.bincount(regions, channel.ravel(), count) / area for channel in channels]
    table = np.stack(means, axis=1).astype(np.float32)
    return RegionSummary(table[:, :2].copy(), table[:, 2:].copy(), area.astype(np.float32))


def gather(
    features: RegionFeatures, names: Sequence[str], classes: int, finest_only: bool = False
) -> ImageEvidence:
    """Grow the whole tree and compute the named feature sets on all its layers, or on the finest alone."""
    tree = features.layers.tree
    tree.grow(LAYERS)
    tables: list[dict[str, NDArray[np.float32]]] = []
    for layer in range(LAYERS):
        wanted = names if layer == LAYERS - 1 or not finest_only else ()
        tables.append({name: features.features(name, layer) for name in wanted})
    return assemble(features.view.image, tree, features.bank, tables, classes)


def assemble(
    frame: NDArray[np.uint8],
    tree: Tree,
    bank: Bank,
    tables: Sequence[Mapping[str, NDArray[np.float32]]],
    classes: int,
) -> ImageEvidence:
    """Put together what is known of an image.

    tables : for each layer, float32[n_k, D] by feature set. Of sets that give class probabilities, only these
    are kept. The embedding behind them differs between networks that were fitted to different halves, so
    nothing can be learned from it across them.
    """
    names = tuple(tables[-1])
    opinions = tuple(name for name in names if bank[name].speaks_of_classes)
    kept = [
        {name: table[:, :classes] if name in opinions else table for name, table in layer.items()}
        for layer in tables
    ]
    numbers = np.arange(len(tree.areas[-1]), dtype=np.int32)
    return ImageEvidence(
        frame,
        np.ascontiguousarray(paint_finest(numbers, tree)),
        tuple(tree.parents),
        tuple(
            np.concatenate([np.zeros((len(parents), 0), np.float32), *layer.values()], axis=1)
            for parents, layer in zip(tree.parents, kept, strict=True)
        ),
        {name: kept[-1][name].shape[1] for name in names},
        opinions,
    )
