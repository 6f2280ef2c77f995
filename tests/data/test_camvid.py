import numpy as np
import pytest
from PIL import Image

from anyscene import data
from anyscene.data.camvid_original import usual_split
from anyscene.data.checking import check
from anyscene.errors import DataError
from tests.data.trees import picture, save, segnet

TRAIN = ["0001TP_006690", "0006R0_f00930", "0016E5_05280", "0016E5_05310"]
NAMES = {"train": TRAIN, "val": ["0016E5_07959"], "test": ["Seq05VD_f00000", "0001TP_008550"]}


def test_the_segnet_layout_comes_back_as_written(tmp_path):
    truths = segnet(tmp_path, NAMES)
    dataset = data.open(f"camvid:{tmp_path}")
    assert dataset.splits == ("train", "val", "test", "a", "b", "all")
    assert len(dataset.split("all")) == 7
    for split, names in NAMES.items():
        scenes = dataset.split(split)
        assert scenes.ids == sorted(names)
        for scene in scenes:
            np.testing.assert_array_equal(scene.truth, truths[scene.id])
            assert scene.truth.dtype == np.int16
            assert scene.image.shape == (6, 8, 3)
    assert not dataset.problems
    assert not dataset.notes


def test_the_halves_are_cut_by_drive(tmp_path):
    segnet(tmp_path, NAMES)
    dataset = data.open(f"camvid:{tmp_path}")
    assert dataset.split("a").ids == ["0001TP_006690", "0016E5_05280"]
    assert dataset.split("b").ids == ["0006R0_f00930", "0016E5_05310"]


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_a_tree_of_one_split_opens_with_that_one(tmp_path, split):
    segnet(tmp_path, {split: ["0016E5_07959"]})
    dataset = data.open(f"camvid:{tmp_path}")
    assert set(dataset.splits) - {"a", "b"} == {split, "all"}


def test_a_split_without_a_label_folder_has_no_truth(tmp_path):
    segnet(tmp_path, {"train": TRAIN})
    save(tmp_path / "test" / "Seq05VD_f00000.webp", picture())
    dataset = data.open(f"camvid:{tmp_path}")
    assert dataset.split("test")[0].truth is None
    assert dataset.split("train")[0].truth is not None
    assert dataset.notes == ("test/ has no testannot/ beside it: its scenes have no truth",)


def test_a_missing_label_is_an_error_only_when_it_is_needed(tmp_path):
    segnet(tmp_path, {"train": TRAIN})
    (tmp_path / "trainannot" / f"{TRAIN[1]}.png").unlink()
    scenes = data.open(f"camvid:{tmp_path}").split("train")
    assert scenes[0].truth is not None
    with pytest.raises(DataError, match=rf"train/{TRAIN[1]}\.png: its label file is missing"):
        scenes[1]


def test_a_label_without_image_is_a_problem(tmp_path):
    segnet(tmp_path, {"train": TRAIN})
    (tmp_path / "train" / f"{TRAIN[1]}.png").unlink()
    dataset = data.open(f"camvid:{tmp_path}")
    assert len(dataset.split("train")) == 3
    assert len(dataset.problems) == 1
    assert f"trainannot/{TRAIN[1]}.png: no image belongs to this label" in dataset.problems[0]


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        (np.zeros((6, 7), np.uint8), r"the label is 7x6 but its image .*0001TP_006690\.png is 8x6"),
        (np.full((6, 8), 12, np.uint8), r"holds class id 12, but ids go from 0 to 11 \(void\)"),
        (np.zeros((6, 8, 3), np.uint8), "a colour picture, but this layout has pictures of class ids"),
    ],
)
@pytest.mark.parametrize("size", ["", "?size=4x3"])
def test_a_label_that_cannot_be_right_is_refused(tmp_path, label, sentence, size):
    segnet(tmp_path, {"train": TRAIN})
    save(tmp_path / "trainannot" / f"{TRAIN[0]}.png", label)
    with pytest.raises(DataError, match=rf"trainannot/{TRAIN[0]}\.png: {sentence}"):
        data.open(f"camvid:{tmp_path}{size}").split("train")[0]


def test_a_scene_cannot_be_in_two_splits(tmp_path):
    segnet(tmp_path, {"train": TRAIN, "val": TRAIN[:1]})
    with pytest.raises(DataError, match="are the same scene"):
        data.open(f"camvid:{tmp_path}")


COLORS = {
    "Sky": (128, 128, 128),
    "Wall": (64, 192, 0),
    "LaneMkgsNonDriv": (192, 0, 64),
    "Truck_Bus": (192, 128, 192),
}
CLASS_OF = {"Sky": 0, "Wall": 1, "LaneMkgsNonDriv": 3, "Truck_Bus": 8}


def original(root, names):
    """Write the original layout, labels in bands of four colours over 20 columns."""
    bands = np.repeat(np.array([list(COLORS.values())], np.uint8), 5, axis=1).repeat(12, axis=0)
    for seed, name in enumerate(names):
        save(root / "701_StillsRaw_full" / f"{name}.png", picture(12, 20, seed))
        save(root / "LabeledApproved_full" / f"{name}_L.png", bands)
    return np.repeat(np.array([list(CLASS_OF.values())], np.int16), 5, axis=1).repeat(12, axis=0)


