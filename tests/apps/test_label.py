"""`anyscene label`: all kinds of sources; bad files named and passed over; stopped runs that go on."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps.label_report import _seen
from anyscene.apps.main import app
from anyscene.apps.sources import find_sources, listed_paths
from anyscene.data import runs
from anyscene.errors import ConfigError
from anyscene.files import write_atomically


@pytest.fixture
def label(model_file, engine, tmp_path):
    """Run the command with the small model; the engine has calibrated this machine."""

    def run(*arguments, out="out"):
        given = [str(argument) for argument in arguments]
        return CliRunner().invoke(
            app, ["label", *given, "--model", str(model_file), "-o", str(tmp_path / out)]
        )

    return run


@pytest.fixture
def photos(streets, tmp_path):
    """A folder of three pictures, one in a folder of its own."""
    folder = tmp_path / "photos"
    (folder / "inner").mkdir(parents=True)
    for name, scene in zip(("a.png", "b.jpg", "inner/c.v2.png"), streets.split("val"), strict=False):
        Image.fromarray(scene.image).save(folder / name)
    return folder


def bomb(path):
    """A PNG that claims 400 million pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


def test_a_folder_keeps_its_names_and_structure(label, photos, tmp_path, engine):
    done = label(photos, "--budget", "500ms", "--overlay", "--confidence", "--trace")
    assert done.exit_code == 0, done.output
    made = {
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()
    }
    stems = ("photos/a", "photos/b", "photos/inner/c.v2")
    kinds = (".png", ".overlay.png", ".confidence.png", ".trace.json")
    assert made == {f"{stem}{kind}" for stem in stems for kind in kinds} | {
        "anyscene-label.json",
        "classes.json",
        "records.jsonl",
    }
    ids = np.asarray(Image.open(tmp_path / "out/photos/a.png"))
    assert ids.shape == (90, 120)
    assert ids.max() < len(engine.classes)
    trace = json.loads((tmp_path / "out/photos/a.trace.json").read_text())
    assert trace["deadline_met"] in (True, False)
    assert sum(trace["shares"].values()) == pytest.approx(1)
    assert "images labelled" in done.output
    assert re.search(r"seen: \w+ \d+\.\d%, ", done.output)


def test_patterns_and_single_files(label, photos, tmp_path):
    done = label(photos / "*.png", photos / "b.jpg")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "out").glob("*.png")) == ["a.png", "b.png"]


