import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyscene.hierarchy.totals import totals_of_layers


@given(st.integers(0, 2**32 - 1))
def test_every_layer_holds_what_its_regions_hold(seed):
    random = np.random.default_rng(seed)
    parents = [np.zeros(1, np.int32), random.integers(0, 1, 4).astype(np.int32)]
    parents.append(np.sort(random.integers(0, 4, 9)).astype(np.int32))
    finest = random.integers(0, 50, (9, 3))
    layers = totals_of_layers(finest, parents)
    assert [len(layer) for layer in layers] == [1, 4, 9]
    for layer in layers:
        np.testing.assert_array_equal(layer.sum(axis=0), finest.sum(axis=0))
    for region in range(4):
        np.testing.assert_array_equal(layers[1][region], finest[parents[2] == region].sum(axis=0))
