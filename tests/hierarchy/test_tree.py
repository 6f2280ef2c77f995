"""What holds for every tree: layers tile, nest, stay as they are, and come in a useful ladder."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from anyscene.errors import ConfigError
from anyscene.hierarchy import LAYERS, Tree, pixel_kernels, region_kernels, warm_up, working_frame
from anyscene.hierarchy import tree as tree_module
from anyscene.hierarchy.pyramid import halve
from tests.hierarchy.images import images, make_image, natural_image

depths = st.integers(1, LAYERS)


def grown(image, depth=LAYERS):
    tree = Tree(image)
    tree.grow(depth)
    return tree


def frame_map(tree, layer):
    """A layer drawn at the size of the image."""
    stride, (height, width) = tree.strides[layer], tree.size
    return tree.region_map(layer).repeat(stride, 0).repeat(stride, 1)[:height, :width]


@given(images, depths)
@settings(max_examples=60)
def test_every_layer_tiles_the_image_and_nests_in_the_one_above(image, depth):
    tree = grown(image, depth)
    assert tree.depth == depth == len(tree.parents) == len(tree.areas) == len(tree.boxes)
    above = np.zeros(image.shape[:2], np.int32)
    for layer in range(depth):
        regions = frame_map(tree, layer)
        count = len(tree.parents[layer])
        assert np.array_equal(np.unique(regions), np.arange(count))
        assert np.array_equal(tree.parents[layer][regions], above)
        above = regions


@given(images, depths)
@settings(max_examples=40)
def test_areas_and_boxes_are_those_of_the_regions(image, depth):
    tree = grown(image, depth)
    for layer in range(depth):
        regions = frame_map(tree, layer)
        assert np.array_equal(tree.areas[layer], np.bincount(regions.ravel()))
        assert tree.areas[layer].sum() == image.shape[0] * image.shape[1]
        boxes = [
            (rows.start, columns.start, rows.stop, columns.stop)
            for rows, columns in ndimage.find_objects(regions + 1)
        ]
        assert np.array_equal(tree.boxes[layer], boxes)


@given(images, depths)
@settings(max_examples=40)
def test_finest_regions_are_4_connected(image, depth):
    tree = grown(image, depth)
    assert tree.pixels.shape == tuple(-(-side // tree.stride) for side in tree.size)
    for region, place in enumerate(ndimage.find_objects(tree.pixels + 1)):
        assert ndimage.label(tree.pixels[place] == region)[1] == 1


@given(images, st.lists(depths, min_size=1, max_size=4))
@settings(max_examples=40)
def test_a_layer_is_the_same_however_the_tree_was_grown(image, steps):
    tree = Tree(image)
    handed_out = {}
    for depth in steps:
        tree.grow(depth)
        for layer in range(tree.depth):
            handed_out.setdefault(layer, (tree.region_map(layer), tree.parents[layer], tree.boxes[layer]))
    full = grown(image)
    for layer, (regions, parents, boxes) in handed_out.items():
        assert np.array_equal(regions, full.region_map(layer))
        assert np.array_equal(parents, full.parents[layer])
        assert np.array_equal(boxes, full.boxes[layer])


@given(images)
@settings(max_examples=20)
def test_the_same_image_gives_the_same_tree(image):
    one, other = grown(image), grown(image.copy())
    assert np.array_equal(one.pixels, other.pixels)
    assert all(map(np.array_equal, one.parents, other.parents))


@given(images)
@settings(max_examples=40)
def test_layers_shrink_towards_the_root_and_regions_are_numbered_in_raster_order(image):
    tree = grown(image)
    counts = [len(areas) for areas in tree.areas]
    assert counts[0] == 1
    assert counts == sorted(counts)
    for layer in range(LAYERS):
        _, firsts = np.unique(tree.region_map(layer), return_index=True)
        assert np.array_equal(firsts, np.sort(firsts))


def test_counts_form_the_ladder_on_a_photograph():
    image = natural_image()
    assert [len(areas) for areas in grown(image[:360, :480]).areas] == [1, 4, 12, 35, 100, 300, 800, 2000]
    small = [len(areas) for areas in grown(image[200:320, 200:360]).areas]
    assert all(many >= 1.5 * few for few, many in pairwise(small))
    assert small[-1] == pytest.approx(2000 / 9, rel=0.01)


def test_a_flat_image_is_one_region_at_every_layer():
    assert [len(areas) for areas in grown(make_image(1, 0, 360, 480)).areas] == [1] * LAYERS


def test_few_flat_areas_are_found_exactly():
    names = np.zeros((360, 480), np.int32)
    names[:, 160:] = 1
    names[200:, 160:] = 2
    colors = np.array([[0, 0, 0], [90, 90, 90], [10, 200, 30]], np.uint8)
    tree = grown(colors[names])
    assert [len(areas) for areas in tree.areas] == [1] + [3] * (LAYERS - 1)
    assert np.array_equal(frame_map(tree, LAYERS - 1), names)


def test_a_coarse_layer_computes_no_finer_level(monkeypatch):
    strides, counts = [], []
    make_level, cut = tree_module.make_level, tree_module.region_kernels.cut
    monkeypatch.setattr(tree_module, "make_level", lambda *a: strides.append(a[1]) or make_level(*a))
    monkeypatch.setattr(
        tree_module.region_kernels, "cut", lambda *a: counts.append(len(a[2]) - a[1]) or cut(*a)
    )
    tree = Tree(natural_image()[:360, :480])
    assert (strides, counts) == ([], [])
    tree.grow(4)
    assert (strides, counts) == ([8], [4, 12, 35])
    tree.grow(3)
    tree.grow(6)
    assert (strides, counts) == ([8, 4], [4, 12, 35, 100, 300])
    tree.grow(7)
    assert (strides, counts) == ([8, 4], [4, 12, 35, 100, 300, 800])
    tree.grow(8)
    assert (strides, counts) == ([8, 4, 2], [4, 12, 35, 100, 300, 800, 2000])


def test_bands_of_a_large_image_change_nothing():
    image = np.tile(natural_image()[:360, :480], (3, 3, 1))
    tree = grown(image)
    assert tree.stride == 2
    assert tree.pixels.size > 3 * pixel_kernels.BAND
    step = tree.strides[6] // tree.strides[7]
    above = tree.region_map(6)
    image = halve(image)
    right, down = pixel_kernels.edge_weights(image, above, step)
    banded = pixel_kernels.sort_edges(right, down, above, step, int(above.max()) + 1)
    whole = pixel_kernels.sort_edges(right, down, np.zeros((1, 1), np.int32), max(image.shape), 1)
    assert not np.array_equal(banded[0], whole[0])
    roots = [pixel_kernels.merge_pixels(*edges, right.shape, 40.0, 4) for edges in (banded, whole)]
    maps = [pixel_kernels.number_regions(root, right.shape, above, step)[0] for root in roots]
    assert np.array_equal(*maps)


@pytest.mark.parametrize("size", [(1, 1), (40, 50), (360, 480)])
def test_nothing_is_compiled_after_the_warm_up(size):
    warm_up()
    kernels = [
        kernel
        for module in (pixel_kernels, region_kernels)
        for kernel in vars(module).values()
        if hasattr(kernel, "signatures")
    ]
    before = [len(kernel.signatures) for kernel in kernels]
    image = make_image(2, 7, *size)
    image.flags.writeable = False
    grown(image)
    assert [len(kernel.signatures) for kernel in kernels] == before


def test_what_a_tree_hands_out_cannot_be_changed():
    tree = grown(natural_image()[:100, :100])
    for array in (tree.pixels, tree.parents[3], tree.areas[3], tree.boxes[3]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    "image", [np.zeros((4, 4)), np.zeros((4, 4), np.uint8), np.zeros((0, 4, 3), np.uint8)]
)
def test_what_is_not_an_image_is_refused(image):
    with pytest.raises(ConfigError, match=r"needs an image uint8\[h, w, 3\]"):
        Tree(image)


@pytest.mark.parametrize("depth", [0, LAYERS + 1])
def test_a_depth_that_no_tree_has_is_refused(depth):
    with pytest.raises(ConfigError, match="between 1 and 8"):
        Tree(np.zeros((4, 4, 3), np.uint8)).grow(depth)


def test_the_working_frame_shrinks_large_images_only():
    image = natural_image()
    assert working_frame(image).shape == (320, 480, 3)
    assert working_frame(image.transpose(1, 0, 2).copy()).shape == (480, 320, 3)
    assert working_frame(image[:300, :400]).shape == (300, 400, 3)
    assert working_frame(np.zeros((2, 4000, 3), np.uint8)).shape == (1, 480, 3)
