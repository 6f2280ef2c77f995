"""Make a backbone whose main network is that of one half, to judge models on drives that nothing has seen.

    python recipes/half_backbone.py camvid.backbone a half-a.backbone
    anyscene train --data camvid:CamVid --split a --backbone half-a.backbone -o camvid-a.anyscene …
    anyscene evaluate --data camvid:CamVid --split b --model camvid-a.anyscene -o report-camvid-a

The network was fitted to one half; blends and policies are learned on that half's images with the scores of
the other half's network, which has not seen them; the other half's images are scored.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from anyscene.features.hypercolumn.backbone import MAIN, read_backbone, write_backbone

HALVES = ("a", "b")


def main(backbone: Path, half: str, out: Path) -> None:
    """Put the network of one half in the main one's place."""
    whole = read_backbone(backbone)
    other = HALVES[1 - HALVES.index(half)]
    source = {MAIN: half, other: other}
    write_backbone(
        out,
        replace(
            whole,
            graphs={part: whole.graphs[own] for part, own in source.items()},
            heads={
                (part, data): whole.heads[own, data] for part, own in source.items() for data in whole.classes
            },
            seen={part: whole.seen[own] for part, own in source.items()},
            recipes={part: whole.recipes[own] for part, own in source.items()},
        ),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
