"""Average the weights of one part before and after a run of `train-backbone` that began from them (--start).

    python recipes/mean_weights.py PART BEFORE RUN OUT-RUN

BEFORE is a run's folder or a backbone file, as it was given to --start. What one sitting gained on a data set
and lost on another, the mean mostly keeps. `anyscene train-backbone --run OUT-RUN … -o FILE` then packs what
is in that folder; a part that is not to change is put there by copying its file.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from anyscene.features.hypercolumn.backbone import read_backbone
from anyscene.learning.backbone.pack import unpack
from anyscene.learning.backbone.part_files import read_part, write_part


def main(name: str, before: Path, run: Path, out: Path) -> None:
    """Write the mean, with the later run's record of what it was fitted to."""
    file = f"{name}.weights"
    first = read_part(before / file) if before.is_dir() else unpack(read_backbone(before), name)
    later = read_part(run / file)
    one, other = first.network.state_dict(), later.network.state_dict()
    later.network.load_state_dict({key: (one[key] + other[key]) / 2 for key in other})
    seen = tuple(sorted({*first.seen, *later.seen}))
    write_part(replace(later, seen=seen), out / file)


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:]))
