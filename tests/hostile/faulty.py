"""`python -m tests.hostile.faulty MODEL SOURCE` runs commands on a disk that fails, and then on a good one.

Each line of its input is a folder, a command and a number n. The command works below the folder; its n-th
write, sync or rename fails. It must end with one sentence, or well where it could do without; then the same
command must complete, with the same results as one whose disk never failed. The answer is a line of JSON.
n = 0 fails nothing and tells how many actions there are.
"""

import json
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.errors import AnysceneError
from tests.hostile.faults import failing_disk
from tests.hostile.runs import is_same, words_of

WHY = "No space left on device"


def run(fails_at: int, kind: str, place: Path, model: Path, source: Path) -> tuple[object, int]:
    """Run a command; how it ended, and how often it asked the disk for something."""
    words = [str(word) for word in words_of(kind, place.parent, place, model, source, workers=1)]
    with failing_disk(fails_at, place) as disk:
        done = CliRunner().invoke(app, words)
    return done, disk.count


def is_told(done: object) -> bool:
    """Tell whether a command ended with one sentence that says why, and no traceback."""
    error = done.exception
    text = str(error) if isinstance(error, AnysceneError) else " ".join(done.output.split())
    is_ours = isinstance(error, AnysceneError | SystemExit)
    return is_ours and WHY in text and "\n" not in str(error)


def judge(place: Path, kind: str, fails_at: int, whole: Path, model: Path, source: Path) -> dict:
    """What came of a command whose n-th action failed."""
    done, count = run(fails_at, kind, place, model, source)
    found = {"count": count, "text": f"{kind} {fails_at}"}
    if fails_at and done.exit_code and not is_told(done):
        return {
            **found,
            "verdict": "traceback",
            "text": f"{kind} {fails_at} {done.exception!r} {done.output[-300:]}",
        }
    again, _ = run(0, kind, place, model, source)
    stale = [path.name for path in place.rglob("*.partial")]
    if again.exit_code or stale:
        why = f"{kind} {fails_at} {stale} {again.exception!r} {again.output[-300:]}"
        return {**found, "verdict": "stale" if stale else "lost", "text": why}
    if not is_same(kind, place, whole):
        return {**found, "verdict": "different"}
    return {**found, "verdict": "refused" if done.exit_code else "equal"}


def main() -> None:
    """Judge what is named on the input until it ends."""
    model, source = map(Path, sys.argv[1:])
    wholes = Path(tempfile.mkdtemp())
    for line in sys.stdin:
        place, kind, number = line.split("\t")
        whole = wholes / kind
        if not whole.exists():
            done, _ = run(0, kind, whole, model, source)
            assert done.exit_code == 0, done.output
        print(json.dumps(judge(Path(place), kind, int(number), whole, model, source)), flush=True)


if __name__ == "__main__":
    main()
