"""Files, folders and classes of odd names, given to every command that reads some."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np

import anyscene
from tests.hostile.runs import told
from tests.hostile.trained import DATA, config_file, pictures
from tests.hostile.wards import Command

PIECES = (
    b"\x1b]52;c;aGk=\x07",
    b"\x1b[2J",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\x9b31m",
    "\u202e".encode(),
    "道路".encode(),
    b"[bold]",
    b"\n",
    b"\r",
    b"\t",
    b" ",
    b"'",
    b'"',
    b"<script>",
    b"&amp;",
    b"%s{0}",
    b"*?",
    b"#",
    b",",
    b"\\",
    b"-o",
    b"x" * 150,
)
COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What must never reach a terminal, but for the end of a line and tabs."""

KINDS = ("label", "explain", "watch", "label a list", "tree", "check data", "train")


def odd_names(place: Path, random: np.random.Generator, number: int, model: Path) -> dict:
    """Give a command odd names; it must cope with them, and never print them raw."""
    kind = KINDS[number % len(KINDS)]
    folder = os.fsencode(place) + b"/" + _odd_name(random)
    out = os.fsencode(place) + b"/out" + _odd_name(random)
    pictures_in, classes_are_odd = folder + b"/images", bool(number // len(KINDS) % 2)
    paths = [
        _write(pictures_in, _odd_name(random) + b"%d.png" % each, pictures()["png"]) for each in range(3)
    ]
    words: list[object] = ["--model", model]
    match kind:
        case "label":
            workers = 1 + number // len(KINDS) % 2
            words = [kind, folder, *words, "-o", out, "--workers", workers, "--overlay"]
        case "explain":
            words = [kind, paths[0], *words, "-o", out]
        case "watch":
            words = [kind, paths[0], *words, "--gif", out + b".gif"]
        case "tree":
            words = [kind, paths[0], "-o", out]
        case "label a list":
            listed = _write(os.fsencode(place), b"list", b"\0".join(paths))
            words = ["label", "--files-from", listed, *words, "-o", out, "--trace", "--json", out + b".json"]
            words += ["--format", "coco", "--format", "jsonl"]
        case _:
            shutil.rmtree(folder)
            _write_data(folder, random, classes_are_odd)
            spec = b"folder:" + folder
            training = ["--config", config_file(place), "--without-network", "-o", out + b".anyscene"]
            words = ["train", "--data", spec, *training] if kind == "train" else ["data", "check", spec]
    ended = Command(*words).finish()
    if COMMANDING.search(ended.said):
        return {"verdict": "message", "text": f"{kind} {ended.said[-400:]!r}"}
    may_refuse = classes_are_odd and kind in ("train", "check data")
    return told(ended, "equal" if not ended.code else "refused" if may_refuse else "lost", kind)


def _odd_name(random: np.random.Generator) -> bytes:
    chosen = random.choice(len(PIECES), int(random.integers(1, 4)), replace=False)
    name = b"".join(PIECES[each] for each in chosen).replace(b"/", b"")[:200]
    return b"n" + name + b"%d" % random.integers(100)


def _write(folder: bytes, name: bytes, content: bytes) -> bytes:
    os.makedirs(folder, exist_ok=True)
    path = folder + b"/" + name
    with open(path, "wb") as file:
        file.write(content)
    return path


def _write_data(folder: bytes, random: np.random.Generator, classes_are_odd: bool) -> None:
    """Write generated streets as a data folder whose scenes, and perhaps classes, have odd names."""
    import cv2

    streets = anyscene.data.open(DATA)
    names = list(streets.classes.names)
    if classes_are_odd:
        names[1] = _odd_name(random).decode(errors="replace")
    _write(folder, b"classes.json", json.dumps({"names": names}).encode())
    for number, scene in enumerate(streets.split("train")):
        name = _odd_name(random) + b"%d.png" % number
        truth = np.where(scene.truth < 0, 255, scene.truth).astype(np.uint8)
        for kind, image in ((b"images", scene.image[:, :, ::-1]), (b"labels", truth)):
            _write(folder + b"/" + kind, name, cv2.imencode(".png", image)[1].tobytes())
