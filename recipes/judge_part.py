"""Judge one part of a backbone, or of a training run, on a split at some input sizes: pixel / class / mIoU.

    python recipes/judge_part.py src/anyscene/models/camvid.backbone a camvid:CamVid b 192x384 352x480
    python recipes/judge_part.py runs/teacher a camvid:CamVid b 192x384 352x480

Scores come from the exported graph, and labels are painted between its cells, as in labeling. `+m` after a
size averages the scores with those of the mirrored image. Milliseconds are the median of one thread, from the
decoded image to the scores.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from anyscene import metrics
from anyscene.data import open as open_data
from anyscene.features.hypercolumn.backbone import read_backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.network import Network
from anyscene.hierarchy import fit
from anyscene.learning.backbone.pack import pack
from anyscene.learning.backbone.part_files import read_part
from anyscene.painting.cells import labels_by_scores


def main(place: Path, part: str, data: str, split: str, sizes: list[str]) -> None:
    """Print a line for each size."""
    whole = pack({part: read_part(place / f"{part}.weights")}) if place.is_dir() else read_backbone(place)
    network, head = Network(whole.graphs[part]), whole.heads[part, data.split(":", 1)[0]].first_rows(0)
    scenes = [scene for scene in open_data(data).split(split) if scene.truth is not None]
    known = sum(image_key(scene.image) in whole.seen[part] for scene in scenes)
    print(f"{place} {part} on {len(scenes)} images of {data} {split}, {known} of which it was fitted to")
    for size in sizes:
        height, width = map(int, size.removesuffix("+m").split("x"))
        counts, seconds = np.zeros((head.classes, head.classes + 1), np.int64), []
        for scene in scenes:
            began = time.perf_counter()
            fitted = fit(scene.image, (height, width))
            scores = network.scores(fitted, head)
            if size.endswith("+m"):
                scores = (scores + network.scores(np.ascontiguousarray(fitted[:, ::-1]), head)[:, ::-1]) / 2
            seconds.append(time.perf_counter() - began)
            labels = labels_by_scores(np.ascontiguousarray(scores), head.classes, scene.image.shape[:2])
            counts += metrics.count(scene.truth, labels, head.classes)
        figures = (metrics.pixel_accuracy(counts), metrics.class_accuracy(counts), metrics.mean_iou(counts))
        words = " / ".join(f"{100 * figure:.2f}" for figure in figures)
        print(f"{size:>10}  {words}  {1000 * np.median(seconds):.1f} ms", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:5], sys.argv[5:])
