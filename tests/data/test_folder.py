import json

import numpy as np
import pytest
from PIL import Image

from anyscene import data
from anyscene.data import Classes
from anyscene.errors import DataError
from anyscene.labeling import Labeling
from tests.data.trees import folder, labels, picture, save

IDS = ["evening/b", "evening/c", "morning_a"]


def test_ids_come_back_as_written(tmp_path):
    truths = folder(tmp_path, IDS)
    dataset = data.open(f"folder:{tmp_path}")
    assert dataset.classes.names == ("sky", "road", "car")
    assert dataset.split("all").ids == IDS
    for scene in dataset.split("all"):
        np.testing.assert_array_equal(scene.truth, truths[scene.id])


def test_what_a_labeling_saves_can_be_read_as_labels(tmp_path):
    folder(tmp_path, IDS)
    classes = Classes(("sky", "road", "car"), np.array([(1, 0, 0), (0, 1, 0), (0, 0, 1)], np.uint8))
    result = Labeling(labels(3, seed=9), classes)
    result.save(tmp_path / "labels" / "morning_a.png")
    np.testing.assert_array_equal(data.open(f"folder:{tmp_path}").split("all").truth(2), result.labels)


COLORS = {"names": ["sky", "road"], "colors": [[1, 2, 3], [4, 5, 6]]}


def test_colours_are_classes_and_black_is_void(tmp_path):
    folder(tmp_path, ["one"], COLORS)
    colors = np.zeros((6, 8, 3), np.uint8)
    colors[1] = (1, 2, 3)
    colors[2] = (4, 5, 6)
    save(tmp_path / "labels" / "one.png", colors)
    dataset = data.open(f"folder:{tmp_path}")
    assert dataset.split("all")[0].truth[:3, 0].tolist() == [-1, 0, 1]
    assert dataset.classes.palette.tolist() == COLORS["colors"]


def test_void_may_be_named(tmp_path):
    folder(tmp_path, ["one", "two"], {**COLORS, "void": [7, 7, [9, 9, 9]]})
    save(tmp_path / "labels" / "one.png", np.full((6, 8), 7, np.uint8))
    save(tmp_path / "labels" / "two.png", np.full((6, 8, 3), 9, np.uint8))
    scenes = data.open(f"folder:{tmp_path}").split("all")
    assert (scenes[0].truth == -1).all()
    assert (scenes[1].truth == -1).all()
    save(tmp_path / "labels" / "one.png", np.full((6, 8), 255, np.uint8))
    with pytest.raises(DataError, match="holds class id 255"):
        scenes[0]


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        (np.full((6, 8), 2, np.uint8), "holds class id 2, which is neither a class nor void in classes.json"),
        (np.full((6, 8, 3), 9, np.uint8), r"holds the colour \(9, 9, 9\), which is neither a class nor void"),
        (np.zeros((8, 6), np.uint8), r"the label is 6x8 but its image .*one\.jpg is 8x6"),
    ],
)
def test_a_label_that_cannot_be_right_is_refused(tmp_path, label, sentence):
    folder(tmp_path, ["one"], COLORS)
    save(tmp_path / "labels" / "one.png", label)
    with pytest.raises(DataError, match=rf"labels/one\.png: {sentence}"):
        data.open(f"folder:{tmp_path}").split("all")[0]


def test_colours_without_a_list_of_colours_are_refused(tmp_path):
    folder(tmp_path, ["one"])
    save(tmp_path / "labels" / "one.png", picture())
    with pytest.raises(DataError, match=r"labels/one\.png: holds the colour"):
        data.open(f"folder:{tmp_path}").split("all")[0]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "wrong value for the file: Invalid JSON"),
        ("{}", "wrong value for names: Field required"),
        ('{"names": []}', "wrong value for names: .*at least 1 item"),
        ('{"names": ["a"], "colour": []}', "unknown setting 'colour'; did you mean 'colors'"),
        (
            '{"names": ["a"], "colors": [[1, 2, 300]]}',
            "wrong value for colors.0.2: .*less than or equal to 255",
        ),
        ('{"names": ["a", "b"], "colors": [[1, 2, 3], [1, 2, 3]]}', "two classes have the same colour"),
        ('{"names": ["a", "b"], "void": [1]}', "1 is void and class 'b' at once"),
    ],
)
def test_a_wrong_class_list_is_refused(tmp_path, content, sentence):
    folder(tmp_path, IDS)
    (tmp_path / "classes.json").write_text(content)
    with pytest.raises(DataError, match=rf"classes\.json: {sentence}"):
        data.open(f"folder:{tmp_path}")


