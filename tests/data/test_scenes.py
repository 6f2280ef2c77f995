import numpy as np
import pytest

from anyscene.data import Classes, DataSet, Scene
from anyscene.data.palettes import distinct_colors
from anyscene.errors import DataError

CLASSES = Classes(("sky", "road"), np.array([(1, 2, 3), (4, 5, 6)], np.uint8))


def numbered(splits, **options):
    """A data set whose pixels are the number that the id is."""
    return DataSet(
        "numbers",
        CLASSES,
        splits,
        lambda id: np.full((2, 3, 3), int(id), np.uint8),
        lambda id: None if id == "9" else np.full((2, 3), int(id) % 2, np.int16),
        **options,
    )


def test_all_is_the_union_of_the_splits_without_repetition():
    dataset = numbered({"train": ["3", "1"], "val": ["2"], "a": ["1"]})
    assert dataset.splits == ("train", "val", "a", "all")
    assert list(dataset.split("all").ids) == ["3", "1", "2"]


def test_all_may_hold_more_than_the_splits():
    assert len(numbered({"train": ["1"], "all": ["1", "9"]}).split("all")) == 2


def test_empty_and_unknown_splits_are_named_with_those_that_exist():
    dataset = numbered({"train": ["1"], "val": []})
    for name in ("val", "test"):
        with pytest.raises(DataError, match=f"numbers has no split '{name}'; it has train, all"):
            dataset.split(name)


def test_a_data_set_without_images_is_refused():
    with pytest.raises(DataError, match="numbers holds no images"):
        numbered({"train": []})


def test_scenes_are_a_sequence():
    scenes = numbered({"train": ["1", "2", "3", "4"]}).split("train")
    assert len(scenes) == 4
    assert [scene.id for scene in scenes] == ["1", "2", "3", "4"]
    assert scenes[-1].id == "4"
    assert [scene.id for scene in scenes[1:3]] == ["2", "3"]
    assert list(scenes[::2].ids) == ["1", "3"]
    assert [scene.id for scene in reversed(scenes)] == ["4", "3", "2", "1"]
    with pytest.raises(IndexError):
        scenes[4]


def test_a_scene_is_decoded_when_asked_for_and_its_parts_alone():
    scenes = numbered({"train": ["7", "9"]}).split("train")
    assert scenes[0].image.tolist() == scenes.image(0).tolist() == np.full((2, 3, 3), 7).tolist()
    assert scenes[0].truth.tolist() == scenes.truth(0).tolist() == np.full((2, 3), 1).tolist()
    assert scenes[1].truth is scenes.truth(1) is None


def test_nothing_is_decoded_before():
    def fail(id):
        raise AssertionError

    dataset = DataSet("lazy", CLASSES, {"train": ["x"]}, fail, fail)
    assert dataset.split("train")[:1].ids == ["x"]


def test_truth_must_have_the_size_of_the_image():
    with pytest.raises(DataError, match="scene 'x': the image is 3x2 but the truth is 2x3"):
        Scene("x", np.zeros((2, 3, 3), np.uint8), np.zeros((3, 2), np.int16))


@pytest.mark.parametrize("count", [0, 1, 33, 200])
def test_made_colours_differ_and_do_not_depend_on_the_count(count):
    colors = distinct_colors(count)
    assert colors.shape == (count, 3)
    assert len(np.unique(colors, axis=0)) == count
    np.testing.assert_array_equal(colors, distinct_colors(250)[:count])
