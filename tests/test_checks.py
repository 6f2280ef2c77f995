"""Checks of arrays from files: kind, shape and every number."""

import numpy as np
import pytest

from anyscene.checks import check_array, check_keys, check_names


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), "holds float64"),
        (np.zeros((3, 1), np.float32), "has the shape"),
        (np.zeros(4, np.float32), "has the shape"),
        (np.array([0, np.nan, 1], np.float32), "beyond"),
        (np.array([0, np.inf, 1], np.float32), "beyond"),
        (np.array([0, -1, 1], np.float32), "beyond"),
        (np.array([0, 2, 1], np.float32), "beyond"),
    ],
)
def test_an_array_of_another_kind_is_refused(array, words):
    with pytest.raises(ValueError, match=words):
        check_array("it", array, np.float32, (3,), 0, 1)


def test_an_array_as_it_should_be_passes():
    check_array("it", np.array([0, 0.5, 1], np.float32), np.float32, (None,), 0, 1)
    check_array("it", np.zeros((0, 4), np.int32), np.int32, (None, 4), 0, -1)
    check_array("it", np.array([-np.inf, np.inf]), np.float64, (2,), infinite=True)
    with pytest.raises(ValueError, match="beyond"):
        check_array("it", np.array([np.nan]), np.float64, (1,), infinite=True)


def test_truth_values_are_nought_or_one():
    check_array("it", np.array([True, False]), np.bool_, (2,))
    with pytest.raises(ValueError, match="beyond"):
        check_array("it", np.array([2, 0], np.uint8).view(np.bool_), np.bool_, (2,))


@pytest.mark.parametrize("names", [("a", "a"), ("",), ("a\x1b[2J",), ("x" * 201,), ("\ud800",), ("a\nb",)])
def test_names_that_cannot_be_told_apart_or_printed_are_refused(names):
    with pytest.raises(ValueError, match="name"):
        check_names("classes", names)
    check_names("classes", ("sky", "Straße 2", "道"))


def test_keys_are_exactly_those_wanted():
    check_keys("it", {"a": 1}, ["a"])
    for found in ({}, {"a": 1, "b": 2}):
        with pytest.raises(ValueError, match="it"):
            check_keys("it", found, ["a"])
