"""Arrays by name, and files of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from anyscene.named_arrays import prefixed, read_arrays, under, write_arrays

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
        assert file.metadata()["kind"] == "test"
        assert np.array_equal(file.get_tensor("columns"), columns)


@given(st.data())
def test_a_file_of_which_a_byte_has_changed_is_not_read(tmp_path, data):
    path, right = tmp_path / "some.safetensors", {"a": np.arange(4.0), "b": np.ones((2, 2), np.int32)}
    write_arrays(path, right)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    found = read_arrays(path)
    assert found is None or all(np.array_equal(found[name], right[name]) for name in right)


def test_what_is_missing_or_no_file_of_arrays_is_not_read(tmp_path):
    assert read_arrays(tmp_path / "none") is None
    (tmp_path / "text").write_text("text")
    assert read_arrays(tmp_path / "text") is None
