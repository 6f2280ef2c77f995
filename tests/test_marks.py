"""No command writes over what it reads, nor over a file that anyscene did not write."""

import json
import os

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps.contact_sheet import save_picture
from anyscene.apps.main import app
from anyscene.errors import ConfigError
from anyscene.learning.run_folder import RunFolder
from anyscene.marks import MARK, is_ours, refuse_foreign_folder, refuse_to_overwrite

STREETS = "streets:5?size=96x72"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.png"
    noise = np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)
    Image.fromarray(noise).save(path)
    return path


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp"])
def test_pictures_of_ours_are_known_by_their_mark(tmp_path, photo, suffix):
    ours = tmp_path / f"ours{suffix}"
    save_picture(np.asarray(Image.open(photo)), ours)
    assert is_ours(ours)
    assert not is_ours(photo)
    refuse_to_overwrite([ours])


def test_what_a_command_reads_is_not_written_over_under_any_name(tmp_path):
    source = tmp_path / "source.json"
    source.write_text(MARK)
    os.link(source, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(source)
    for name in ("source.json", "hard", "soft"):
        with pytest.raises(ConfigError, match="is read by this command"):
            refuse_to_overwrite([tmp_path / name], [source])


def test_devices_new_files_and_empty_ones_have_nothing_to_lose(tmp_path):
    (tmp_path / "empty").touch()
    refuse_to_overwrite(["/dev/null", tmp_path / "new", tmp_path / "empty"])


def test_a_folder_must_be_new_empty_or_ours(tmp_path):
    refuse_foreign_folder(tmp_path / "new", "claim")
    refuse_foreign_folder(tmp_path, "claim")
    (tmp_path / "claim").write_text("of somebody else")
    with pytest.raises(ConfigError, match="not empty"):
        refuse_foreign_folder(tmp_path, "claim")
    (tmp_path / "claim").write_text(MARK)
    refuse_foreign_folder(tmp_path, "claim")


COMMANDS = {
    "data show": ("data", "show", STREETS, "-o", "{}.png"),
    "data check": ("data", "check", STREETS, "--json", "{}.json"),
    "models": ("models", "--json", "{}.json"),
    "train": ("train", "--data", STREETS, "-o", "{}.anyscene"),
    "calibrate": ("calibrate", "--json", "{}.json"),
    "compare": ("compare", "nothing", "-o", "{}.html"),
    "train-backbone": ("train-backbone", "--data", STREETS, "--run", "run", "-o", "{}.backbone"),
    "label": ("label", "photo.png", "--json", "{}.json"),
    "label, many": ("label", "photo.png", "--cpu-hours", "1", "--json", "{}.json"),
    "label, a video": ("label", "drive.mp4", "--live", "--overlay-video", "{}.mp4"),
    "live": ("live", "drive.mp4", "--json", "{}.json"),
    "live, overlays": ("live", "drive.mp4", "--overlay-video", "{}.mp4"),
    "live, ids": ("live", "drive.mp4", "--ids-video", "{}.mkv"),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_no_command_writes_over_a_file_of_the_user(arguments, photo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drive.mp4").write_text("no video, but that comes later")
    own = tmp_path / f"own{arguments[-1][2:]}"
    own.write_text("years of work")
    done = run(*arguments[:-1], own)
    assert isinstance(done.exception, ConfigError), done.output
    assert "was not written by anyscene" in str(done.exception)
    assert own.read_text() == "years of work"


OWN_INPUTS = {
    "data show": ("data", "show", "coco:{}", "-o", "{}"),
    "data check": ("data", "check", "coco:{}", "--json", "{}"),
    "train, data": ("train", "--data", "coco:{}", "-o", "{}"),
    "train, config": ("train", "--data", STREETS, "--config", "{}", "-o", "{}"),
    "train, costs": ("train", "--data", STREETS, "--costs", "{}", "-o", "{}"),
    "train, backbone": ("train", "--data", STREETS, "--backbone", "{}", "-o", "{}"),
    "train-backbone, recipe": (*COMMANDS["train-backbone"][:-1], "{}", "--recipe", "{}"),
    "train-backbone, start": (*COMMANDS["train-backbone"][:-1], "{}", "--start", "{}"),
    "train-backbone, teacher": (*COMMANDS["train-backbone"][:-1], "{}", "--teacher", "{}"),
    "calibrate": ("calibrate", "--model", "{}", "--json", "{}"),
    "compare": ("compare", "{}", "-o", "{}"),
    "label": ("label", "photo.png", "--model", "{}", "--json", "{}"),
    "label, many": ("label", "photo.png", "--cpu-hours", "1", "--model", "{}", "--json", "{}"),
    "label, a table": ("label", "{}", "--column", "image", "--json", "{}"),
    "label, a video": ("label", "{}", "--live", "--overlay-video", "{}"),
    "live": ("live", "{}", "--overlay-video", "{}"),
    "live, model": ("live", "0", "--model", "{}", "--json", "{}"),
    "watch": ("watch", "{}", "--gif", "{}"),
    "watch, model": ("watch", "photo.png", "--model", "{}", "--gif", "{}"),
    "demo": ("demo", "--model", "{}", "--json", "{}"),
}


@pytest.mark.parametrize("arguments", OWN_INPUTS.values(), ids=OWN_INPUTS)
def test_no_command_writes_over_what_it_reads_even_if_anyscene_wrote_that(
    arguments, photo, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    ours = tmp_path / "ours.mp4"  # whatever it is: it is refused before it is read
    ours.write_text(MARK)
    done = run(*(argument.format(ours) for argument in arguments))
    assert "is read by this command" in str(done.exception), done.output
    assert ours.read_text() == MARK
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours.mp4", "photo.png"]


def test_files_beside_the_named_output_are_not_written_over_either(tmp_path):
    demo, trials = tmp_path / "demo", tmp_path / "own.anyscene.search"
    for own, command in (
        (demo / "0-0-image.jpg", ("demo", "-o", demo)),
        (demo / "stream.gif", ("demo", "-o", demo)),
        (
            trials / "alpha.anyscene",
            ("train", "--search", "--data", STREETS, "-o", tmp_path / "own.anyscene"),
        ),
    ):
        own.parent.mkdir(exist_ok=True)
        own.write_text("years of work")
        done = run(*command)
        assert "was not written by anyscene" in str(done.exception), done.output
        assert own.read_text() == "years of work"
        own.unlink()


def test_commands_on_one_image_write_over_nothing(photo, tmp_path):
    (tmp_path / "index.html").write_text("a home page")
    for arguments in (
        ("explain", photo, "-o", tmp_path),
        ("demo", "-o", tmp_path),
        ("watch", photo, "--gif", photo),
    ):
        done = run(*arguments)
        assert isinstance(done.exception, ConfigError), done.output
    (tmp_path / "layer-3.png").write_bytes(photo.read_bytes())
    done = run("tree", photo, "-o", tmp_path)
    assert isinstance(done.exception, ConfigError)
    assert not (tmp_path / "layer-0.png").exists()
    assert (tmp_path / "index.html").read_text() == "a home page"


def test_frames_of_a_live_stream_are_not_written_over_photos(photo, tmp_path):
    numbered = tmp_path / "000012.png"
    numbered.write_bytes(photo.read_bytes())
    (tmp_path / "drive.mp4").write_bytes(b"no video, but that comes later")
    done = run("live", tmp_path / "drive.mp4", "-o", tmp_path)
    assert isinstance(done.exception, ConfigError), done.output
    assert "was not written by anyscene" in str(done.exception)
    assert numbered.read_bytes() == photo.read_bytes()
    numbered.unlink()
    for name in ("classes.json", "records.jsonl"):
        (tmp_path / name).write_text("years of work")
        assert "was not written by anyscene" in str(run("live", "0", "-o", tmp_path).exception)
        (tmp_path / name).unlink()


def test_what_a_command_wrote_it_may_write_again(tmp_path, model_file):
    target = tmp_path / "model.json"
    for _ in range(2):
        assert run("info", model_file, "--json", target).exit_code == 0
    assert json.loads(target.read_text())["classes"]
    done = run("info", model_file, "--json", model_file)
    assert isinstance(done.exception, ConfigError)
    assert is_ours(model_file)


def test_a_report_is_not_written_into_a_folder_of_something_else(tmp_path, model_file):
    (tmp_path / "results.json").write_text("{}")
    done = run("evaluate", "--data", "streets:20?size=120x90", "--model", model_file, "-o", tmp_path)
    assert "is not empty" in str(done.exception)
    assert (tmp_path / "results.json").read_text() == "{}"


def test_beginning_a_training_run_anew_deletes_nothing_but_its_stages(tmp_path):
    folder = RunFolder(tmp_path / "run", {"seed": 1})
    folder.document("pool", lambda: {"kept": [1]})
    folder.arrays("bank", lambda: {"a": np.zeros(3)})
    (tmp_path / "run/notes.json").write_text('{"mine": true}')
    again = RunFolder(tmp_path / "run", {"seed": 2}, restart=True)
    assert sorted(path.name for path in again.path.iterdir()) == ["notes.json", "run.json"]


def test_a_run_json_of_somebody_else_does_not_make_a_folder_a_training_run(tmp_path):
    (tmp_path / "run.json").write_text('{"experiment": 7}')
    with pytest.raises(ConfigError, match="not empty"):
        RunFolder(tmp_path, {"seed": 1})
    assert (tmp_path / "run.json").read_text() == '{"experiment": 7}'


def test_a_folder_with_nothing_to_lose_may_be_used(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / f".{'0' * 8}-1-{'0' * 16}.partial").write_bytes(b"half")
    refuse_foreign_folder(tmp_path, "marker")
    (tmp_path / "work" / "thesis.txt").write_text("years of work")
    with pytest.raises(ConfigError, match="is not empty"):
        refuse_foreign_folder(tmp_path, "marker")
