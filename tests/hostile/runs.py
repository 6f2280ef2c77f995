"""Whole commands under attack: folders of damaged files, kills at any moment, writes that fail."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.hostile.mutators import damaged_file
from tests.hostile.trained import DATA, config_file, pictures, video
from tests.hostile.wards import ROOT

SECONDS = 300


def command(*arguments: object, module: str = "anyscene") -> subprocess.Popen:
    """Start a command of anyscene."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    pipe = subprocess.PIPE
    words = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, errors="replace", env=env)


def finish(process: subprocess.Popen) -> tuple[int | None, str]:
    """Wait for a command; how it ended, and all that it said."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, "hang"
    return process.returncode, out + err


def label_folder(model: Path, folder: Path, good: list[Path], workers: int) -> dict:
    """Label a folder; every good file must have labels, and every other one labels, or be named."""
    out = folder.parent / "out"
    code, said = finish(
        command("label", folder, "--model", model, "-o", out, "--budget", "5ms", "--workers", workers)
    )
    if code is None or code < 0 or "Traceback" in said:
        return {
            "verdict": "hang" if code is None else "crash" if code < 0 else "traceback",
            "text": said[-400:],
        }
    made = {part for path in out.rglob("*.png") for part in path.relative_to(out).parts}
    records = out / "records.jsonl"
    named = records.read_text() if records.exists() else said

    def has_labels(path: Path) -> bool:
        return any(name.startswith(path.name.partition(".")[0]) for name in made)

    unsaid = [path.name for path in folder.iterdir() if not has_labels(path) and path.name not in named]
    unlabelled = [path.name for path in good if not has_labels(path)]
    if unsaid or unlabelled:
        return {"verdict": "lost", "text": f"{unsaid} {unlabelled} {said[-200:]}"}
    return {"verdict": "equal" if code == 0 else "refused", "files": len(list(folder.iterdir()))}


def damaged_pictures(place: Path, random: np.random.Generator, count: int = 40) -> tuple[Path, list[Path]]:
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


def damaged_videos(place: Path, random: np.random.Generator, count: int = 6) -> tuple[Path, list[Path]]:
    """Make a folder of videos, the first of them good."""
    folder = place / "videos"
    folder.mkdir(parents=True)
    content = video(place)
    for number in range(count):
        path = folder / f"v{number:03d}.mp4"
        path.write_bytes(damaged_file(content, random) if number else content)
    return folder, [folder / "v000.mp4"]


def words_of(kind: str, place: Path, out: Path, model: Path, source: Path) -> list[object]:
    """A command that writes files into a folder; it takes seconds."""
    if kind == "label":
        return ["label", source, "--model", model, "-o", out, "--workers", 2]
    if kind == "train":
        costs = Path(f"{model}.run") / "costs.json"
        options = ["--config", config_file(place), "--without-network", "--costs", costs]
        return ["train", "--data", DATA, "-o", out / "m.anyscene", *options]
    options = ["--systems", "dnm,sm", "--images", 4, "--jobs", 2]
    return ["evaluate", "--data", DATA, "--model", model, "-o", out, *options]


def is_same(kind: str, found: Path, expected: Path) -> bool:
    """Tell whether the results of two runs are the same bytes; a report holds times and is not compared."""
    suffix = {"label": ".png", "train": ".anyscene", "evaluate": ".none"}[kind]
    return all(
        (found / path.relative_to(expected)).read_bytes() == path.read_bytes()
        for path in expected.rglob(f"*{suffix}")
    )


def on_failing_disk(place: Path, number: int, model: Path, source: Path) -> dict:
    """Let one write, sync or rename of a command fail, run it again, and compare with one that went well."""
    kind, fails_at = ("label", "train", "evaluate")[number % 3], 1 + number // 3
    words = words_of(kind, place, place / "a", model, source)
    if kind != "train":
        words[-1] = 1  # workers have disks of their own
    code, said = finish(command(fails_at, *words, module="tests.hostile.faulty"))
    plain = " ".join(said.split())
    if code is None or "Traceback" in said or (code and "No space left on device" not in plain):
        verdict = "hang" if code is None else "traceback" if "Traceback" in said else "lost"
        return {"verdict": verdict, "text": f"{kind} {fails_at} {said[-400:]}"}
    again, told = finish(command(*words))
    stale = [path.name for path in place.rglob("*.partial")]
    if again != 0 or stale:
        return {"verdict": "stale" if stale else "lost", "text": f"{kind} {fails_at} {told[-400:]} {stale}"}
    whole = place.parent / f"whole-{kind}"
    if not whole.exists():
        finish(command(*words_of(kind, place, whole, model, source)))
    same = is_same(kind, place / "a", whole)
    return {
        "verdict": "different" if not same else "refused" if code else "equal",
        "text": f"{kind} {fails_at}",
    }


def killed(place: Path, random: np.random.Generator, model: Path, source: Path) -> dict:
    """Kill a command at some moment, run it again, and compare with a run that nobody killed."""
    kind = str(random.choice(["label", "train", "evaluate"]))
    how = signal.SIGKILL if random.random() < 0.5 else signal.SIGTERM

    def words(out: Path) -> list[object]:
        return words_of(kind, place, out, model, source)

    victim = command(*words(place / "a"))
    time.sleep(float(random.uniform(0.3, 12)))
    children = _children(victim.pid)
    victim.send_signal(how)
    victim.communicate()
    time.sleep(2.0)
    orphans = [pid for pid in children if _is_alive(pid)]
    code, said = finish(command(*words(place / "a")))
    stale = [path.name for path in (place / "a").rglob("*.partial")]
    if orphans or stale or "Traceback" in said or code != 0:
        verdict = (
            "orphan" if orphans else "stale" if stale else "traceback" if "Traceback" in said else "lost"
        )
        return {"verdict": verdict, "text": f"{kind} {how.name} {orphans} {stale} {said[-300:]}"}
    whole = place.parent / f"whole-{kind}"
    if not whole.exists():
        finish(command(*words(whole)))
    same = is_same(kind, place / "a", whole)
    return {"verdict": "equal" if same else "different", "text": f"{kind} {how.name}"}


def _children(process: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True)
    own = [int(word) for word in found.stdout.split()]
    return own + [grandchild for child in own for grandchild in _children(child)]


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
