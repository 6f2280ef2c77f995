"""The long campaign: `python -m tests.hostile.campaign --minutes 30`, or `make hostile`.

Cases are numbered and seeded, and each writes one line to a journal: a campaign that was stopped goes on. At
the end it prints what came of all cases so far.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from anyscene.files import alone
from tests.hostile import names, runs
from tests.hostile.attacks import ATTACKS, forged
from tests.hostile.forge import BACKBONES, MODELS, take_apart
from tests.hostile.mutators import damaged_file, forged_file
from tests.hostile.pictures import KINDS, write_large
from tests.hostile.requests import Prey
from tests.hostile.trained import pictures, small_model
from tests.hostile.victim import kept_calibration, kept_features, kept_manifest
from tests.hostile.wards import COMMAND_SECONDS, MOST_MEMORY, Ward

BAD = ("message", "nonsense", "traceback", "crash", "hang", "memory", "lost", "orphan", "stale", "different")
GOOD = ("refused", "equal", "other")
KEPT = {"calibration": ".json", "features": ".npy", "manifest": ".parquet"}
"""What is kept for later, and how its files end."""

Case = Callable[[Path, np.random.Generator, int], dict | None]
"""From a folder of its own, randomness and its number to what came of it; None: there are no more."""


@dataclass(frozen=True)
class Group:
    """Cases of a kind. count : how many there are at most. share : of the time."""

    name: str
    count: int
    share: float
    case: Case


def opened(
    kind: str,
    suffix: str,
    make: Callable[[np.random.Generator, int], bytes],
    whole: bytes,
    is_checked: bool = False,
) -> Case:
    """Cases that a victim opens; what gives the same as the whole file is equal to it.

    is_checked : whether a checksum must tell what was changed, so that nothing else may come of it.
    """
    ward = Ward(kind)
    expected: list[str] = []

    def case(place: Path, random: np.random.Generator, number: int) -> dict:
        path = place / f"0123456789abcdef{suffix}"
        if not expected:
            path.write_bytes(whole)
            expected.append(ward.open(path).get("digest", "none"))
        path.write_bytes(make(random, number))
        found = ward.open(path)
        if found["verdict"] == "accepted":
            changed = "different" if is_checked else "other"
            found["verdict"] = "equal" if found["digest"] == expected[0] else changed
        if found.get("peak", 0) > MOST_MEMORY:
            found["verdict"] = "memory"
        return found

    return case


def files(kind: str, path: Path, count: int, share: float) -> Iterator[Group]:
    """Half of the cases of a model or backbone: signed by an attacker, and damaged by accident."""
    whole, parts = path.read_bytes(), take_apart(path)
    name = path.name.split(".")[0][:12]
    for how, make in {
        "signed": lambda random, number: forged_file(parts, random),
        "damaged": lambda random, number: damaged_file(whole, random),
    }.items():
        case = opened(kind, path.suffix, make, whole, is_checked=how == "damaged")
        yield Group(f"{kind} {name}, {how}", count // 2, share / 2, case)


def groups(state: Path) -> list[Group]:
    """All that is tried."""
    camvid, trees = MODELS / "camvid.anyscene", small_model(state)
    plain = small_model(state, ("color", "position"))
    attacks, good = list(ATTACKS.values()), pictures()
    kinds = list(good.items())
    source = state / "source"
    source.mkdir(exist_ok=True)
    for number in range(12):
        if not (path := source / f"{number}.png").exists():  # a file that changes is another image
            path.write_bytes(good["png"])

    def named(random: np.random.Generator, number: int) -> bytes:
        return forged(attacks[number % len(attacks)], take_apart(camvid))

    def picture(random: np.random.Generator, number: int) -> bytes:
        return damaged_file(kinds[number % len(kinds)][1], random)

    def large(place: Path, random: np.random.Generator, number: int) -> dict:
        found = huge.open(write_large(place / "large.png", KINDS[number % len(KINDS)], 9_900))
        too_large = found.get("peak", 0) > MOST_MEMORY
        return {**found, "verdict": "memory" if too_large else found["verdict"].replace("accepted", "equal")}

    def labelled(workers: int, make: Callable) -> Case:
        return lambda place, random, number: runs.label_folder(plain, *make(place, random), workers)

    def kept(kind: str, content: Callable[[], bytes]) -> Case:
        @cache
        def made() -> Case:  # with the first case: making what is kept takes long
            whole = content()

            def make(random: np.random.Generator, number: int) -> bytes:
                return damaged_file(whole, random)

            return opened(kind, KEPT[kind], make, whole, is_checked=kind != "manifest")

        return lambda *case: made()(*case)

    huge, prey = Ward("picture", seconds=120), Prey(plain)
    faulty = Ward(str(plain), str(source), module="tests.hostile.faulty", seconds=COMMAND_SECONDS)
    return [
        Group(
            "model, named attacks", len(attacks), 1, opened("model", ".anyscene", named, camvid.read_bytes())
        ),
        *files("model", camvid, 4000, 6),
        *files("model", trees, 4000, 6),
        *files("backbone", BACKBONES / "camvid.backbone", 2000, 3),
        Group("picture", 2000, 1, opened("picture", "", picture, good["png"])),
        Group("picture of 98 MP", len(KINDS), 1, large),
        Group("folder of 100 pictures, 1 worker", 10, 1.5, labelled(1, runs.damaged_pictures)),
        Group("folder of 100 pictures, 2 workers", 10, 1.5, labelled(2, runs.damaged_pictures)),
        Group("folder of 15 videos, 1 worker", 10, 1, labelled(1, runs.damaged_videos)),
        Group("folder of 15 videos, 2 workers", 10, 1, labelled(2, runs.damaged_videos)),
        Group("calibration", 500, 0.2, kept("calibration", kept_calibration)),
        Group("feature cache", 500, 0.5, kept("features", kept_features)),
        Group("manifest of a job", 300, 0.3, kept("manifest", kept_manifest)),
        Group("odd names", 70, 1.5, lambda *case: names.odd_names(*case, plain)),
        Group("request to the server", 2000, 1, lambda place, *case: prey.attack(*case)),
        Group(
            "network look-ups",
            5,
            1,
            lambda place, _, number: runs.without_internet(place, number, plain, source),
        ),
        Group("kill or SIGTERM", 100, 4, lambda *case: runs.killed(*case, plain, source)),
        *(Group(f"disk that fails once, {kind}", 1000, 1.5, failing(faulty, kind)) for kind in runs.COMMANDS),
    ]


def failing(faulty: Ward, kind: str) -> Case:
    """Cases of a command whose n-th write, sync or rename fails, up to the last one."""
    actions: list[int] = []

    def case(place: Path, random: np.random.Generator, number: int) -> dict | None:
        if not actions:
            first = faulty.open(f"{place / 'whole'}\t{kind}\t0")
            if first["verdict"] != "equal":
                return first
            actions.append(first["count"])
        return faulty.open(f"{place / 'a'}\t{kind}\t{1 + number}") if number < actions[0] else None

    return case


def main() -> None:
    """Run, or go on with, a campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, default=Path("hostile-state"), help="folder of the journal")
    parser.add_argument("--only", default="", help="groups whose names contain this")
    options = parser.parse_args()
    state = options.state.resolve()
    state.mkdir(parents=True, exist_ok=True)
    os.environ["ANYSCENE_CACHE"] = str(state / "cache")
    with alone("campaign"):
        attack(options, state)


