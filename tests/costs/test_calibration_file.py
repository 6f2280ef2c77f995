"""Calibrations that are kept: believed only if they are what was written."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.costs.calibration_file import load_calibration, save_calibration
from anyscene.costs.steps import CostModel, StepCost
from anyscene.marks import sealed

KNOWN = CostModel(
    "0123456789abcdef", {"frame": StepCost(0.5, 1e-6, 0.0, 1.2), "paint": StepCost(1.0, 0.0, 2e-4, 1.5)}
)


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("ANYSCENE_CACHE", str(tmp_path))
    return save_calibration(KNOWN)


def test_what_was_kept_comes_back(path):
    assert load_calibration(KNOWN.key) == KNOWN
    assert load_calibration("another") is None


@given(st.data())
def test_a_changed_byte_is_noticed(path, data):
    content = bytearray(save_calibration(KNOWN).read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    assert load_calibration(KNOWN.key) in (None, KNOWN)


def test_a_time_that_is_another_is_noticed_though_it_could_be(path):
    content = path.read_text()
    assert content.count("0.5") == 1
    path.write_text(content.replace("0.5", "0.6"))
    assert load_calibration(KNOWN.key) is None


@pytest.mark.parametrize("ms", [math.nan, math.inf, -1.0, 1e300, "1", None, [], 10**400])
@pytest.mark.parametrize("part", ["fixed", "per_pixel", "per_region", "high"])
def test_times_that_cannot_be_are_measured_again_even_with_a_right_checksum(path, part, ms):
    document = json.loads(path.read_bytes())
    document["steps"]["frame"][part] = ms
    path.write_text(json.dumps(sealed(document)))
    assert load_calibration(KNOWN.key) is None


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"5", b'{"sha256": 1}', b"[" * 100_000, b"\xff\xfe", b'{"steps": []}']
)
def test_what_is_no_calibration_is_measured_again(path, content):
    path.write_bytes(content)
    assert load_calibration(KNOWN.key) is None
