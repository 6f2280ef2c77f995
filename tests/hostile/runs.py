"""Whole commands under attack: folders of damaged files, kills at any moment."""

import shutil
import signal
import time
from functools import cache
from pathlib import Path

import numpy as np

from tests.hostile.forge import MODELS
from tests.hostile.internet import forbid_internet
from tests.hostile.mutators import damaged_file
from tests.hostile.trained import DATA, config_file, pictures, video
from tests.hostile.wards import Command, Ended, outlives

COMMANDS = ("label", "train", "evaluate", "manifest")
"""Kinds of commands that can be killed: "manifest" labels with one, as jobs on clusters do."""


def told(ended: Ended, verdict: str, text: object = "") -> dict:
    """A line of the journal: what is wrong with every command comes first."""
    fault = ended.fault
    words = f"{text} {ended.said[-400:]}" if fault or verdict not in ("equal", "refused") else str(text)
    return {"verdict": fault or verdict, "text": words, "peak": ended.peak}


def label_folder(model: Path, folder: Path, good: list[Path], workers: int) -> dict:
    """Label a folder; every good file must have labels, and every other one labels, or be named."""
    out = folder.parent / "out"
    options = ("--model", model, "-o", out, "--budget", "5ms", "--workers", workers)
    ended = Command("label", folder, *options).finish()
    made = {part for path in out.rglob("*.png") for part in path.relative_to(out).parts}
    records = out / "records.jsonl"
    named = records.read_text() if records.exists() else ended.said

    def has_labels(path: Path) -> bool:
        return any(name.startswith(path.name.partition(".")[0]) for name in made)

    files = list(folder.iterdir())
    unsaid = [path.name for path in files if not has_labels(path) and path.name not in named]
    unlabelled = [path.name for path in good if not has_labels(path)]
    verdict = "lost" if unsaid or unlabelled else "refused" if ended.code else "equal"
    return {**told(ended, verdict, f"{unsaid} {unlabelled}"), "files": len(files)}


def damaged_pictures(place: Path, random: np.random.Generator, count: int = 100) -> tuple[Path, list[Path]]:
    """Make a folder of pictures, some of them good; the folder, and the good ones."""
    folder = place / "pictures"
    folder.mkdir(parents=True)
    kinds = list(pictures().items())
    good = []
    for number in range(count):
        suffix, content = kinds[int(random.integers(len(kinds)))]
        path = folder / f"p{number:03d}.{suffix}"
        is_good = random.random() < 0.3
        path.write_bytes(content if is_good else damaged_file(content, random))
        good += [path] * is_good
    return folder, good


def damaged_videos(place: Path, random: np.random.Generator, count: int = 15) -> tuple[Path, list[Path]]:
    """Make a folder of videos, the first of them good."""
    folder = place / "videos"
    folder.mkdir(parents=True)
    content = video()
    for number in range(count):
        path = folder / f"v{number:03d}.mp4"
        path.write_bytes(damaged_file(content, random) if number else content)
    return folder, [folder / "v000.mp4"]


def words_of(kind: str, place: Path, out: Path, model: Path, source: Path, workers: int = 2) -> list[object]:
    """A command that writes files into a folder; it takes seconds."""
    if kind == "label":
        return ["label", source, "--model", model, "-o", out, "--workers", workers]
    if kind == "manifest":
        return ["label", f"file://{source}", "--model", model, "-o", f"file://{out}", "--workers", workers]
    if kind == "train":
        costs = Path(f"{model}.run") / "costs.json"
        options = ["--config", config_file(place), "--without-network", "--costs", costs]
        return ["train", "--data", DATA, "-o", out / "m.anyscene", *options]
    options = ["--systems", "dnm,sm", "--images", 8, "--split", "train", "--jobs", workers]
    return ["evaluate", "--data", DATA, "--model", model, "-o", out, *options]


def is_same(kind: str, found: Path, expected: Path) -> bool:
    """Tell whether the results of two runs are the same bytes.

    Of evaluations, traces are compared: their costs are the model's. Reports hold times of day.
    """
    if kind == "manifest" and recorded(found) != recorded(expected):
        return False
    pattern = {"train": "*.anyscene", "evaluate": "work/*/*.safetensors"}.get(kind, "*.png")
    paths = list(expected.rglob(pattern))
    return bool(paths) and all(
        (place := found / path.relative_to(expected)).exists() and place.read_bytes() == path.read_bytes()
        for path in paths
    )


def recorded(out: Path) -> list[tuple[str, str]]:
    """What a manifest says became of each image."""
    from anyscene.cluster.manifest import Manifest
    from anyscene.cluster.places import place

    tables = Manifest(place(str(out))).tables(["file", "status"])
    return sorted((row["file"], row["status"]) for table in tables for row in table.to_pylist())


@cache
def whole_run(kind: str, folder: Path, model: Path, source: Path) -> tuple[Path, float]:
    """The results of a command that nobody disturbs, and the seconds that it takes; kept in the folder."""
    out, kept = folder / f"whole-{kind}-warm", folder / f"whole-{kind}-seconds"
    if kept.exists():
        return out, float(kept.read_text())
    for turn in ("cold", "warm"):
        begun, out = time.monotonic(), folder / f"whole-{kind}-{turn}"
        shutil.rmtree(out, ignore_errors=True)
        ended = Command(*words_of(kind, folder, out, model, source)).finish()
        if ended.fault or ended.code:
            raise RuntimeError(f"{kind} does not even work undisturbed: {ended.said}")
    kept.write_text(str(time.monotonic() - begun))
    return out, float(kept.read_text())


def killed(place: Path, random: np.random.Generator, number: int, model: Path, source: Path) -> dict:
    """Kill a command at some moment, run it again, and compare with a run that nobody killed."""
    kind = COMMANDS[number % len(COMMANDS)]
    how = (signal.SIGKILL, signal.SIGTERM)[number // len(COMMANDS) % 2]
    expected, seconds = whole_run(kind, place.parent, model, source)
    words = words_of(kind, place, place / "a", model, source)
    victim, moment = Command(*words), float(random.uniform(0.1, 1.0)) * seconds
    while victim.watch(moment):  # it was faster this time, and has ended
        victim.finish()
        shutil.rmtree(place / "a")
        victim, moment = Command(*words), moment / 2
    begun = victim.processes()
    victim.send(how)
    first = victim.finish(10)
    told_why = f"{kind} {how.name}"
    if first.code is None or "Traceback" in first.said:
        return told(first, "hang", told_why)
    orphans = [pid for pid in begun if outlives(pid)]
    again = Command(*words).finish()
    stale = [path.name for path in (place / "a").rglob("*.partial")]
    if orphans or stale or again.code:
        return told(again, "orphan" if orphans else "stale" if stale else "lost", f"{told_why} {stale}")
    return told(again, "equal" if is_same(kind, place / "a", expected) else "different", told_why)


def without_internet(place: Path, number: int, model: Path, source: Path) -> dict:
    """Run a command that the kernel ends when it asks for the internet."""
    if number == len(COMMANDS):
        network = MODELS / "camvid.anyscene"
        words = ["label", source, "--model", network, "-o", place / "a", "--workers", 2]
    else:
        words = words_of(COMMANDS[number], place, place / "a", model, source)
    ended = Command(*words, forbid=forbid_internet).finish()
    return told(ended, "lost" if ended.code else "equal", words[0])
