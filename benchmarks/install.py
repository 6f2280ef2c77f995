"""What installing takes: sizes of the packages and of an environment, and how soon anyscene answers.

Everything is built from the repository into an empty environment, so the figures are those of a new user.
Times are ratios to `python -c "import numpy"` in the same environment, taken in turns: how long a process
takes to start depends on the machine, and on what else it does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Bar, Figure, Request
from benchmarks.timing import interleave

ROOT = Path(__file__).parents[1]
MEBIBYTE = 2**20
ROUNDS = 15
MOST_IMPORT_S, MOST_HELP_S, NUMPY_S = 0.3, 0.5, 0.1
"""The bars in seconds, and how long importing numpy takes on a machine that they are meant for."""


def run(request: Request) -> Iterator[Figure]:
    """Build, install, measure."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        product, networks = (_wheel(ROOT / where, folder) for where in ("", "models"))
        yield Figure("wheel of anyscene", Bar("at most", 30.0), product.stat().st_size / MEBIBYTE, unit="MiB")
        yield Figure("wheel of anyscene-models", None, networks.stat().st_size / MEBIBYTE, unit="MiB")
        python = _empty_environment(folder / "environment")
        empty = _size(folder / "environment")
        _run(python, "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(product))
        installed = _size(folder / "environment") - empty
        yield Figure("all that `pip install anyscene` adds", None, installed / MEBIBYTE, unit="MiB")
        _run(python, "-m", "anyscene", "--help")  # compiles what is imported
        times = interleave(
            {
                "import numpy": lambda: _run(python, "-c", "import numpy"),
                "import anyscene": lambda: _run(python, "-c", "import anyscene"),
                "anyscene --help": lambda: _run(python.with_name("anyscene"), "--help"),
            },
            rounds=ROUNDS,
        )
        seconds = times.medians()
        for what, most in (("import anyscene", MOST_IMPORT_S), ("anyscene --help", MOST_HELP_S)):
            yield Figure(
                f"{what}, over `import numpy`",
                Bar("at most", most / NUMPY_S),
                times.speedup("import numpy", what),
                unit="x",
                parts={"seconds": seconds},
            )


def _wheel(project: Path, folder: Path) -> Path:
    before = set(folder.glob("*.whl"))
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(project))
    return (set(folder.glob("*.whl")) - before).pop()


def _empty_environment(folder: Path) -> Path:
    _run(sys.executable, "-m", "venv", str(folder))
    return folder / "bin" / "python"


def _run(*command: str | Path) -> None:
    """Run a program away from the repository, so that only what is installed is found."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", env=clean)


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
