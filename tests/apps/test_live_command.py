"""`anyscene live` and `anyscene label --live`: streams at the command line."""

import json
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
from PIL import Image

from anyscene.apps.live import Newest, open_source, status_line
from anyscene.apps.video import VideoWriter, read_frames, read_stamped_frames
from anyscene.data.camera_paths import PathFrames, camera_path
from anyscene.errors import ImageError
from anyscene.marks import is_ours
from anyscene.streams.live import Status

av = pytest.importorskip("av")
FRAMES = 12


@pytest.fixture(scope="module")
def drive(streets, tmp_path_factory):
    """A video of a camera that pans over a generated street."""
    path = tmp_path_factory.mktemp("drive") / "drive.mp4"
    frames = PathFrames(
        streets.split("val")[0], camera_path("pan", 0.01, FRAMES, np.random.default_rng(0)), 0
    )
    with VideoWriter(path, "overlay", 20.0) as video:
        for scene in frames:
            video.add(scene.image)
    return path


def run(*arguments):
    from typer.testing import CliRunner

    from anyscene.apps.main import app

    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    return result


def test_a_video_of_ids_loses_nothing(tmp_path):
    ids = np.random.default_rng(0).integers(0, 256, (5, 31, 47)).astype(np.uint8)
    with VideoWriter(tmp_path / "ids.mkv", "ids", 25.0) as video:
        for each in ids:
            video.add(each)
    found = [frame[..., 0] for frame in read_frames(tmp_path / "ids.mkv")]
    assert (np.array(found) == ids).all()
    assert is_ours(tmp_path / "ids.mkv")


def test_pictures_are_shown_when_they_came_and_scaled_to_the_first(tmp_path):
    with VideoWriter(tmp_path / "ids.mkv", "ids") as video:
        for at_ms, size in ((0.0, 32), (40.0, 64), (240.0, 16), (240.0, 32)):
            video.add(np.full((size, size), size, np.uint8), at_ms)
    stamps, frames = zip(*read_stamped_frames(tmp_path / "ids.mkv"), strict=True)
    assert stamps == (0.0, 40.0, 240.0, 241.0)
    assert [int(frame[0, 0, 0]) for frame in frames] == [32, 64, 16, 32]
    assert {frame.shape for frame in frames} == {(32, 32, 3)}
    assert all((frame == frame[0, 0]).all() for frame in frames)


def test_frames_come_with_their_times(drive):
    stamps = [stamp for stamp, _ in read_stamped_frames(drive)]
    assert len(stamps) == FRAMES
    assert np.allclose(np.diff(stamps), 50.0, atol=1.0)
    assert is_ours(drive)


def test_a_video_that_was_not_finished_is_not_there(tmp_path):
    def stop_in_the_middle():
        with VideoWriter(tmp_path / "o.mp4", "overlay", 25.0) as video:
            video.add(np.zeros((32, 32, 3), np.uint8))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stop_in_the_middle()
    assert list(tmp_path.iterdir()) == []


def test_live_plays_a_file_and_writes_what_was_asked_for(drive, model_file, tmp_path):
    result = run(
        *("live", drive, "--model", model_file, "--budget", "20ms", "-o", tmp_path / "labels"),
        *("--overlay-video", tmp_path / "o.mp4", "--ids-video", tmp_path / "ids.mkv"),
        *("--json", tmp_path / "s.json"),
    )
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["frames"] + summary["dropped"] == FRAMES
    pictures = sorted((tmp_path / "labels").glob("*.png"))
    ids = [frame[..., 0] for frame in read_frames(tmp_path / "ids.mkv")]
    assert len(pictures) == len(ids) == len(list(read_frames(tmp_path / "o.mp4"))) == summary["frames"]
    assert (np.asarray(Image.open(pictures[-1])) == ids[-1]).all()


def test_a_folder_of_live_labels_says_what_ids_mean_and_what_became_of_each_frame(
    drive, model_file, streets, tmp_path
):
    folder = tmp_path / "labels"
    for _ in range(2):  # the second time in place of the first
        assert run("live", drive, "--model", model_file, "--budget", "20ms", "-o", folder).exit_code == 0
    assert json.loads((folder / "classes.json").read_text())["names"] == list(streets.classes.names)
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    assert [one["frame"] for one in records] == list(range(len(records)))
    assert 0 < len(records) <= FRAMES
    for one in records:
        assert (one["file"], one["status"], one["budget_ms"]) == (str(drive), "labelled", 20)
        assert np.asarray(Image.open(one["result"])).shape == (one["height"], one["width"])
        assert sum(one["shares"].values()) == pytest.approx(1)


