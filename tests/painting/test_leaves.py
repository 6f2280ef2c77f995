"""Every pixel gets the value of its leaf, at any size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.engine.evidence import LazyEvidence
from anyscene.hierarchy import Tree
from anyscene.painting.leaves import Painter, paint_finest, repeated
from tests.painting.worlds import noise, opened


def paint_slowly(evidence, leaves, values, size):
    """Look up each pixel's region on each leaf's own layer."""
    tree, nodes = evidence.tree, evidence.nodes(0)
    out = np.zeros(size, values.dtype)
    for y in range(size[0]):
        for x in range(size[1]):
            top = int((y + 0.5) * tree.size[0] / size[0])
            left = int((x + 0.5) * tree.size[1] / size[1])
            for layer in range(tree.depth):
                stride = tree.strides[layer]
                node = nodes.start[layer] + tree.region_map(layer)[top // stride, left // stride]
                if node in leaves:
                    out[y, x] = values[list(leaves).index(node)]
    return out


@pytest.mark.parametrize("size", [(24, 32), (48, 64), (17, 5), (1, 1), (100, 40)])
def test_pixels_get_the_value_of_their_leaf(size):
    evidence = LazyEvidence(noise(24, 32), {})
    state = opened(evidence, (-1.0, 0.5, 0.8))
    values = np.arange(len(state.leaves), dtype=np.int16)
    painted = Painter(evidence.tree, evidence.nodes(0), state.leaves, size)(values)
    np.testing.assert_array_equal(painted, paint_slowly(evidence, state.leaves, values, size))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 90), st.integers(1, 90))
def test_enlarged_values_are_those_under_the_centres_of_pixels(height, width, tall, wide):
    values = np.random.default_rng(0).integers(0, 100, (height, width)).astype(np.int16)
    rows = ((np.arange(tall) + 0.5) * height / tall).astype(int)
    columns = ((np.arange(wide) + 0.5) * width / wide).astype(int)
    np.testing.assert_array_equal(repeated(values, (tall, wide)), values[np.ix_(rows, columns)])


def test_painting_gives_every_pixel_the_value_of_its_finest_region():
    tree = Tree(noise(61, 83))
    tree.grow(5)
    labels = np.random.default_rng(0).integers(9, size=len(tree.areas[-1]), dtype=np.int16)
    painted = paint_finest(labels, tree)
    y, x = np.indices((61, 83))
    np.testing.assert_array_equal(painted, labels[tree.pixels[y // tree.stride, x // tree.stride]])
