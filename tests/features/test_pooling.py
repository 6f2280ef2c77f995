"""Pooling against plain numpy twins, on random partitions and maps of any geometry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.features.pooling import Grid, Map, Pooling, pool, sum_up
from anyscene.features.shapes import shape_sums, shapes_from_sums


@st.composite
def grids(draw, strides=(1, 2, 4)):
    """A random partition of a small frame."""
    height, width = draw(st.integers(1, 21)), draw(st.integers(1, 21))
    stride = draw(st.sampled_from(strides))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = -(-height // stride), -(-width // stride)
    regions = draw(st.integers(1, 6))
    return Grid(
        random.integers(regions, size=shape, dtype=np.int32), stride, regions, (height, width)
    ), random


def full_map(grid, step, random, channels=None):
    """A map over the whole frame with a cell for each block of `step`."""
    rows, columns = (-(-side // step) for side in grid.size)
    shape = (rows, columns) if channels is None else (rows, columns, channels)
    return Map(random.integers(0, 8, shape).astype(np.uint8), step)


def region_under(grid, step, y, x):
    return grid.pixels[y * step // grid.stride, x * step // grid.stride]


@pytest.mark.parametrize("pooling", [Pooling.MEAN, Pooling.MOMENTS, Pooling.MARGINALS])
@given(data=st.data())
def test_values_are_pooled_as_a_plain_loop_would(pooling, data):
    grid, random = data.draw(grids())
    step = data.draw(st.sampled_from([s for s in (1, 2, 4) if s <= grid.stride]))
    bytes_map = full_map(grid, step, random, channels=2).values
    values = bytes_map * 36 if pooling is Pooling.MARGINALS else bytes_map.astype(np.float32)
    result = pool(Map(values, step), pooling, 2, grid)
    kept = pooling.finish(result.sums, result.weights)
    members = {region: [] for region in range(grid.regions)}
    for y in range(values.shape[0]):
        for x in range(values.shape[1]):
            members[int(region_under(grid, step, y, x))].append(values[y, x].astype(float))
    for region, own in members.items():
        assert result.weights[region] == len(own)
        if not own:
            assert not kept[region].any()
            continue
        expected = [np.mean(own, axis=0)]
        if pooling is not Pooling.MEAN:
            expected.append(np.std(own, axis=0))
        if pooling is Pooling.MARGINALS:
            bins = np.array(own, int) // 32
            expected += [np.bincount(bins[:, channel], minlength=8) / len(own) for channel in range(2)]
        np.testing.assert_allclose(kept[region], np.concatenate(expected), atol=1e-4)


@given(data=st.data())
def test_words_are_counted_whether_the_map_is_finer_or_coarser_than_the_grid(data):
    grid, random = data.draw(grids())
    step = data.draw(st.sampled_from([1, 2, 4, 8]))
    words = full_map(grid, step, random)
    result = pool(words, Pooling.WORDS, 8, grid)
    expected = np.zeros((grid.regions, 8))
    # Whichever of map and grid is finer is walked through.
    rows, columns = (words.values if step <= grid.stride else grid.pixels).shape
    walked = min(step, grid.stride)
    for y in range(rows):
        for x in range(columns):
            region = grid.pixels[y * walked // grid.stride, x * walked // grid.stride]
            expected[region, words.values[y * walked // step, x * walked // step]] += 1
    np.testing.assert_allclose(result.sums, expected, atol=1e-4)
    np.testing.assert_allclose(result.weights, expected.sum(axis=1), atol=1e-4)


@given(data=st.data(), squares=st.booleans())
def test_smooth_maps_are_sampled_bilinearly_at_every_grid_pixel(data, squares):
    grid, random = data.draw(grids())
    height, width = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    values = random.random((height, width, 3), dtype=np.float32)
    result = pool(Map(values), Pooling.MOMENTS if squares else Pooling.MEAN, 3, grid)
    expected = np.zeros((grid.regions, 6 if squares else 3))
    for row in range(grid.pixels.shape[0]):
        for column in range(grid.pixels.shape[1]):
            y = np.clip((row + 0.5) * grid.stride * height / grid.size[0] - 0.5, 0, height - 1)
            x = np.clip((column + 0.5) * grid.stride * width / grid.size[1] - 0.5, 0, width - 1)
            region = grid.pixels[row, column]
            for corner_y, weight_y in ((int(y), 1 - y % 1), (min(int(y) + 1, height - 1), y % 1)):
                for corner_x, weight_x in ((int(x), 1 - x % 1), (min(int(x) + 1, width - 1), x % 1)):
                    value = values[corner_y, corner_x]
                    both = np.concatenate([value, value**2]) if squares else value
                    expected[region] += weight_y * weight_x * both
    np.testing.assert_allclose(result.sums, expected, atol=1e-3)
    np.testing.assert_allclose(result.weights, np.bincount(grid.pixels.ravel(), minlength=grid.regions))


@given(grids())
def test_sums_of_the_layer_above_are_sums_over_children(case):
    grid, random = case
    rows = random.random((grid.regions, 4))
    parents = random.integers(2, size=grid.regions, dtype=np.int32)
    expected = [rows[parents == parent].sum(axis=0) for parent in range(2)]
    np.testing.assert_allclose(sum_up(rows, parents, 2), expected)


@given(grids())
def test_shapes_are_those_of_the_pixels(case):
    grid, _ = case
    rows, columns = grid.pixels.shape
    boxes = np.zeros((grid.regions, 4), np.int32)
    shapes = shapes_from_sums(shape_sums(grid), boxes, grid.stride, grid.size)
    for region in range(grid.regions):
        y, x = np.nonzero(grid.pixels == region)
        if not len(y):
            continue
        np.testing.assert_allclose(shapes.area[region], len(y) / grid.pixels.size, rtol=1e-5)
        np.testing.assert_allclose(
            shapes.center[region], [(y.mean() + 0.5) / rows, (x.mean() + 0.5) / columns], rtol=1e-5
        )
        spread = np.sqrt(np.array([y.var(), x.var()]) + 1 / 12)
        np.testing.assert_allclose(shapes.pixel_spread[region], spread, rtol=1e-4)
        contact = [
            (y == 0).sum() / columns,
            (y == rows - 1).sum() / columns,
            (x == 0).sum() / rows,
            (x == columns - 1).sum() / rows,
        ]
        np.testing.assert_allclose(shapes.contact[region], contact, rtol=1e-5)