def test_frames_that_come_too_fast_are_dropped_and_told(streets, model_file, tmp_path):
    path = tmp_path / "fast.mkv"
    scenes = streets.split("val")
    with VideoWriter(path, "overlay", 1000.0) as video:
        for number in range(60):
            video.add(scenes[number % len(scenes)].image)  # a cut each time: a still scene takes no time
    result = run("live", path, "--model", model_file, "--budget", "20ms", "--json", tmp_path / "s.json")
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["dropped"] > 0
    assert summary["frames"] + summary["dropped"] == 60


def test_live_takes_an_address(drive, model_file, tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=drive.parent))
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/{drive.name}"
    try:
        result = run("live", address, "--model", model_file, "--json", tmp_path / "s.json")
    finally:
        server.shutdown()
        server.server_close()
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["frames"] + summary["dropped"] == FRAMES


def test_the_status_line_tells_rate_lateness_age_and_share():
    status = Status(frames=30, late=2, restarts=1, looks=9, age_ms=66.4, cpu_share=0.314)
    line = status_line(status, dropped=3, passed=2.0)
    assert line == "15.0 fps · 2 late · 3 dropped · evidence 66 ms old · 31% of a core"


def test_a_camera_that_is_not_there_is_one_sentence(model_file):
    with pytest.raises(ImageError, match="no camera number 97"):
        run("live", "97", "--model", model_file)


def test_label_live_labels_every_frame_and_goes_on_where_it_was(drive, model_file, tmp_path):
    command = ("label", drive, "--live", "--model", model_file, "--budget", "20ms", "-o", tmp_path / "out")
    result = run(*command, "--overlay-video", tmp_path / "o.mp4", "--json", tmp_path / "s.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "s.json").read_text())["labelled"] == FRAMES
    assert len(list(read_frames(tmp_path / "o.mp4"))) == FRAMES
    (tmp_path / "out" / "drive" / "000005.png").unlink()
    run(*command, "--json", tmp_path / "s.json")
    again = json.loads((tmp_path / "s.json").read_text())
    assert (again["labelled"], again["labelled_before"]) == (1, FRAMES - 1)


def test_an_overlay_video_needs_one_video_and_live(drive, model_file, tmp_path):
    from anyscene.errors import ConfigError

    with pytest.raises(ConfigError, match="exactly one video"):
        run(
            "label",
            drive,
            "--model",
            model_file,
            "-o",
            tmp_path / "out",
            "--overlay-video",
            tmp_path / "o.mp4",
        )


def test_a_video_that_is_not_there_is_named_also_with_an_overlay_video(model_file, tmp_path):
    from anyscene.errors import ConfigError

    outputs = "-o", tmp_path / "out", "--overlay-video", tmp_path / "o.mp4"
    with pytest.raises(ConfigError, match=r"gone\.mp4: there is no such file"):
        run("label", tmp_path / "gone.mp4", "--live", "--model", model_file, *outputs)


def test_a_source_that_is_not_there_is_one_sentence(model_file, tmp_path):
    with pytest.raises(ImageError, match="no such file"):
        run("live", tmp_path / "none.mp4", "--model", model_file)


def test_frames_that_nobody_takes_are_dropped_and_counted():
    frames = [np.full((2, 2, 3), number, np.uint8) for number in range(6)]
    with Newest(iter(frames)) as newest:
        time.sleep(0.2)
        last = newest.take()
        assert last[0, 0, 0] == 5
        assert newest.take() is None
        assert newest.dropped == 5


def test_what_stops_a_source_is_kept_to_be_told():
    def breaks():
        yield np.zeros((2, 2, 3), np.uint8)
        raise ImageError("unplugged")

    with Newest(breaks()) as newest:
        taken = [newest.take(), newest.take()]
    assert taken[1] is None
    assert str(newest.problem) == "unplugged"


def test_only_our_sentence_tells_of_a_missing_camera(capfd):
    with pytest.raises(ImageError, match="no camera number 97"):
        open_source("97")
    assert capfd.readouterr().err == ""
