"""`anyscene data check` and `anyscene data show`, as a script sees them."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from anyscene.apps.contact_sheet import draw_sheet
from anyscene.apps.main import app
from anyscene.data import Classes, Scene, read_image
from anyscene.data.palettes import distinct_colors
from tests.data.trees import folder, picture, save

IDS = [f"scene{number}" for number in range(20)]


@pytest.fixture
def spec(tmp_path):
    folder(tmp_path / "own", IDS)
    return f"folder:{tmp_path / 'own'}"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_check_says_in_words_what_a_sound_data_set_holds(spec):
    done = run("data", "check", spec)
    assert done.exit_code == 0
    assert "20 scenes (train " in done.stdout
    assert "images: 20 of 8x6" in done.stdout
    for name in ("sky", "road", "car"):
        assert name in done.stdout
    assert done.stdout.endswith("no problems\n")


def test_a_single_scene_is_told_as_one(tmp_path):
    folder(tmp_path / "one", IDS[:1])
    assert "1 scene (" in run("data", "check", f"folder:{tmp_path / 'one'}").stdout


def test_check_names_each_problem_in_a_line_of_its_own_and_exits_with_1(spec, tmp_path):
    (tmp_path / "own" / "labels" / "scene3.png").unlink()
    (tmp_path / "own" / "images" / "scene4.jpg").write_bytes(b"")
    done = run("data", "check", spec)
    assert done.exit_code == 1
    problems = [line for line in done.stdout.splitlines() if line.startswith("problem: ")]
    assert len(problems) == 2
    assert "scene3.jpg: its label file is missing" in problems[0]
    assert "scene4.jpg: the file is empty" in problems[1]
    assert done.stdout.endswith("2 problems\n")


def test_check_writes_json_alone_to_stdout(spec):
    done = run("data", "check", spec, "--json", "-")
    found = json.loads(done.stdout)
    assert found["spec"] == spec
    assert found["splits"]["all"] == 20
    assert found["problems"] == []
    assert sum(entry["share"] for entry in found["classes"]) == pytest.approx(1)


def test_json_is_written_when_there_are_problems_too(spec, tmp_path):
    (tmp_path / "own" / "labels" / "scene3.png").unlink()
    assert run("data", "check", spec, "--json", tmp_path / "found.json").exit_code == 1
    assert len(json.loads((tmp_path / "found.json").read_text())["problems"]) == 1


@pytest.mark.parametrize("command", ["check", "show"])
def test_what_cannot_be_opened_is_one_sentence_and_exit_code_2(command):
    done = subprocess.run(
        [sys.executable, "-m", "anyscene", "data", command, "camvid:/no/such/[folder]"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: /no/such/[folder]: there is no such folder")
    assert done.stderr.count("\n") == 1


def test_show_draws_as_many_scenes_as_asked_for(spec, tmp_path):
    done = run("data", "show", spec, "--split", "train", "-n", 5, "-o", tmp_path / "sheets" / "five.png")
    assert done.exit_code == 0
    assert done.stdout.startswith("5 of ")
    five = read_image(tmp_path / "sheets" / "five.png")
    run("data", "show", spec, "-n", 99, "-o", tmp_path / "all.jpg")
    assert read_image(tmp_path / "all.jpg").shape[0] > five.shape[0]


def test_show_works_without_truth(tmp_path):
    save(tmp_path / "own" / "images" / "one.png", picture())
    (tmp_path / "own" / "classes.json").write_text('{"names": ["sky"]}')
    assert run("data", "show", f"folder:{tmp_path / 'own'}", "-o", tmp_path / "one.png").exit_code == 0
    assert read_image(tmp_path / "one.png").shape[1] < 300


def test_show_refuses_a_picture_format_that_it_cannot_write(spec, tmp_path):
    done = run("data", "show", spec, "-o", tmp_path / "sheet.txt")
    assert "pictures are written as .png, .jpg" in str(done.exception)
    assert not (tmp_path / "sheet.txt").exists()


def test_a_sheet_holds_image_truth_and_legend():
    classes = Classes(tuple(f"class {number}" for number in range(40)), distinct_colors(40))
    image = np.full((180, 240, 3), 200, np.uint8)
    truth = np.zeros((180, 240), np.int16)
    sheet = draw_sheet([Scene("one", image, truth)], classes)
    assert sheet.shape[2] == 3
    colors = {tuple(color) for color in sheet.reshape(-1, 3).tolist()}
    assert (200, 200, 200) in colors
    assert {tuple(color) for color in classes.palette.tolist()} <= colors
