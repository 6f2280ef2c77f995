"""Average the weights of one part in two runs of `train-backbone`, the second begun from the first (--start).

    python recipes/mean_weights.py RUN LATER-RUN OUT-RUN

What one sitting gained on a data set and lost on another, their mean mostly keeps. The halves' parts are
copied from the first run. `anyscene train-backbone --run OUT-RUN … -o FILE` then packs what is there.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import load_file, save_file

PART = "train"


def main(first: Path, later: Path, out: Path) -> None:
    """Write the mean, with the later run's record of what it was fitted to."""
    out.mkdir(parents=True, exist_ok=True)
    name = f"{PART}.weights"
    one, other = load_file(first / name), load_file(later / name)
    mean = {key: ((one[key].float() + other[key].float()) / 2).half() for key in one}
    with safe_open(later / name, "pt") as file:
        record = file.metadata()
    save_file(mean, out / name, metadata=record)
    for half in ("a", "b"):
        shutil.copy(first / f"{half}.weights", out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
