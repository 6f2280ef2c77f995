import json

import numpy as np
import pytest

from anyscene import data
from anyscene.data.checking import check
from tests.data.trees import folder, picture, save, segnet

IDS = [f"scene{number}" for number in range(6)]


def test_a_sound_data_set_is_counted_exactly(tmp_path):
    truths = np.stack(list(folder(tmp_path, IDS).values()))
    found = check(data.open(f"folder:{tmp_path}"))
    assert found.problems == ()
    assert found.splits["all"] == 6
    assert found.sizes == {(8, 6): 6}
    assert found.pixels.tolist() == [(truths == id).sum() for id in range(3)]
    assert found.scenes.tolist() == [6, 6, 6]
    assert found.void == (truths == -1).sum()
    assert found.shares.sum() == pytest.approx(1)
    assert found.void_share == pytest.approx((truths == -1).mean())


def test_every_problem_is_reported_once_and_the_rest_is_counted(tmp_path):
    folder(tmp_path, IDS)
    (tmp_path / "labels" / "scene0.png").unlink()
    (tmp_path / "images" / "scene1.jpg").write_bytes(b"not an image")
    (tmp_path / "images" / "scene2.jpg").unlink()
    save(tmp_path / "labels" / "scene3.png", np.full((6, 8), 77, np.uint8))
    save(tmp_path / "images" / "scene4.jpg", picture(5, 5))
    found = check(data.open(f"folder:{tmp_path}"))
    assert len(found.problems) == 5
    for part in (
        "scene0.jpg: its label file is missing",
        "scene1.jpg: not an image",
        "scene2.png: no image belongs to this label",
        "scene3.png: holds class id 77",
        "scene4.png: the label is 8x6 but its image",
    ):
        assert sum(part in problem for problem in found.problems) == 1
    assert found.pixels.sum() + found.void == 48


def test_scenes_without_truth_are_no_problem(tmp_path):
    segnet(tmp_path, {"train": ["0001TP_006690"]})
    save(tmp_path / "test" / "0001TP_008550.png", picture(9, 4))
    found = check(data.open(f"camvid:{tmp_path}"))
    assert found.unlabeled == 1
    assert found.problems == ()
    assert found.sizes == {(8, 6): 1, (4, 9): 1}


def test_a_check_is_plain_json(tmp_path):
    folder(tmp_path, IDS)
    found = json.loads(json.dumps(check(data.open(f"folder:{tmp_path}")).to_dict()))
    assert [entry["name"] for entry in found["classes"]] == ["sky", "road", "car"]
    assert sum(entry["share"] for entry in found["classes"]) == pytest.approx(1)
    assert found["sizes"] == [{"width": 8, "height": 6, "images": 6}]


def test_progress_sees_every_scene(tmp_path):
    folder(tmp_path, IDS)
    seen = []

    def progress(scenes):
        for scene in scenes:
            seen.append(scene)
            yield scene

    check(data.open(f"folder:{tmp_path}"), progress)
    assert seen == list(range(6))