def test_bad_files_are_named_and_the_others_labelled(label, photos, tmp_path):
    whole = (photos / "b.jpg").read_bytes()
    (photos / "truncated.jpg").write_bytes(whole[: len(whole) // 2])
    (photos / "empty.png").touch()
    (photos / "not-an-image.jpg").write_text("this is text")
    bomb(photos / "bomb.png")
    (photos / "damaged.mp4").write_bytes(b"\x00" * 1000)
    os.mkfifo(photos / "pipe.jpg")
    os.mkfifo(photos / "pipe.mp4")
    not_utf8 = os.fsdecode(b"caf\xe9.jpg")
    (photos / not_utf8).write_text("nor is this an image")
    (photos / "notes.txt").write_text("not meant to be labelled")
    done = label(photos, tmp_path / "gone.png", "--json", tmp_path / "summary.json")
    assert done.exit_code == 1
    summary = json.loads((tmp_path / "summary.json").read_text())
    bad = {os.path.basename(problem["path"]) for problem in summary["problems"]}
    unreadable = {"truncated.jpg", "empty.png", "not-an-image.jpg", "bomb.png", "damaged.mp4", "gone.png"}
    assert bad == unreadable | {"pipe.jpg", "pipe.mp4", not_utf8}
    assert all(os.path.basename(p["path"]) in p["problem"] for p in summary["problems"])
    assert summary["labelled"] == 3
    assert summary["passed_over"] == 1
    assert (tmp_path / "out/photos/inner/c.v2.png").is_file()


def test_a_stopped_run_goes_on_where_it_was(label, photos, tmp_path):
    assert label(photos).exit_code == 0
    results = tmp_path / "out/photos"
    (results / "b.png").unlink()
    before = (results / "a.png").stat().st_mtime_ns
    done = label(photos, "--json", tmp_path / "summary.json")
    assert done.exit_code == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["labelled"], summary["labelled_before"]) == (1, 2)
    assert (results / "a.png").stat().st_mtime_ns == before
    assert (results / "b.png").is_file()


def test_a_picture_that_changed_is_labelled_again_and_so_is_all_with_redo(label, photos, tmp_path):
    def labelled(*options):
        assert label(photos, *options, "--json", tmp_path / "summary.json").exit_code == 0
        return json.loads((tmp_path / "summary.json").read_text())["labelled"]

    assert labelled() == 3
    later = (tmp_path / "out/photos/a.png").stat().st_mtime + 5
    os.utime(photos / "a.png", (later, later))
    assert labelled() == 1
    assert labelled("--redo") == 3


def test_results_of_two_ways_are_not_mixed(label, photos):
    assert label(photos, "--budget", "100ms").exit_code == 0
    other = label(photos, "--budget", "50ms")
    assert isinstance(other.exception, ConfigError)
    assert "--redo" in str(other.exception)
    assert label(photos, "--budget", "50ms", "--redo").exit_code == 0


def test_results_inside_the_source_folder_are_not_sources(photos):
    out = photos / "labels"
    out.mkdir()
    Image.new("RGB", (4, 4)).save(out / "old.png")
    found = find_sources([str(photos)], out)
    assert [source.path.name for source in found.sources] == ["a.png", "b.jpg", "c.v2.png"]


def test_pictures_that_differ_in_suffix_only_keep_it(photos, tmp_path):
    Image.new("RGB", (4, 4)).save(photos / "a.jpg")
    targets = {str(s.target.relative_to(tmp_path)) for s in find_sources([str(photos)], tmp_path).sources}
    assert {"photos/a.png", "photos/a.jpg", "photos/b"} <= targets
    (tmp_path / "other/photos").mkdir(parents=True)
    Image.new("RGB", (4, 4)).save(tmp_path / "other/photos/b.jpg")
    with pytest.raises(ConfigError, match="same name"):
        find_sources([str(photos), str(tmp_path / "other/photos")], tmp_path)


def test_nothing_to_label_is_an_error(label, tmp_path):
    (tmp_path / "bare").mkdir()
    done = label(tmp_path / "bare")
    assert isinstance(done.exception, ConfigError)
    wrong = label(tmp_path / "bare", "--budget", "20")
    assert "20ms" in str(wrong.exception)


@pytest.fixture
def video(streets, tmp_path):
    """Six frames that pan over a scene."""
    av = pytest.importorskip("av")
    image = np.repeat(streets.split("val")[0].image, 2, axis=1)
    path = tmp_path / "drive.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 120, 88, "yuv420p"
        for shift in range(6):
            frame = np.ascontiguousarray(image[:88, 4 * shift : 4 * shift + 120])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return path


def test_a_video_becomes_a_folder_of_frames(label, video, tmp_path):
    done = label(video, "--trace")
    assert done.exit_code == 0, done.output
    frames = sorted((tmp_path / "out/drive").glob("*[0-9].png"))
    assert [frame.name for frame in frames] == [f"{index:06d}.png" for index in range(6)]
    assert Image.open(frames[0]).size == (120, 88)
    trace = json.loads((tmp_path / "out/drive/000003.trace.json").read_text())["trace"]
    assert len(trace) > 0


def test_workers_share_the_files(label, photos, tmp_path):
    done = label(photos, "--workers", 2, "--json", tmp_path / "summary.json")
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "summary.json").read_text())["labelled"] == 3


def test_a_photo_is_never_replaced_by_its_labels(label, photos, tmp_path):
    before = {path: path.read_bytes() for path in photos.rglob("*") if path.is_file()}
    for sources, out in (([photos / "a.png"], photos), ([photos], tmp_path), ([photos / "*.png"], photos)):
        done = label(*sources, "--overlay", out=out)
        assert isinstance(done.exception, ConfigError), done.output
        assert "is read by this command" in str(done.exception)
    assert {path: path.read_bytes() for path in photos.rglob("*") if path.is_file()} == before


