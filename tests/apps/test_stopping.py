"""Real signals to real processes: commands stop at once, leave no process behind, and go on later."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from anyscene.apps.video import VideoWriter, read_frames

SOON = 1.0
"""Seconds within which a command stops; what the tests wait for is slower on a busy machine."""

SLACK = 1.0

LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="counts processes in /proc")


@pytest.fixture
def photos(streets, tmp_path):
    """More pictures than can be labelled before the signal comes."""
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.fromarray(streets.split("val")[0].image).resize((2400, 1800)).save(tmp_path / "photo.jpg")
    for index in range(200):
        os.link(tmp_path / "photo.jpg", folder / f"{index:03d}.jpg")
    return folder


def start(*arguments):
    """Start a command in a group of its own, as a terminal does."""
    command = [sys.executable, "-m", "anyscene", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


def session_of(process):
    """The live processes of a command: it, its workers, and theirs."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == process.pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def wait_until(happened, seconds=120):
    last = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < last, "it never came to that"
        time.sleep(0.02)


def stop(process, number, everyone=False):
    """Send a signal and wait for the end; return how long that took and what was said."""
    began = time.monotonic()
    (os.killpg if everyone else os.kill)(process.pid, number)
    try:
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    return time.monotonic() - began, said


@LINUX
@pytest.mark.parametrize(("number", "everyone"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
@pytest.mark.parametrize("workers", [1, 2])
def test_labeling_stops_at_once_and_goes_on_later(
    photos, model_file, engine, tmp_path, number, everyone, workers
):
    out = tmp_path / "out"
    arguments = ("label", photos, "--model", model_file, "-o", out, "--workers", workers)
    process = start(*arguments)
    wait_until(lambda: len(list(out.rglob("*.png"))) >= 6)
    took, said = stop(process, number, everyone)
    assert took < SOON + SLACK
    assert process.returncode == 128 + number
    assert "Traceback" not in said
    assert said.count("\n") == 1
    wait_until(lambda: not session_of(process), 2)
    done = len(list(out.rglob("*.png")))
    told = int(said.split()[2])
    assert said == f"stopped after {told} of 200; the same command goes on\n"
    assert done - 2 <= told <= done
    assert not list(out.rglob(".*.partial"))
    for path in sorted(photos.iterdir())[10:]:
        path.unlink()
    again = subprocess.run(
        [sys.executable, "-m", "anyscene", *map(str, arguments), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(again.stdout)["labelled_before"] >= min(done, 10) - 2


@LINUX
def test_a_second_signal_changes_nothing(photos, model_file, engine, tmp_path):
    process = start("label", photos, "--model", model_file, "-o", tmp_path / "out", "--workers", 2)
    wait_until(lambda: len(list((tmp_path / "out").rglob("*.png"))) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.02)
    took, said = stop(process, signal.SIGINT, everyone=True)
    assert took < SOON + SLACK
    assert process.returncode == 130
    assert (said.count("\n"), said.endswith("the same command goes on\n")) == (1, True)
    wait_until(lambda: not session_of(process), 2)


IN_COMPILED_CODE = """
import hashlib
from anyscene.apps.stopping import stands_at, stop_on_signals

stop_on_signals()
stands_at("1 of 2")
while True:
    try:
        print("ready", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # takes minutes, and never asks for signals
    except KeyboardInterrupt:  # the signal was there before it began
        pass
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_in_compiled_code_stops_all_the_same(number):
    command = [sys.executable, "-c", IN_COMPILED_CODE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    took, said = stop(process, number)
    assert took < SOON + SLACK
    assert process.returncode == 128 + number
    assert said == "stopped after 1 of 2; the same command goes on\n"


@LINUX
def test_workers_do_not_outlive_a_parent_that_is_killed(photos, model_file, engine, tmp_path):
    process = start("label", photos, "--model", model_file, "-o", tmp_path / "out", "--workers", 2)
    wait_until(lambda: len(list((tmp_path / "out").rglob("*.png"))) >= 2)
    assert len(session_of(process)) >= 3
    stop(process, signal.SIGKILL)
    wait_until(lambda: not session_of(process), SOON + SLACK)


@LINUX
def test_training_stops_at_once(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('sets = ["color", "position"]')
    process = start(
        *("train", "--data", "streets:40?size=240x180", "-o", tmp_path / "m.anyscene"),
        *("--without-network", "--config", config),
    )
    seen = tmp_path / "m.anyscene.run/bank.safetensors"
    wait_until(seen.exists, 300)
    time.sleep(0.5)
    took, said = stop(process, signal.SIGINT, everyone=True)
    assert took < SOON + SLACK
    assert process.returncode == 130
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("stopped after ")
    assert said.endswith("the same command goes on\n")
    assert not session_of(process)


@LINUX
def test_evaluating_stops_at_once(model_file, engine, tmp_path):
    process = start(
        *("evaluate", "--data", "streets:400?size=120x90", "--model", model_file, "--split", "train"),
        *("--systems", "dnm", "-o", tmp_path / "report", "--jobs", 2),
    )
    wait_until(lambda: list((tmp_path / "report/work").glob("dnm-*/*.safetensors")))
    took, said = stop(process, signal.SIGTERM)
    assert took < SOON + SLACK
    assert process.returncode == 128 + signal.SIGTERM
    assert "(images); the same command goes on" in said
    wait_until(lambda: not session_of(process), 2)


@LINUX
def test_a_live_stream_stops_at_once_and_keeps_what_was_labelled(streets, model_file, engine, tmp_path):
    pytest.importorskip("av")
    with VideoWriter(tmp_path / "drive.mp4", "overlay", 10.0) as video:
        for _ in range(600):  # a minute, played at its own speed
            video.add(streets.split("val")[0].image)
    out = tmp_path / "out"
    shown = tmp_path / "shown.mp4"
    process = start(
        *("live", tmp_path / "drive.mp4", "--model", model_file, "-o", out, "--overlay-video", shown)
    )
    wait_until(lambda: len(list(out.glob("*.png"))) >= 3)
    took, said = stop(process, signal.SIGINT, everyone=True)
    assert took < SOON + SLACK
    assert process.returncode == 0  # it is meant to be stopped
    assert "Traceback" not in said
    assert not session_of(process)
    assert len(list(read_frames(shown))) >= 3
    assert all(Image.open(path).size == (120, 90) for path in out.glob("*.png"))


@pytest.mark.parametrize("raised", ["RuntimeError", "anyscene.errors.ModelError", "SystemExit"])
def test_an_error_that_a_library_makes_of_a_signal_is_a_stop(raised):
    program = f"""
import os, signal, time
import typer
import anyscene.errors
from anyscene.apps.console import run_commands
app = typer.Typer()
@app.command()
def work():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    except KeyboardInterrupt:
        raise {raised}("what came of it") from None
run_commands(app)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 128 + signal.SIGTERM
    assert ended.stderr == "stopped\n"
