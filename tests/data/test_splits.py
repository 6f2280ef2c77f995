import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.data.splits import in_first_half, in_validation_fifth, read_ids, split_by_hash
from anyscene.errors import DataError

IDS = st.lists(st.text("abz09_/é", min_size=1), unique=True)


@given(IDS, IDS)
def test_train_val_and_test_are_a_partition_and_the_halves_are_one_of_train(ids, test):
    splits = split_by_hash(ids, test)
    assert sorted(splits["train"] + splits["val"] + splits["test"]) == sorted(ids)
    assert sorted(splits["a"] + splits["b"]) == sorted(splits["train"])
    assert set(splits["test"]) == set(ids) & set(test)


@given(IDS, IDS)
def test_where_a_scene_belongs_does_not_depend_on_the_others(ids, others):
    alone, together = split_by_hash(ids), split_by_hash(list(dict.fromkeys(ids + others)))
    for split in ("train", "val", "a", "b"):
        assert [id for id in together[split] if id in set(ids)] == alone[split]


def test_the_splits_never_change():
    # Published figures rest on these; if this fails, it is the code that is wrong.
    names = [f"scene{number:03}" for number in range(40)]
    assert [number for number, name in enumerate(names) if in_validation_fifth(name)] == [
        0,
        2,
        4,
        16,
        18,
        21,
        31,
        38,
    ]
    assert [number for number, name in enumerate(names) if in_first_half(name)] == [
        0,
        11,
        12,
        14,
        17,
        20,
        22,
        23,
        24,
        25,
        26,
        27,
        28,
        30,
        31,
        32,
        33,
        35,
        38,
    ]


def test_a_fifth_is_a_fifth_and_a_half_a_half():
    names = [str(number) for number in range(20_000)]
    assert sum(map(in_validation_fifth, names)) == pytest.approx(4000, abs=200)
    assert sum(map(in_first_half, names)) == pytest.approx(10_000, abs=250)


def test_lists_may_come_from_windows_with_suffixes_and_comments(tmp_path):
    path = tmp_path / "list.txt"
    path.write_bytes(
        b"\xef\xbb\xbfcoast\\one.jpg\r\n\r\n# two is gone\r\nthree\r\nmy photo 4.PNG\r\nv1.5\r\nthree\r\n"
    )
    assert read_ids(path) == ["coast/one", "three", "my photo 4", "v1.5"]


def test_a_list_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "list.txt").write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(DataError, match=r"list\.txt: not a text file"):
        read_ids(tmp_path / "list.txt")
