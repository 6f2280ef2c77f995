import numpy as np
import pytest
import scipy.io

from anyscene import data
from anyscene.data.checking import check
from anyscene.errors import DataError
from tests.data.trees import siftflow

IDS = [f"outdoor/coast_{number:02}" for number in range(30)]


def test_the_layout_comes_back_as_written(tmp_path):
    truths = siftflow(tmp_path, IDS)
    dataset = data.open(f"siftflow:{tmp_path}")
    assert dataset.classes.names == ("sky", "sea", "sand")
    assert dataset.splits == ("train", "val", "a", "b", "all")
    assert dataset.split("all").ids == IDS
    for scene in dataset.split("all"):
        np.testing.assert_array_equal(scene.truth, truths[scene.id])
        assert scene.truth.dtype == np.int16


def test_the_official_test_list_is_honoured_as_far_as_it_is_there(tmp_path):
    siftflow(tmp_path, IDS)
    plain = data.open(f"siftflow:{tmp_path}")
    (tmp_path / "TestSet1.txt").write_bytes(
        b"outdoor\\coast_03.jpg\r\noutdoor\\coast_07.jpg\r\noutdoor\\gone.jpg\r\n"
    )
    listed = data.open(f"siftflow:{tmp_path}")
    assert listed.split("test").ids == ["outdoor/coast_03", "outdoor/coast_07"]
    for split in ("train", "val", "a", "b"):
        expected = [id for id in plain.split(split).ids if id not in listed.split("test").ids]
        assert listed.split(split).ids == expected
    assert listed.split("all").ids == IDS


def rewrite(root, id, **changes):
    path = root / "SemanticLabels" / f"{id}.mat"
    content = {key: value for key, value in scipy.io.loadmat(path).items() if not key.startswith("__")}
    content |= changes
    scipy.io.savemat(path, {key: value for key, value in content.items() if value is not None})


def test_an_image_without_any_label_is_noted_and_in_all_only(tmp_path):
    siftflow(tmp_path, IDS)
    rewrite(tmp_path, IDS[4], S=np.zeros((6, 8), np.uint8))
    dataset = data.open(f"siftflow:{tmp_path}")
    assert dataset.notes == (f"{IDS[4]} has no labeled pixel: it is in 'all' but in no other split",)
    assert [split for split in dataset.splits if IDS[4] in dataset.split(split).ids] == ["all"]
    assert (dataset.split("all")[4].truth == -1).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"S": np.full((6, 8), 4, np.uint8)}, r"S must be a matrix of ids from 0 \(void\) to 3"),
        ({"S": np.ones((6, 7), np.uint8)}, r"the label is 7x6 but its image .*coast_04\.jpg is 8x6"),
        ({"S": None}, "a MATLAB file without the variable S"),
        ({"names": np.array([["sky"], ["sea"], ["rock"]], object)}, "its class names differ"),
    ],
)
def test_a_label_that_cannot_be_right_is_refused(tmp_path, changes, sentence):
    siftflow(tmp_path, IDS)
    rewrite(tmp_path, IDS[4], **changes)
    scenes = data.open(f"siftflow:{tmp_path}").split("all")
    assert scenes[3].truth is not None
    with pytest.raises(DataError, match=rf"coast_04\.mat: {sentence}"):
        scenes[4]


@pytest.mark.parametrize("content", [b"", b"not MATLAB", b"MATLAB 5.0 MAT-file" + b"\0" * 200])
def test_a_damaged_label_is_refused_when_it_is_read(tmp_path, content):
    siftflow(tmp_path, IDS)
    (tmp_path / "SemanticLabels" / f"{IDS[0]}.mat").write_bytes(content)
    scenes = data.open(f"siftflow:{tmp_path}").split("all")
    assert scenes[1].truth is not None
    with pytest.raises(DataError, match=r"coast_00\.mat: "):
        scenes[0]


@pytest.mark.real_data
def test_the_real_data_is_what_its_readme_says(data_root):
    dataset = data.open(f"siftflow:{data_root / 'SiftFlowDataset'}")
    counts = {split: len(dataset.split(split)) for split in dataset.splits}
    assert counts == {"train": 1982, "val": 504, "a": 973, "b": 1009, "all": 2488}
    assert len(dataset.classes) == 33
    assert [note.split()[0].rpartition("/")[2] for note in dataset.notes] == [
        "highway_bost181",
        "street_urb506",
    ]
    whole = check(dataset)
    assert whole.problems == ()
    assert whole.sizes == {(256, 256): 2488}
    assert whole.scenes.min() > 0
