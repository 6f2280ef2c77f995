import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.hierarchy.scales import layer_strides, region_counts


@pytest.mark.parametrize(
    ("pixels", "strides"),
    [
        (480 * 360, (8, 8, 8, 8, 4, 4, 4, 2)),
        (320 * 240, (4, 4, 4, 4, 4, 4, 4, 2)),
        (1, (1,) * 8),
        (10_000_000, (32, 32, 32, 32, 16, 8, 4, 2)),
    ],
)
def test_strides_suit_the_counts(pixels, strides):
    assert layer_strides(pixels) == strides


@given(st.integers(1, 10**8))
def test_scales_are_monotone_at_any_size(pixels):
    counts, strides = region_counts(pixels), layer_strides(pixels)
    assert counts[0] == 1
    assert list(counts) == sorted(counts)
    assert list(strides) == sorted(strides, reverse=True)