def test_files_that_lie_where_results_would_go_are_kept(label, photos, tmp_path):
    for kind in (".png", ".overlay.png"):
        own = tmp_path / "out" / f"b{kind}"
        own.parent.mkdir(exist_ok=True)
        own.write_bytes((photos / "a.png").read_bytes())
        done = label(photos / "b.jpg", "--overlay", "--redo")
        assert f"b{kind} is there already and was not written by anyscene" in str(done.exception)
        own.unlink()
    assert not list((tmp_path / "out").iterdir())


def test_two_results_of_one_name_are_refused(label, photos, tmp_path):
    Image.open(photos / "a.png").save(photos / "b.overlay.png")
    done = label(photos / "b.jpg", photos / "b.overlay.png", "--overlay")
    assert "would both be labelled into" in str(done.exception)
    assert not (tmp_path / "out").exists()
    assert label(photos / "b.jpg", photos / "b.overlay.png").exit_code == 0


def test_a_video_and_pictures_do_not_share_a_folder(label, photos, tmp_path):
    (tmp_path / "photos.mp4").write_bytes(b"")
    done = label(photos, tmp_path / "photos.mp4")
    assert "would both be labelled into" in str(done.exception)


def test_results_among_the_photos_are_not_labelled_the_next_time(label, photos, tmp_path):
    (photos / "a.png").unlink()
    (photos / "inner/c.v2.png").unlink()
    for labelled_before in (0, 1):
        done = label(photos, "--json", "-", out=tmp_path)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["labelled_before"] == labelled_before


def records(out):
    return [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]


def test_every_image_has_a_record_and_ids_have_names(label, photos, tmp_path, engine):
    (photos / "bad.jpg").write_bytes(b"no picture")
    done = label(photos, "--budget", "500ms", "--confidence", "--json", "-")
    assert done.exit_code == 1
    found = {Path(one["file"]).name: one for one in records(tmp_path / "out")}
    assert len(found) == 4
    one = found["a.png"]
    assert (one["status"], one["width"], one["height"], one["budget_ms"]) == ("labelled", 120, 90, 500)
    assert 0 < one["ms"] < 500
    assert one["plan"]
    assert sum(one["shares"].values()) == pytest.approx(1)
    assert 0 < one["confidence"] <= 1
    assert np.asarray(Image.open(one["result"])).shape == (90, 120)
    assert found["bad.jpg"]["status"] == "failed"
    assert "bad.jpg" in found["bad.jpg"]["error"]
    told = json.loads(done.stdout)["records"]
    assert {one["file"] for one in told} == {one["file"] for one in found.values()}
    classes = json.loads((tmp_path / "out/classes.json").read_text())
    assert classes["names"] == list(engine.classes.names)


def test_the_share_of_deadlines_met_is_told_in_percent(label, photos):
    assert re.search(r"deadlines met\D+100\.0%", label(photos, "--budget", "60s").output)


def test_a_record_that_was_cut_short_is_passed_over_and_the_latest_counts(label, photos, tmp_path):
    label(photos / "a.png", "--budget", "300ms")
    with open(tmp_path / "out/records.jsonl", "a") as file:
        file.write('{"file": "half a li')
    assert label(photos / "a.png", photos / "b.jpg", "--budget", "300ms", "--redo").exit_code == 0
    assert [Path(one["file"]).name for one in records(tmp_path / "out")] == ["a.png", "b.jpg"]


def test_results_can_be_learned_from(label, photos, tmp_path):
    label(photos)
    data = tmp_path / "data"
    shutil.copytree(photos, data / "images")
    shutil.copytree(tmp_path / "out/photos", data / "labels")
    shutil.copy(tmp_path / "out/classes.json", data)
    assert CliRunner().invoke(app, ["data", "check", f"folder:{data}"]).exit_code == 0


