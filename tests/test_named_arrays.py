"""Arrays by name, and files of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from anyscene.named_arrays import prefixed, under, write_arrays

names = st.dictionaries(st.text("ab/", max_size=4), st.integers())


@given(st.text("ab", min_size=1, max_size=3), names)
def test_a_prefix_that_is_added_can_be_taken_off_again(prefix, named):
    assert under(prefix, prefixed(prefix, named)) == named


def test_only_whole_words_are_a_prefix():
    assert under("chain", {"chain/0": 1, "chains/0": 2, "chain": 3}) == {"0": 1}


def test_a_file_holds_the_arrays_and_what_is_said_of_them(tmp_path):
    columns = np.arange(6).reshape(2, 3)[:, ::2]
    write_arrays(tmp_path / "some.safetensors", {"columns": columns}, {"kind": "test"})
    with safe_open(tmp_path / "some.safetensors", framework="numpy") as file:
        assert file.metadata() == {"kind": "test"}
        assert np.array_equal(file.get_tensor("columns"), columns)
