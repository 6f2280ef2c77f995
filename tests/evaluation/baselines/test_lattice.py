"""The permutohedral lattice against Gaussian kernels written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyscene.errors import ConfigError
from anyscene.evaluation.baselines import lattice_kernels as kernels
from anyscene.evaluation.baselines.lattice import Lattice, make_lattice


def points(seed: int, count: int, dimensions: int, spread: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, spread, (count, dimensions)).astype(np.float32)


def as_matrix(lattice: Lattice, count: int) -> np.ndarray:
    """The filter as a matrix, column by column."""
    columns = -(-count // kernels.LANES)
    values = np.eye(count, columns * kernels.LANES, dtype=np.float32).reshape(count, columns, kernels.LANES)
    out = np.zeros_like(values)
    lattice.add_filtered(values, 1.0, out)
    return out.reshape(count, -1)[:, :count]


def normalised_gaussian(features: np.ndarray) -> np.ndarray:
    gaussian = np.exp(-0.5 * ((features[:, None] - features[None]) ** 2).sum(axis=2))
    scale = 1 / np.sqrt(gaussian.sum(axis=1))
    return scale[:, None] * gaussian * scale


def naive_splat(values, vertex, weight, count):
    lattice = np.zeros((count + 1, *values.shape[1:]), np.float32)
    for corner in range(vertex.shape[1]):
        np.add.at(lattice, vertex[:, corner], weight[:, corner, None, None] * values)
    return lattice


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 5]), st.sampled_from([0.5, 5.0, 60.0]))
def test_every_point_is_a_convex_mixture_of_its_corners(seed, dimensions, spread):
    features = points(seed, 50, dimensions, spread)
    bits = 60 // dimensions
    scale = tuple(np.ones(dimensions, np.float32))
    vertex, weight, keys = kernels.build(features, scale, bits)
    np.testing.assert_allclose(weight.sum(axis=1), 1, atol=1e-4)
    assert weight.min() > -1e-4
    assert len(np.unique(keys)) == len(keys)
    assert set(np.unique(vertex)) == set(range(len(keys)))
    # Unpack the corners: their mixture is the point, mapped onto the lattice's hyperplane.
    offset = 1 << (bits - 1)
    corners = np.stack(
        [((keys >> (bits * i)) & ((1 << bits) - 1)) - offset for i in range(dimensions)], axis=1
    )
    mixture = (weight[..., None] * corners[vertex]).sum(axis=1)
    elevated = np.stack(
        [features[:, i:].sum(axis=1) - (i * features[:, i - 1] if i else 0) for i in range(dimensions)],
        axis=1,
    )
    np.testing.assert_allclose(mixture, elevated, atol=1e-3 * spread + 1e-3)


def test_kernels_agree_with_plain_numpy():
    random = np.random.default_rng(0)
    features = points(1, 80, 5)
    vertex, weight, keys = kernels.build(features, tuple(np.ones(5, np.float32)), 12)
    neighbour = kernels.neighbours(keys, 5, 12)
    values = random.random((80, 2, kernels.LANES), dtype=np.float32)
    lattice = np.empty((len(keys) + 1, 2, kernels.LANES), np.float32)
    kernels.splat(values, vertex, weight, lattice)
    expected = naive_splat(values, vertex, weight, len(keys))
    np.testing.assert_allclose(lattice, expected, rtol=1e-5, atol=1e-6)
    for direction in neighbour:
        expected[:-1] += 0.5 * (expected[direction[:, 0]] + expected[direction[:, 1]])
    blurred = kernels.blur(lattice, np.empty_like(lattice), neighbour)
    np.testing.assert_allclose(blurred, expected, rtol=1e-4)
    out = np.ones_like(values)
    kernels.add_slice(blurred, vertex, weight, 2.0, out)
    sliced = (weight[..., None, None] * expected[vertex]).sum(axis=1)
    np.testing.assert_allclose(out, 1 + 2 * sliced, rtol=1e-4)


def test_neighbours_see_each_other():
    _, _, keys = kernels.build(points(2, 200, 2, 10.0), tuple(np.ones(2, np.float32)), 30)
    neighbour = kernels.neighbours(keys, 2, 30)
    for before, after in neighbour.transpose(0, 2, 1):
        there = np.flatnonzero(after < len(keys))
        np.testing.assert_array_equal(before[after[there]], there)


@pytest.mark.parametrize(("dimensions", "spread"), [(2, 4.0), (5, 2.0)])
def test_the_filter_is_near_the_exact_gaussian(dimensions, spread):
    features = points(3, 300, dimensions, spread)
    found = as_matrix(make_lattice(features), 300)
    exact = normalised_gaussian(features.astype(np.float64))
    assert found.min() >= -1e-6
    assert np.abs(found - found.T).mean() < 0.1 * found.mean()
    values = np.random.default_rng(4).random(300)
    error = np.abs(found @ values - exact @ values)
    assert error.mean() < 0.05 * np.abs(exact @ values).mean()


def test_many_vertices_make_the_table_grow():
    features = points(5, 3000, 2, 2000.0)
    vertex, _, keys = kernels.build(features, tuple(np.ones(2, np.float32)), 30)
    assert len(keys) > 1 << 12
    assert vertex.max() == len(keys) - 1


def test_too_fine_a_kernel_gets_one_clear_sentence():
    with pytest.raises(ConfigError, match="wider kernel"):
        make_lattice(np.full((2, 5), 1e4, np.float32))
