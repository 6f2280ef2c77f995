"""Texture-layout filters: what colours and edges lie where around a point, and a classifier on them.

`semantics` and the surface scores of `geometry` are this classifier, taught different classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_array
from anyscene.errors import DataError
from anyscene.features.boosting import Booster, fit_booster
from anyscene.features.layout_kernels import filter_means, integrate
from anyscene.features.view import View, shared_map
from anyscene.named_arrays import Arrays

GRID = 4
"""Frame pixels along a side of the blocks that channels are summed over."""

POINTS = 8
"""Frame pixels between the points that are classified."""

LAB_KNOTS = ((0, 64, 128, 192, 255), (108, 122, 134, 148), (100, 116, 128, 140, 156))
"""Centres of the bins of the soft histograms of L, a and b, in bytes; a and b are 128 for grey."""

DIRECTIONS = 4
CHANNELS = 3 + sum(map(len, LAB_KNOTS)) + 1 + DIRECTIONS

MOST_FILTERS = 10_000
"""Of a classifier; the numbers of all points of an image are gathered for them at once."""

FURTHEST = 10_000
"""Blocks from its point that a filter in a file may reach; those that training draws stay within `REACH`."""

REACH = 28
"""Blocks that the centre of a filter's rectangle may lie from its point: a quarter of a usual frame."""

LONGEST_SIDE = 24
"""Blocks along the longest side of a filter's rectangle."""

POINTS_PER_IMAGE = 160
"""Points of an image that a classifier is fitted to: neighbours tell much the same."""

RAREST = 1e-4
"""Share that every class is taken to have at least when rare classes are weighed up."""

MAPS = ("lab/4", "grey", "gradient", "layout_integral")
"""The shared maps behind the filters."""


@shared_map
def layout_integral(view: View, stride: int) -> NDArray[np.float32]:
    """Integral images of the channels, float32[CHANNELS, h' + 1, w' + 1]; always on blocks of 4 pixels."""
    channels = layout_channels(view)
    integral = np.zeros((channels.shape[2], channels.shape[0] + 1, channels.shape[1] + 1), np.float32)
    integrate(channels, integral)
    return integral


def layout_channels(view: View) -> NDArray[np.float32]:
    """Channels of each block, float32[h', w', CHANNELS], all about 0-1.

    Lab; soft histograms of its channels; the gradient's strength, and what of it runs in four directions.
    """
    lab = view.shared("lab", GRID)
    rows, columns = lab.shape[:2]
    channels = np.empty((rows, columns, CHANNELS), np.float32)
    channels[:, :, :3] = lab * np.float32(1 / 255)
    place = 3
    for channel, knots in enumerate(LAB_KNOTS):
        memberships = [np.interp(np.arange(256), knots, unit) for unit in np.eye(len(knots))]
        table = np.stack(memberships, axis=1).astype(np.float32)
        channels[:, :, place : place + len(knots)] = table[lab[:, :, channel]]
        place += len(knots)
    strength, direction = view.shared("gradient")
    channels[:, :, place] = _block_means(strength, rows, columns)
    # Twice the angle has no ends to wrap at; the positive and negative parts of its cosine and sine are soft
    # bins of direction.
    cosine, sine = cv2.polarToCart(strength, 2 * direction, angleInDegrees=True)
    for number, along in enumerate((cosine, -cosine, sine, -sine)):
        channels[:, :, place + 1 + number] = _block_means(cv2.max(along, 0.0), rows, columns)
    return channels


def gradient_means(view: View) -> NDArray[np.float32]:
    """The gradient of each block of 8 pixels, float32[ceil(h / 8), ceil(w / 8), 3].

    Its mean strength, and the mean of its direction as a vector: twice the angle, as long as the gradient.
    """
    sums = view.shared("layout_integral")[-1 - DIRECTIONS :]
    rows, columns = (_edges(side - 1) for side in sums.shape[1:])
    corners = sums[:, rows[:, None], columns]
    totals = corners[:, 1:, 1:] - corners[:, :-1, 1:] - corners[:, 1:, :-1] + corners[:, :-1, :-1]
    strength, east, west, north, south = totals / np.outer(np.diff(rows), np.diff(columns))
    return np.stack([strength, east - west, north - south], axis=2).astype(np.float32)


def _edges(cells: int) -> NDArray[np.int64]:
    """Where blocks of POINTS pixels begin and end among `cells` blocks of GRID."""
    step = POINTS // GRID
    return np.minimum(np.arange(0, cells + step, step), cells)


def _block_means(values: NDArray[np.float32], rows: int, columns: int) -> NDArray[np.float32]:
    height, width = values.shape
    values = cv2.copyMakeBorder(
        values, 0, rows * GRID - height, 0, columns * GRID - width, cv2.BORDER_REPLICATE
    )
    return np.asarray(cv2.resize(values, (columns, rows), interpolation=cv2.INTER_AREA))