@pytest.mark.parametrize("classes", [{"names": ["a", "a"]}, {"names": ["a", "b"], "colors": [[1, 2, 3]]}])
def test_names_must_differ_and_colours_be_as_many(tmp_path, classes):
    folder(tmp_path, IDS)
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    with pytest.raises(
        DataError, match=r"classes\.json: (two classes have the same name|2 classes need as many)"
    ):
        data.open(f"folder:{tmp_path}")


def test_names_that_no_model_file_may_hold_are_refused_before_training(tmp_path):
    folder(tmp_path, IDS)
    (tmp_path / "classes.json").write_text(json.dumps({"names": ["a", "b\x1b[2J"]}))
    with pytest.raises(DataError, match="cannot be printed") as caught:
        data.open(f"folder:{tmp_path}")
    assert str(caught.value).isprintable()


def test_a_class_list_may_begin_with_the_mark_that_windows_editors_write(tmp_path):
    folder(tmp_path, IDS)
    (tmp_path / "classes.json").write_text('{"names": ["a", "b", "c"]}', encoding="utf-8-sig")
    assert data.open(f"folder:{tmp_path}").classes.names == ("a", "b", "c")


def test_labels_that_are_not_png_are_problems(tmp_path):
    folder(tmp_path, IDS)
    save(tmp_path / "labels" / "evening" / "b.jpg", np.zeros((6, 8), np.uint8))
    (problem,) = data.open(f"folder:{tmp_path}").problems
    assert "labels/evening/b.jpg: a label must be a PNG" in problem


def test_hidden_files_and_folders_are_left_out(tmp_path):
    folder(tmp_path, IDS)
    save(tmp_path / "images" / ".ipynb_checkpoints" / "morning_a.jpg", picture())
    (tmp_path / "images" / "._morning_a.jpg").write_bytes(b"")
    assert data.open(f"folder:{tmp_path}").split("all").ids == IDS


@pytest.mark.parametrize("label_is_upright", [True, False])
def test_a_photograph_that_exif_turns_has_its_label_upright(tmp_path, label_is_upright):
    folder(tmp_path, ["one"])
    exif = Image.Exif()
    exif[0x0112] = 6
    save(tmp_path / "images" / "one.jpg", picture(6, 8), exif=exif)
    save(tmp_path / "labels" / "one.png", np.zeros((8, 6) if label_is_upright else (6, 8), np.uint8))
    scenes = data.open(f"folder:{tmp_path}").split("all")
    if label_is_upright:
        assert scenes[0].truth.shape == (8, 6)
    else:
        with pytest.raises(DataError, match="the image is 6x8 but the truth is 8x6"):
            scenes[0]


def test_split_files_are_honoured(tmp_path):
    folder(tmp_path, IDS)
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "train.txt").write_text("morning_a\nevening/b.jpg\n")
    (tmp_path / "splits" / "night.txt").write_text("evening/c\n")
    dataset = data.open(f"folder:{tmp_path}")
    assert dataset.splits == ("night", "train", "all")
    assert dataset.split("train").ids == ["morning_a", "evening/b"]
    assert not dataset.problems


def test_split_files_that_contradict_are_problems(tmp_path):
    folder(tmp_path, IDS)
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "train.txt").write_text("morning_a\nevening/b\ngone\n")
    (tmp_path / "splits" / "val.txt").write_text("evening/b\n")
    absent, shared = data.open(f"folder:{tmp_path}").problems
    assert "train.txt: names 'gone', but there is no such image" in absent
    assert "1 scenes are both in train and in val, such as 'evening/b'" in shared
    (tmp_path / "splits" / "all.txt").write_text("evening/b\n")
    with pytest.raises(DataError, match="'all' always means every image"):
        data.open(f"folder:{tmp_path}")


def test_without_split_files_val_is_the_fixed_fifth(tmp_path):
    folder(tmp_path, [f"{number:02}" for number in range(40)])
    dataset = data.open(f"folder:{tmp_path}")
    assert dataset.splits == ("train", "val", "a", "b", "all")


def test_a_folder_without_labels_has_no_truth(tmp_path):
    save(tmp_path / "images" / "one.png", picture())
    (tmp_path / "classes.json").write_text('{"names": ["sky"]}')
    dataset = data.open(f"folder:{tmp_path}")
    assert dataset.split("all")[0].truth is None
    assert dataset.notes == ("there is no labels/ folder: the scenes have no truth",)


def test_two_files_of_one_scene_are_refused(tmp_path):
    folder(tmp_path, IDS)
    save(tmp_path / "images" / "morning_a.png", picture())
    with pytest.raises(DataError, match=r"morning_a\.jpg and .*morning_a\.png would be the same scene"):
        data.open(f"folder:{tmp_path}")