def test_one_photo_says_where_its_labels_are_and_what_is_seen(label, photos, tmp_path):
    said = label(photos / "a.png").output
    assert str(tmp_path / "out/a.png") in said.replace("\n", "")
    assert "120x90 in " in said
    assert "% sure: " in said
    assert "%, " in said
    again = label(photos / "a.png").output.replace("\n", "")
    assert f"{tmp_path / 'out/a.png'}, labelled before; --redo labels it again" in again


def test_classes_that_would_be_told_as_nothing_are_left_out():
    assert _seen({"road": 0.9996, "car": 0.0004}) == "road 100.0%"


def test_where_nothing_can_be_kept_notes_say_so_and_labels_are_made(photos, model_file, tmp_path):
    (tmp_path / "file").touch()
    out = tmp_path / "out"
    command = [sys.executable, "-m", "anyscene", "label", photos / "a.png", "--model", model_file, "-o", out]
    nowhere = os.environ | {"ANYSCENE_CACHE": str(tmp_path / "file/cache")}
    done = subprocess.run(command, env=nowhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    assert f"note: the cache folder {tmp_path / 'file/cache'} cannot be written" in told[0]
    assert "`anyscene calibrate --model NAME` does it beforehand" in told[1]
    assert (out / "a.png").is_file()


def test_nothing_to_do_takes_no_model(label, photos, monkeypatch):
    label(photos)
    monkeypatch.setattr("anyscene.apps.label_jobs.load", lambda *_: pytest.fail("it was loaded"))
    done = label(photos, "--json", "-")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["labelled_before"] == 3


def test_the_same_error_is_told_once(label, photos):
    for index in range(5):
        (photos / f"bad{index}.jpg").write_bytes(b"")
    done = label(photos)
    assert done.exit_code == 1
    assert done.output.count("the file is empty") == 1
    assert "(and 4 more for the same reason)" in done.output


def test_a_full_disk_stops_the_job_and_names_the_output(label, photos, tmp_path, monkeypatch):
    def full(path):
        if path.parent.name == "photos":
            raise OSError(28, "No space left on device")
        return write_atomically(path)

    label(photos / "a.png")
    monkeypatch.setattr("anyscene.apps.results.write_atomically", full)
    done = label(photos, "--redo")
    assert isinstance(done.exception, ConfigError)
    assert f"cannot write {tmp_path / 'out/photos/a.png'}: No space left" in str(done.exception)


def test_until_above_one_is_refused_once(label, photos):
    done = label(photos, "--until", "2")
    assert done.exit_code == 2
    assert done.output.count("--until") <= 2


def test_paths_from_a_list(label, photos, tmp_path):
    listing = tmp_path / "list.txt"
    listing.write_text(f"{photos / 'a.png'}\n\n{photos / 'inner'}\n")
    done = label("--files-from", listing, "--json", "-")
    assert json.loads(done.stdout)["labelled"] == 2
    listing.write_text(f"{photos / 'b.jpg'}\0")
    assert json.loads(label("--files-from", listing, "--json", "-").stdout)["labelled"] == 1
    assert isinstance(label("--files-from", tmp_path / "none").exception, ConfigError)
    assert isinstance(label().exception, ConfigError)


def test_paths_from_standard_input(photos, model_file, engine, tmp_path):
    arguments = ["label", "--files-from", "-", "--model", model_file, "-o", tmp_path / "out"]
    done = CliRunner().invoke(app, [str(one) for one in arguments], input=f"{photos / 'a.png'}\n")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out/a.png").is_file()


def test_png_is_the_form_that_is_written_in_any_case(label, photos, tmp_path):
    for out, more in (("plain", ()), ("named", ("--format", "png"))):
        assert label(photos / "a.png", *more, out=out).exit_code == 0
    written = [{path.name for path in (tmp_path / out).iterdir()} for out in ("plain", "named")]
    assert written[0] == written[1]
    assert "a.png" in written[0]


def test_coco_json_lines_and_cityscapes(label, photos, tmp_path):
    done = label(photos, "--format", "coco", "--format", "jsonl", "--format", "cityscapes")
    assert done.exit_code == 0, done.output
    out = tmp_path / "out"
    ids = {str(photos / name): np.asarray(Image.open(out / "photos" / to)) for name, to in RESULTS.items()}
    document = json.loads((out / "annotations.coco.json").read_text())
    assert {image["file_name"] for image in document["images"]} == set(ids)
    files = {image["id"]: image["file_name"] for image in document["images"]}
    for mark in document["annotations"]:
        found = ids[files[mark["image_id"]]] == mark["category_id"] - 1
        np.testing.assert_array_equal(runs.decode(mark["segmentation"]), found)
    for line in (out / "segments.jsonl").read_text().splitlines():
        one = json.loads(line)
        assert sum(segment["area"] for segment in one["segments"]) == ids[one["file"]].size
    cityscapes = np.asarray(Image.open(out / "photos/a_labelIds.png"))
    sky = json.loads((out / "classes.json").read_text())["names"].index("sky")
    np.testing.assert_array_equal(cityscapes == 23, ids[str(photos / "a.png")] == sky)


RESULTS = {"a.png": "a.png", "b.jpg": "b.png", "inner/c.v2.png": "inner/c.v2.png"}


def test_overlays_have_a_legend_below_and_outlines(label, photos, tmp_path):
    label(photos / "a.png", "--overlay", "--opacity", "0")
    drawn = np.asarray(Image.open(tmp_path / "out/a.overlay.png"))
    photo = np.asarray(Image.open(photos / "a.png"))
    assert drawn.shape[0] > 90
    assert drawn.shape[1] == 120
    differs = (drawn[:90] != photo).any(axis=2)
    ids = np.asarray(Image.open(tmp_path / "out/a.png")).astype(int)
    step = np.abs(np.diff(ids, axis=1)) > 0
    assert differs[:, 1:][step].mean() > 0.9
    assert differs.mean() < 0.6
    assert (drawn[90:] == 255).mean() > 0.3
    colors = json.loads((tmp_path / "out/classes.json").read_text())["colors"]
    in_legend = set(map(tuple, drawn[90:].reshape(-1, 3).tolist()))
    assert in_legend >= {tuple(colors[index]) for index in np.unique(ids)}


def test_a_total_is_shared_fairly_and_held(label, photos, tmp_path):
    for index in range(8):
        shutil.copy(photos / "a.png", photos / f"more{index}.png")
    begun = time.monotonic()
    done = label(photos, "--total", "20s", "--json", "-")
    assert time.monotonic() - begun < 20
    budgets = [one["budget_ms"] for one in json.loads(done.stdout)["records"]]
    assert all(budget > 20_000 / 11 * 0.5 for budget in budgets)
    late = label(photos, "--total", "0.001ms", "--redo", "--json", "-")
    assert late.exit_code == 1
    assert "no time was left" in late.output


def test_a_video_without_frames_is_named(label, tmp_path):
    av = pytest.importorskip("av")
    with av.open(str(tmp_path / "none.mp4"), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        container.start_encoding()  # without it no file is written at all
    done = label(tmp_path / "none.mp4")
    assert done.exit_code == 1, done.output
    assert "none.mp4: holds no video; name a video file" in done.output


def test_a_missing_file_alone_is_one_sentence_and_makes_nothing(tmp_path):
    done = CliRunner().invoke(app, ["label", str(tmp_path / "gone.jpg"), "-o", str(tmp_path / "labels")])
    assert isinstance(done.exception, ConfigError)
    assert str(done.exception).endswith("gone.jpg: there is no such file or folder; check the path")
    assert not list(tmp_path.iterdir())


def test_names_in_a_list_with_nul_between_them_may_hold_carriage_returns(tmp_path):
    (tmp_path / "list").write_bytes(b"a\r.png\0b\xff.png")
    assert listed_paths(str(tmp_path / "list")) == ["a\r.png", "b\udcff.png"]