@dataclass(frozen=True, eq=False)
class LayoutClassifier:
    """Class probabilities of points from the filters around them.

    filters: int32[f, 5], see `layout_kernels.filter_means`. booster: on the place (0-1) and filter values.
    """

    filters: NDArray[np.int32]
    booster: Booster

    @property
    def classes(self) -> int:
        """How many classes it tells apart."""
        return len(self.booster.base)

    def classify(self, view: View) -> NDArray[np.float32]:
        """Probabilities float32[ceil(h / 8), ceil(w / 8), classes] at points spread evenly over the frame."""
        height, width = view.size
        rows, columns = -(-height // POINTS), -(-width // POINTS)
        y = (np.arange(rows) + 0.5) * (height / rows)
        x = (np.arange(columns) + 0.5) * (width / columns)
        points = np.stack(np.meshgrid(y, x, indexing="ij"), axis=2).reshape(-1, 2)
        probabilities = self.booster.probabilities(layout_values(view, self.filters, points))
        return probabilities.reshape(rows, columns, self.classes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The classifier as named arrays."""
        return {"filters": self.filters, **self.booster.arrays()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LayoutClassifier:
        """The inverse of `arrays`."""
        filters = arrays["filters"]
        check_array("the filters", filters, np.int32, (None, 5), -FURTHEST, FURTHEST)
        if len(filters) > MOST_FILTERS:
            raise ValueError(f"a classifier looks through {len(filters)} filters")
        check_array("the channels of filters", filters[:, 0], np.int32, (None,), 0, CHANNELS - 1)
        return cls(filters, Booster.from_arrays(arrays, 2 + len(filters)))


def layout_values(view: View, filters: NDArray[np.int32], points: NDArray[np.float64]) -> NDArray[np.float32]:
    """Place and filter values float32[n, 2 + f] of points[n, 2] (y, x in frame pixels)."""
    integral = view.shared("layout_integral")
    values = np.empty((len(points), 2 + len(filters)), np.float32)
    blocks = (points // GRID).astype(np.int32)
    places = (points / np.array(view.size)).astype(np.float32)
    filter_means(integral, filters, blocks[:, 0].copy(), blocks[:, 1].copy(), places, values)
    return values


def draw_filters(count: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Random filters int32[count, 5]: any channel, sides of 1 to 24 blocks, the nearer the likelier."""
    sides = np.exp(rng.uniform(0, np.log(LONGEST_SIDE), (count, 2))).astype(np.int64)
    centers = np.clip(rng.laplace(0, REACH / 4, (count, 2)).round(), -REACH, REACH).astype(np.int64)
    corners = centers - sides // 2
    channel = rng.integers(CHANNELS, size=(count, 1))
    return np.concatenate([channel, corners, corners + sides], axis=1).astype(np.int32)


def fit_layout(
    samples: Iterable[tuple[NDArray[np.uint8], NDArray[np.integer]]],
    classes: int,
    rng: np.random.Generator,
    filters: int,
    trees: int,
    depth: int,
) -> dict[str, NDArray[Any]]:
    """Learn a layout classifier from working frames and their truth of the same size (negative: unknown)."""
    drawn = draw_filters(filters, rng)
    values, labels = [], []
    for image, truth in samples:
        rows, columns = np.nonzero(truth >= 0)
        chosen = rng.permutation(len(rows))[:POINTS_PER_IMAGE]
        points = np.stack([rows[chosen], columns[chosen]], axis=1).astype(np.float64)
        if len(points):
            values.append(layout_values(View(image), drawn, points))
            labels.append(truth[rows[chosen], columns[chosen]])
    if not labels:
        raise DataError("the layout classifier was given no labeled pixel to learn from; give labeled images")
    known = np.concatenate(labels)
    # Without weights rare classes are never predicted; without the root, common ones would hardly be.
    shares = np.bincount(known, minlength=classes) / len(known)
    weights = 1 / np.sqrt(np.maximum(shares[known], RAREST))
    booster = fit_booster(np.concatenate(values), known, weights / weights.mean(), classes, trees, depth, rng)
    return _without_idle_filters(LayoutClassifier(drawn, booster)).arrays()


def _without_idle_filters(classifier: LayoutClassifier) -> LayoutClassifier:
    """Drop the filters that no tree looks at."""
    booster = classifier.booster
    busy = np.isfinite(booster.threshold)
    used = np.unique(booster.feature[busy & (booster.feature >= 2)])
    position = np.zeros(2 + len(classifier.filters), np.int32)
    position[:2] = 0, 1
    position[used] = 2 + np.arange(len(used))
    slimmer = Booster(booster.base, position[booster.feature], booster.threshold, booster.leaf)
    return LayoutClassifier(classifier.filters[used - 2], slimmer)