def test_the_original_layout_is_mapped_to_eleven_classes(tmp_path):
    expected = original(tmp_path, [*TRAIN, *NAMES["val"], *NAMES["test"]])
    dataset = data.open(f"camvid:{tmp_path}")
    assert {split: dataset.split(split).ids for split in NAMES} == {k: sorted(v) for k, v in NAMES.items()}
    assert dataset.split("a").ids == ["0001TP_006690", "0016E5_05280"]
    assert len(dataset.split("all")) == 7
    for scene in dataset.split("all"):
        np.testing.assert_array_equal(scene.truth, expected)


def test_every_original_label_has_its_class(tmp_path):
    from anyscene.data.camvid import CLASSES
    from anyscene.data.camvid_original import LABELS_OF_CLASS, STANDARD_COLORS

    lines = [line.split() for line in STANDARD_COLORS.strip().splitlines()]
    assert len(lines) == len({tuple(line[:3]) for line in lines}) == 32
    name = TRAIN[0]
    save(tmp_path / "701_StillsRaw_full" / f"{name}.png", picture(1, 32))
    colors = np.array([[line[:3] for line in lines]]).astype(np.uint8)
    save(tmp_path / "LabeledApproved_full" / f"{name}_L.png", colors)
    truth = data.open(f"camvid:{tmp_path}").split("all")[0].truth[0]
    for (*_, label), id in zip(lines, truth, strict=True):
        assert id == -1 if id < 0 else label in LABELS_OF_CLASS[CLASSES.names[id]]
    assert (truth < 0).sum() == 32 - sum(map(len, LABELS_OF_CLASS.values()))


def test_a_working_size_scales_images_by_area_and_labels_by_nearest(tmp_path):
    expected = original(tmp_path, TRAIN)
    full = data.open(f"camvid:{tmp_path}").split("all")[0]
    half = data.open(f"camvid:{tmp_path}?size=10x6").split("all")[0]
    means = full.image.reshape(6, 2, 10, 2, 3).mean(axis=(1, 3))
    assert np.abs(half.image - means).max() <= 1
    np.testing.assert_array_equal(half.truth, expected[1::2, 1::2])


def test_stray_colours_are_void_but_a_label_full_of_them_is_refused(tmp_path):
    original(tmp_path, TRAIN)
    path = tmp_path / "LabeledApproved_full" / f"{TRAIN[0]}_L.png"
    colors = np.array(Image.open(path))
    colors[0, :10] = (1, 2, 3)
    save(path, colors)
    truth = data.open(f"camvid:{tmp_path}").split("all")[0].truth
    assert (truth[0, :10] == -1).all()
    assert (truth[1:] >= 0).all()
    colors[:3] = (1, 2, 3)
    save(path, colors)
    with pytest.raises(DataError, match=r"25% of its pixels have colours that are not CamVid's"):
        data.open(f"camvid:{tmp_path}").split("all")[0]


def test_label_colors_beside_the_data_go_first(tmp_path):
    from anyscene.data.camvid_original import STANDARD_COLORS

    original(tmp_path, TRAIN)
    swapped = STANDARD_COLORS.replace("Sky", "X").replace("Wall", "Sky").replace("X", "Wall")
    (tmp_path / "label_colors.txt").write_text(swapped.replace(" Sky", "\t\tSky"))
    truth = data.open(f"camvid:{tmp_path}").split("all")[0].truth
    assert truth[0, ::5].tolist() == [1, 0, 3, 8]
    (tmp_path / "label_colors.txt").write_text("1 2 3 Sky")
    with pytest.raises(DataError, match=r"label_colors\.txt: no colour for Bicyclist, Building"):
        data.open(f"camvid:{tmp_path}")


def test_split_lists_beside_the_original_layout_are_honoured(tmp_path):
    original(tmp_path, TRAIN)
    (tmp_path / "train.txt").write_text(
        f"/SegNet/CamVid/train/{TRAIN[0]}.png /SegNet/CamVid/trainannot/{TRAIN[0]}.png\n"
    )
    (tmp_path / "test.txt").write_text(f"{TRAIN[3]}\n0001TP_009999\n")
    dataset = data.open(f"camvid:{tmp_path}")
    assert dataset.splits == ("train", "test", "a", "all")
    assert dataset.split("train").ids == [TRAIN[0]]
    assert dataset.split("test").ids == [TRAIN[3]]
    assert dataset.notes == ("1 images named in the split lists are not there",)


def test_other_names_are_in_all_only(tmp_path):
    original(tmp_path, ["holiday_1", "holiday_2"])
    dataset = data.open(f"camvid:{tmp_path}")
    assert dataset.splits == ("all",)
    assert dataset.notes == ("2 images do not have CamVid's names, such as holiday_1: in 'all' only",)


@pytest.mark.parametrize("size", ["480", "0x3", "axb", "-4x3", ""])
def test_a_size_that_is_none_is_refused(tmp_path, size):
    segnet(tmp_path, NAMES)
    with pytest.raises(DataError, match=f"size={size} is not a size; write WIDTHxHEIGHT"):
        data.open(f"camvid:{tmp_path}?size={size}")


@pytest.mark.real_data
def test_the_real_data_is_what_its_readme_says(data_root):
    dataset = data.open(f"camvid:{data_root / 'CamVid'}")
    counts = {split: len(dataset.split(split)) for split in dataset.splits}
    assert counts == {"train": 367, "val": 101, "a": 162, "b": 205, "all": 468}
    for split in ("train", "val"):
        assert {usual_split(id) for id in dataset.split(split).ids} == {split}
    whole = check(dataset)
    assert whole.problems == ()
    assert whole.sizes == {(480, 360): 468}
    assert whole.scenes.min() > 0
    assert 0 < whole.void_share < 0.05
