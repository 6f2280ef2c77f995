"""Each kernel against a plain twin, and pixel merging against an obvious implementation of the paper's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyscene.hierarchy import pixel_kernels, region_kernels
from anyscene.hierarchy.pixel_kernels import OUTLINE, STEPS
from anyscene.hierarchy.pyramid import halve
from tests.hierarchy.images import images, make_image, natural_image

small_images = images.map(lambda image: np.ascontiguousarray(image[:24, :24]))


def raster_numbers(names):
    """Rename sets in the raster order of their first pixels."""
    _, firsts, inverse = np.unique(names.ravel(), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(firsts))[inverse].reshape(names.shape)


def blocks(random, shape, step):
    """A layer above: some regions on a grid `step` times coarser, numbered in raster order."""
    return raster_numbers(random.integers(0, 4, [-(-side // step) for side in shape])).astype(np.int32)


# Felzenszwalb and Huttenlocher, as obviously and as slowly as possible.


def exact_edges(image):
    """(weight, number, pixel, pixel) of all edges, lightest first, ties by number."""
    h, w, _ = image.shape
    colors = image.reshape(-1, 3).astype(np.float64)
    joins = [
        (2 * (y * w + x) + direction, y * w + x, y * w + x + (w if direction else 1))
        for y in range(h)
        for x in range(w)
        for direction in range(2)
        if (y + 1 < h if direction else x + 1 < w)
    ]
    weights = [np.float32(np.linalg.norm(colors[p] - colors[q])) for _, p, q in joins]
    return sorted((weight, *join) for weight, join in zip(weights, joins, strict=True))


def slow_merging(image, k, smallest):
    """Components as sets of pixels, internal differences as the paper defines them."""
    component = {pixel: frozenset([pixel]) for pixel in range(image.shape[0] * image.shape[1])}
    internal = dict.fromkeys(component.values(), np.float32(0))
    edges = exact_edges(image)

    def join(p, q, weight):
        merged = component[p] | component[q]
        internal[merged] = weight
        component.update(dict.fromkeys(merged, merged))

    for weight, _, p, q in edges:
        a, b = component[p], component[q]
        if a is not b and all(weight <= np.float32(internal[c] + k / len(c)) for c in (a, b)):
            join(p, q, weight)
    for weight, _, p, q in edges:
        a, b = component[p], component[q]
        if a is not b and min(len(a), len(b)) < smallest:
            join(p, q, weight)
    return raster_numbers(np.array([min(component[p]) for p in component]).reshape(image.shape[:2]))


def exact_merging(image, k, smallest):
    """Our kernel on the same exact weights."""
    edges = exact_edges(image)
    numbers = np.array([edge[1] for edge in edges], np.uint32)
    weights = np.array([edge[0] for edge in edges], np.float32)
    root = pixel_kernels.merge_pixels(numbers, weights, image.shape[:2], k, smallest)
    return pixel_kernels.number_regions(root, image.shape[:2], np.zeros((1, 1), np.int32), 1000)[0]


@given(small_images, st.sampled_from([1.0, 30.0, 300.0, 5000.0]), st.integers(0, 6))
@settings(max_examples=40)
def test_merging_equals_an_obvious_implementation(image, k, smallest):
    assert np.array_equal(exact_merging(image, k, smallest), slow_merging(image, k, smallest))


@pytest.mark.parametrize("corner", [(100, 200), (250, 300), (380, 580)])
@pytest.mark.parametrize(("k", "smallest"), [(20.0, 0), (150.0, 4), (1000.0, 20)])
def test_merging_equals_an_obvious_implementation_on_photographs(corner, k, smallest):
    y, x = corner
    image = natural_image()[y : y + 40, x : x + 40]
    ours = exact_merging(image, k, smallest)
    assert np.array_equal(ours, slow_merging(image, k, smallest))
    assert 1 < ours.max() < 1000


# Twins.


@given(small_images, st.integers(1, 3), st.integers(0, 99))
def test_edge_weights(image, step, seed):
    above = blocks(np.random.default_rng(seed), image.shape[:2], step)
    frame = above.repeat(step, 0).repeat(step, 1)[: image.shape[0], : image.shape[1]]
    colors = image.astype(np.float32)
    for axis, weights in zip((1, 0), pixel_kernels.edge_weights(image, above, step), strict=True):
        distance = np.sqrt((np.diff(colors, axis=axis) ** 2).sum(2))
        expected = np.full(image.shape[:2], OUTLINE, np.uint8)
        inner = expected[:, :-1] if axis else expected[:-1]
        quantised = np.minimum(distance * STEPS + np.float32(0.5), OUTLINE - 1).astype(np.uint8)
        inner[:] = np.where(np.diff(frame, axis=axis) != 0, OUTLINE, quantised)
        assert np.array_equal(weights, expected)


@given(small_images, st.integers(1, 3), st.integers(0, 99))
def test_sort_edges(image, step, seed):
    above = blocks(np.random.default_rng(seed), image.shape[:2], step)
    right, down = pixel_kernels.edge_weights(image, above, step)
    edges, weights = pixel_kernels.sort_edges(right, down, above, step, int(above.max()) + 1)
    both = np.stack([right, down], axis=2).ravel()
    order = np.argsort(both, kind="stable")[: np.count_nonzero(both != OUTLINE)]
    assert np.array_equal(edges, order)
    assert np.array_equal(weights, both[order])


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 3), st.integers(0, 99))
def test_number_regions(h, w, step, seed):
    random = np.random.default_rng(seed)
    above = blocks(random, (h, w), step)
    sets = above.repeat(step, 0).repeat(step, 1)[:h, :w] * 3 + random.integers(0, 3, (h, w))
    _, firsts, inverse = np.unique(sets, return_index=True, return_inverse=True)
    roots = firsts[inverse].astype(np.uint32).ravel()
    regions, parents = pixel_kernels.number_regions(roots, (h, w), above, step)
    assert np.array_equal(regions, raster_numbers(sets))
    y, x = np.divmod(np.sort(firsts), w)
    assert np.array_equal(parents, above[y // step, x // step])


@given(small_images, st.integers(1, 4), st.integers(0, 3), st.integers(0, 3))
def test_measure_regions(image, stride, cut_rows, cut_columns):
    h, w = image.shape[:2]
    size = h * stride - min(cut_rows, stride - 1), w * stride - min(cut_columns, stride - 1)
    regions = exact_merging(image, 100.0, 2)
    count = int(regions.max()) + 1
    means, areas, boxes = pixel_kernels.measure_regions(regions, count, image, stride, size)
    frame = regions.repeat(stride, 0).repeat(stride, 1)[: size[0], : size[1]]
    for region in range(count):
        inside = regions == region
        assert means[region, 0] == inside.sum()
        assert means[region, 1:] == pytest.approx(image[inside].mean(0))
        y, x = np.nonzero(frame == region)
        assert areas[region] == len(y)
        assert boxes[region].tolist() == [y.min(), x.min(), y.max() + 1, x.max() + 1]


def slow_graph(regions, right, down):
    """{(low, high): [length, summed contrast]}."""
    found = {}
    for weights, step in ((right, (0, 1)), (down, (1, 0))):
        for y, x in np.argwhere(weights != OUTLINE):
            pair = sorted((int(regions[y, x]), int(regions[y + step[0], x + step[1]])))
            if pair[0] != pair[1]:
                outline = found.setdefault(tuple(pair), [0.0, 0.0])
                outline[0] += 1
                outline[1] += float(weights[y, x]) / STEPS
    return found


def slow_merge_order(graph, means):
    """A nearest-neighbour chain over dictionaries."""
    graph = {pair: list(outline) for pair, outline in graph.items()}
    means = means.copy()
    reached = np.zeros(len(means))
    alive = list(range(len(means)))
    chain, merges = [], []
    while alive:
        if not chain:
            chain = [alive[0]]
        tip = chain[-1]
        offers = [
            (region_kernels.scale.py_func(means, *pair, outline[1] / outline[0]), sum(pair) - tip)
            for pair, outline in graph.items()
            if tip in pair
        ]
        if not offers:
            alive.remove(tip)
            chain = []
            continue
        back = chain[-2] if len(chain) > 1 else None
        least, nearest = min(offers, key=lambda offer: (offer[0], offer[1] != back, offer[1]))
        if nearest not in chain:
            chain.append(nearest)
            continue
        chain = chain[: chain.index(nearest)]
        a, b = sorted((tip, nearest))
        reached[a] = max(least, reached[a], reached[b])
        merges.append((a, b, reached[a]))
        alive.remove(b)
        whole = means[a, 0] + means[b, 0]
        means[a, 1:] = (means[a, 0] * means[a, 1:] + means[b, 0] * means[b, 1:]) / whole
        means[a, 0] = whole
        del graph[a, b]
        for pair in [pair for pair in graph if b in pair]:
            outline = graph.pop(pair)
            kept = graph.setdefault(tuple(sorted((a, sum(pair) - b))), [0.0, 0.0])
            kept[0] += outline[0]
            kept[1] += outline[1]
    return merges


def level_parts(image, seed):
    above = blocks(np.random.default_rng(seed), image.shape[:2], 8)
    right, down = pixel_kernels.edge_weights(image, above, 8)
    edges, weights = pixel_kernels.sort_edges(right, down, above, 8, int(above.max()) + 1)
    root = pixel_kernels.merge_pixels(edges, weights, image.shape[:2], 20.0, 2)
    regions, parents = pixel_kernels.number_regions(root, image.shape[:2], above, 8)
    return regions, len(parents), right, down


@given(small_images, st.integers(0, 99))
def test_region_graph(image, seed):
    regions, count, right, down = level_parts(image, seed)
    pairs, lengths, contrasts = region_kernels.region_graph(regions, count, right, down)
    found = {
        tuple(pair): [length, contrast]
        for pair, length, contrast in zip(pairs.tolist(), lengths, contrasts, strict=True)
    }
    assert found == slow_graph(regions, right, down)


@given(small_images, st.integers(0, 99))
@settings(max_examples=60)
def test_merge_order(image, seed):
    regions, count, right, down = level_parts(image, seed)
    means, _, _ = pixel_kernels.measure_regions(regions, count, image, 1, image.shape[:2])
    expected = slow_merge_order(slow_graph(regions, right, down), means)
    graph = region_kernels.region_graph(regions, count, right, down)
    merges, scales = region_kernels.merge_order(*graph, means)
    assert merges.tolist() == [[a, b] for a, b, _ in expected]
    assert scales.tolist() == [scale for _, _, scale in expected]


def test_merge_order_is_that_of_always_merging_the_closest_pair():
    """Where contrasts are all that counts (equal means), so that no merge brings regions closer."""
    random = np.random.default_rng(3)
    count = 40
    pairs = np.array([(i, j) for i in range(count) for j in range(i + 1, count) if j - i <= 3], np.int32)
    lengths, contrasts = np.ones(len(pairs)), random.random(len(pairs))
    means = np.zeros((count, 4))
    means[:, 0] = random.integers(1, 9, count)
    graph = {tuple(pair): [1.0, c] for pair, c in zip(pairs.tolist(), contrasts, strict=True)}
    sizes, expected = dict(enumerate(means[:, 0])), []
    while graph:
        ranked = {
            pair: (outline[1] / outline[0]) ** 2 / (1 / sizes[pair[0]] + 1 / sizes[pair[1]]) ** 1.5
            for pair, outline in graph.items()
        }
        a, b = min(ranked, key=ranked.get)
        expected.append((a, b))
        sizes[a] += sizes.pop(b)
        del graph[a, b]
        for pair in [pair for pair in graph if b in pair]:
            outline = graph.pop(pair)
            kept = graph.setdefault(tuple(sorted((a, sum(pair) - b))), [0.0, 0.0])
            kept[0] += outline[0]
            kept[1] += outline[1]
    merges, scales = region_kernels.merge_order(pairs, lengths, contrasts, means)
    assert [tuple(merge) for merge in merges[np.argsort(scales, kind="stable")].tolist()] == expected


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.7, 1e-30, 1e9, 2.0**40]), max_size=60))
def test_sort_merges(scales):
    merges = np.arange(2 * len(scales), dtype=np.int32).reshape(-1, 2)
    ordered = region_kernels.sort_merges(merges, np.array(scales, np.float64))
    assert np.array_equal(ordered, merges[np.argsort(np.array(scales), kind="stable")])


@given(st.integers(0, 99), st.integers(1, 30))
def test_cut(seed, count):
    random = np.random.default_rng(seed)
    merges = np.array([sorted((random.integers(0, i), i)) for i in range(1, count)], np.int32).reshape(-1, 2)
    random.shuffle(merges)
    steps = int(random.integers(0, count))
    areas = random.integers(1, 9, count).astype(np.int32)
    corners = random.integers(0, 50, (count, 2))
    boxes = np.hstack([corners, corners + random.integers(1, 9, (count, 2))]).astype(np.int32)
    names, parents, whole, hulls = region_kernels.cut(merges, steps, np.zeros(count, np.int32), areas, boxes)

    sets = np.arange(count)
    for a, b in merges[:steps]:
        sets[sets == sets[b]] = sets[a]
    assert np.array_equal(names, raster_numbers(sets))
    assert parents.tolist() == [0] * (count - steps)
    for region in range(count - steps):
        inside = names == region
        assert whole[region] == areas[inside].sum()
        expected = [*boxes[inside, :2].min(0), *boxes[inside, 2:].max(0)]
        assert hulls[region].tolist() == expected


@pytest.mark.parametrize("size", [(1, 1), (7, 10), (8, 5), (6, 8)])
def test_halve_takes_means_of_blocks_and_repeats_an_odd_border(size):
    image = make_image(0, 5, *size)
    padded = np.pad(image, [(0, size[0] % 2), (0, size[1] % 2), (0, 0)], mode="edge").astype(float)
    means = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2, 3).mean((1, 3))
    assert np.abs(halve(image) - means).max() <= 0.5


@pytest.mark.parametrize("size", [(1, 1), (7, 10), (8, 5), (13, 16)])
def test_quarter_takes_means_of_blocks_and_repeats_the_border(size):
    image = make_image(0, 5, *size)
    padded = np.pad(image, [(0, -size[0] % 4), (0, -size[1] % 4), (0, 0)], mode="edge").astype(float)
    means = padded.reshape(padded.shape[0] // 4, 4, padded.shape[1] // 4, 4, 3).mean((1, 3))
    assert np.array_equal(pixel_kernels.quarter(image), np.floor(means + 0.5))
