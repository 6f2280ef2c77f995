import numpy as np
import pytest

from anyscene.data import open as open_data
from anyscene.errors import ConfigError
from benchmarks import tree
from benchmarks.figures import Request


def test_the_bench_needs_data():
    with pytest.raises(ConfigError, match="--data"):
        list(tree.run(Request()))


def test_the_best_label_of_each_region_is_counted():
    regions = np.array([[0, 0, 1], [0, 2, 2]], np.int32)
    truth = np.array([[0, 1, 1], [0, -1, -1]], np.int16)
    counts = np.zeros((2, 3), np.int64)
    tree._add_best(counts, regions, truth)
    assert counts.tolist() == [[2, 0, 0], [1, 1, 0]]


def test_the_scale_search_finds_the_number_of_regions():
    pytest.importorskip("skimage")
    image = open_data("streets:3?size=96x72").split("all").image(0)
    for count in (10, 60):
        _, regions = tree._ScaleSearch()(image, count)
        assert regions.max() + 1 == pytest.approx(count, rel=0.2)


def test_time_and_memory_are_measured_on_a_mosaic_of_the_scenes():
    tiles, mosaic = tree._mosaic(open_data("streets:4?size=96x72").split("all"))
    assert len(tiles) == 100
    assert mosaic.shape == (2740, 3650, 3)
    assert np.array_equal(mosaic[274:548, 365:730], tiles[11])
