"""`anyscene label`: all kinds of sources; bad files named and passed over; stopped runs that go on."""

import json
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.apps.sources import find_sources
from anyscene.errors import ConfigError


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
    assert made == {f"{stem}{kind}" for stem in stems for kind in kinds} | {"anyscene-label.json"}
    ids = np.asarray(Image.open(tmp_path / "out/photos/a.png"))
    assert ids.shape == (90, 120)
    assert ids.max() < len(engine.classes)
    trace = json.loads((tmp_path / "out/photos/a.trace.json").read_text())
    assert trace["deadline_met"] in (True, False)
    assert sum(trace["shares"].values()) == pytest.approx(1)
    assert "images labelled" in done.output


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


@pytest.mark.parametrize("carry", [False, True])
def test_a_video_becomes_a_folder_of_frames(label, video, tmp_path, carry):
    done = label(video, "--trace", *(["--carry"] if carry else []))
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
