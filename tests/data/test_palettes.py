"""Colours of classes can be told apart, in every model that ships and however many there are."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from anyscene.data.palettes import FAR_ENOUGH, distinct_colors, told_apart
from anyscene.engine.loading import drawn_classes, find_model, shipped_models
from anyscene.modelfile import load_model


def least_distance(palette):
    """Between any two colours, and from black, which is void."""
    with_void = np.vstack([palette, [(0, 0, 0)]]).astype(np.float32) / 255
    lab = cv2.cvtColor(with_void[None], cv2.COLOR_RGB2LAB)[0]
    distances = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    return distances[~np.eye(len(lab), dtype=bool)].min()


@pytest.mark.parametrize("name", sorted(shipped_models()))
def test_classes_of_shipped_models(name):
    assert least_distance(drawn_classes(load_model(find_model(name))).palette) >= FAR_ENOUGH >= 20


@pytest.mark.parametrize("count", [1, 11, 33, 60])
def test_made_colours(count):
    assert least_distance(distinct_colors(count)) >= FAR_ENOUGH


def test_the_first_colours_do_not_depend_on_the_count():
    np.testing.assert_array_equal(distinct_colors(50)[:20], distinct_colors(20))


def test_colours_that_are_far_apart_are_kept():
    palette = np.array([(128, 128, 128), (128, 64, 128), (60, 40, 222)], np.uint8)
    np.testing.assert_array_equal(told_apart(palette), palette)


@given(arrays(np.uint8, st.tuples(st.integers(1, 30), st.just(3))))
def test_any_palette_becomes_one_that_can_be_told_apart(palette):
    assert least_distance(told_apart(palette)) >= FAR_ENOUGH * 0.9
