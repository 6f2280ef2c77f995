"""Rungs: their names, and the input that the network reads at each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.errors import ConfigError
from anyscene.features.hypercolumn.rung import RUNGS, Rung, input_size, networks_among, rungs_among

thousandths = st.integers(1, 1000).map(lambda count: count / 1000)


networks = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=32)


@given(st.builds(Rung, thousandths, thousandths, st.booleans(), networks))
def test_a_name_tells_all_of_a_rung(rung):
    assert Rung.parse(str(rung)) == rung
    assert Rung.parse(rung.short) == rung


@pytest.mark.parametrize(
    ("name", "rung"),
    [
        ("hypercolumn@250", Rung(0.25)),
        ("hypercolumn@1000m", Rung(1.0, mirrored=True)),
        ("hypercolumn@533s667", Rung(0.533, 0.667)),
        ("hypercolumn@1000s667m", Rung(1.0, 0.667, mirrored=True)),
        ("large@1000", Rung(1.0, network="large")),
    ],
)
def test_names_are_those_of_model_files(name, rung):
    assert str(rung) == name


@pytest.mark.parametrize(
    "name", ["", "hypercolumn", "25", "000", "1001", "500s000", "500ms667", "Large@500", "large@", "500m "]
)
def test_what_is_no_rung_is_refused(name):
    with pytest.raises(ConfigError, match="is no rung"):
        Rung.parse(name)


def test_the_usual_network_is_meant_where_none_is_named():
    assert Rung.parse("500") == Rung.parse("hypercolumn@500")
    assert Rung(0.5).short == "500"
    assert Rung(0.5, network="large").short == "large@500"


def test_networks_come_in_the_order_of_the_sets():
    assert networks_among(["place", "small@500", "large@250", "small@250"]) == ("small", "large")


def test_rungs_are_found_among_other_sets():
    assert rungs_among(["place", "hypercolumn@500s667", "color"]) == {"hypercolumn@500s667": Rung(0.5, 0.667)}


def test_the_usual_sizes_differ_after_rounding():
    sizes = [rung.input_size((360, 480)) for rung in RUNGS if not rung.mirrored]
    assert len(set(sizes)) == len(sizes)


def test_a_frame_wider_than_4_to_3_is_squeezed_less():
    rung = Rung(0.533, 0.667)
    assert rung.input_size((360, 480)) == (128, 256)
    assert rung.input_size((270, 480)) == (128, 256)
    assert rung.input_size((180, 480)) == (96, 256)
    assert rung.input_size((480, 360)) == (160, 192)


@pytest.mark.parametrize(("side", "scale", "expected"), [(1, 1.0, 32), (480, 1.0, 480), (360, 0.5, 192)])
def test_inputs_are_multiples_of_32(side, scale, expected):
    assert input_size(side, side, scale) == (expected, expected)
