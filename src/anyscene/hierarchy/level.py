"""One level of the pyramid: small regions by pixel merging, and the order in which they merge further."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy import pixel_kernels, region_kernels

K = 25.0
"""Felzenszwalb and Huttenlocher's k of the pixel merging, in steps of quantised weight. It is small, since no
layer can part what pixel merging joins; layers are cut from the merging of regions that follows."""


@dataclass(frozen=True, eq=False)
class Level:
    """The regions that the layers of one pyramid level are put together from.

    regions : int32[h, w], the region of each pixel of the level, numbered in raster order of first pixels.
    above : int32[n], the region of the layer above that holds each region.
    areas, boxes : int32[n] and int32[n, 4], in pixels of the frame.
    merges : int32[m, 2], pairs of regions in the order in which they merge, never across `above`.
    """

    stride: int
    regions: NDArray[np.int32]
    above: NDArray[np.int32]
    areas: NDArray[np.int32]
    boxes: NDArray[np.int32]
    merges: NDArray[np.int32]


def make_level(
    image: NDArray[np.uint8],
    stride: int,
    size: tuple[int, int],
    above: NDArray[np.int32],
    step: int,
    count: int,
) -> Level:
    """Merge the pixels of a level's image inside the regions of the layer above.

    image : the frame of `size`, shrunk by `stride`.
    above : the layer above, numbered from 0, on a grid that is `step` times coarser than the image.
    count : the number of regions of the level's finest layer.
    """
    pixels = image.shape[0] * image.shape[1]
    # Slivers are far smaller than the layer's regions: 3 to 8 pixels at 480x360.
    smallest = math.isqrt(pixels // count)
    right, down = pixel_kernels.edge_weights(image, above, step)
    edges, weights = pixel_kernels.sort_edges(right, down, above, step, int(above.max()) + 1)
    root = pixel_kernels.merge_pixels(edges, weights, right.shape, K, smallest)
    regions, parents = pixel_kernels.number_regions(root, right.shape, above, step)
    means, areas, boxes = pixel_kernels.measure_regions(regions, len(parents), image, stride, size)
    pairs, lengths, contrasts = region_kernels.region_graph(regions, len(parents), right, down)
    merges, scales = region_kernels.merge_order(pairs, lengths, contrasts, means)
    return Level(stride, regions, parents, areas, boxes, region_kernels.sort_merges(merges, scales))
