import os
import time

import numpy as np
import pytest

from anyscene import data
from anyscene.data.checking import check
from anyscene.errors import DataError
from tests.data.trees import stanford

NAMES = [f"{number:07}" for number in range(30)]


def test_the_layout_comes_back_as_written(tmp_path):
    truths = stanford(tmp_path, NAMES)
    dataset = data.open(f"stanford:{tmp_path}")
    assert dataset.splits == ("train", "val", "a", "b", "all")
    assert dataset.split("all").ids == NAMES
    assert len(dataset.split("train")) + len(dataset.split("val")) == 30
    for scene in dataset.split("all"):
        np.testing.assert_array_equal(scene.truth, truths[scene.id])
        assert scene.truth.dtype == np.int16


def test_portrait_stays_portrait(tmp_path):
    stanford(tmp_path, ["tall"], height=9, width=4)
    scene = data.open(f"stanford:{tmp_path}").split("all")[0]
    assert scene.image.shape == (9, 4, 3)
    assert scene.truth.shape == (9, 4)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 1\n2 x\n", "holds something other than whole numbers"),
        ("0 1\n2 3-4\n", "holds something other than whole numbers"),
        ("0 1\n2 -\n", "holds something other than whole numbers"),
        ("0 1\n2\n", "3 numbers in 2 lines are no matrix"),
        ("", "0 numbers in 1 lines are no matrix"),
        ("0 1\n2 8\n", r"holds class id 8, but ids go from -1 \(void\) to 7"),
        ("0 1\n2 99999\n", "holds class id 99999"),
        ("0 1\n2 -2\n", "holds class id -2"),
        ("0 1\n2 3\n", r"the label is 2x2 but its image .*one\.jpg is 8x6"),
    ],
)
def test_a_label_that_cannot_be_right_is_refused(tmp_path, text, sentence):
    stanford(tmp_path, ["one"])
    (tmp_path / "labels" / "one.regions.txt").write_text(text)
    with pytest.raises(DataError, match=rf"one\.regions\.txt: {sentence}"):
        data.open(f"stanford:{tmp_path}").split("all")[0]


def test_a_label_that_changes_is_read_anew_and_a_truth_may_be_written_to(tmp_path):
    stanford(tmp_path, ["one"])
    scenes = data.open(f"stanford:{tmp_path}").split("all")
    before = scenes.truth(0)
    before[:] = 3
    assert (scenes.truth(0) != 3).any()
    path = tmp_path / "labels" / "one.regions.txt"
    np.savetxt(path, np.full((6, 8), 5), fmt="%d")
    os.utime(path, (0, 0))
    assert (scenes.truth(0) == 5).all()


def test_lines_may_end_as_on_windows(tmp_path):
    truths = stanford(tmp_path, ["one"])
    path = tmp_path / "labels" / "one.regions.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b" \r\n") + b"\r\n")
    np.testing.assert_array_equal(data.open(f"stanford:{tmp_path}").split("all").truth(0), truths["one"])


@pytest.mark.real_data
def test_the_real_data_is_what_its_readme_says(data_root):
    dataset = data.open(f"stanford:{data_root / 'iccv09Data'}")
    counts = {split: len(dataset.split(split)) for split in dataset.splits}
    assert counts == {"train": 455, "val": 117, "a": 222, "b": 233, "all": 572}
    scenes = dataset.split("all")
    assert list(scenes.ids) == sorted(scenes.ids)
    start = time.perf_counter()
    truths = [scenes.truth(index) for index in range(len(scenes))]
    assert time.perf_counter() - start < 10
    assert set(np.concatenate([np.unique(truth) for truth in truths]).tolist()) == set(range(-1, 8))
    whole = check(dataset)
    assert whole.problems == ()
    assert len(whole.sizes) == 46
    assert {height > width for width, height in whole.sizes} == {True, False}