def attack(options: argparse.Namespace, state: Path) -> None:
    """Try cases until all were tried or the time is up, and print what came of all so far."""
    journal = state / f"journal-{options.seed}.jsonl"
    done = read_journal(journal)
    known = {(line["group"], line["case"]) for line in done}
    chosen = [group for group in groups(state) if options.only in group.name]
    spent = Counter({group.name: 0.0 for group in chosen})
    waiting = {
        group.name: iter([case for case in range(group.count) if (group.name, case) not in known])
        for group in chosen
    }
    ends = time.monotonic() + 60 * options.minutes
    with journal.open("a") as file:
        while chosen and time.monotonic() < ends:
            group = min(chosen, key=lambda one: spent[one.name] / one.share)  # whose turn it is
            begun, number = time.monotonic(), next(waiting[group.name], None)
            place = state / "cases" / "case"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            random = np.random.default_rng([options.seed, sum(group.name.encode()), number or 0])
            found = None if number is None else group.case(place, random, number)
            spent[group.name] += time.monotonic() - begun
            if found is None:
                chosen.remove(group)
                continue
            line = {"group": group.name, "case": number, **found}
            done.append(line)
            file.write(json.dumps(line) + "\n")
            file.flush()
            if line["verdict"] in BAD:
                print(f"{group.name} {number}: {line['verdict']} {line.get('text', '')}", file=sys.stderr)
    print(table(done))
    sys.exit(any(line["verdict"] in BAD for line in done))


def read_journal(path: Path) -> list[dict]:
    """The cases that were tried; what a kill cut short is tried again."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    if lines and not lines[-1].endswith("\n"):
        path.write_text("".join(lines[:-1]))
        del lines[-1]
    return [json.loads(line) for line in lines]


def table(done: list[dict]) -> str:
    """What came of all cases, one line a group."""
    heads = ("tried", *GOOD, *BAD)
    rows = []
    for name in dict.fromkeys(line["group"] for line in done):
        found = Counter(line["verdict"] for line in done if line["group"] == name)
        rows.append((name, found.total(), *(found[verdict] for verdict in (*GOOD, *BAD))))
    lines = [f"{'':34}" + "".join(f"{head:>10}" for head in heads)]
    lines += [f"{name:34}" + "".join(f"{number or '-':>10}" for number in numbers) for name, *numbers in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
