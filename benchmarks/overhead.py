"""The bench `overhead`: what the engine itself costs, and whether it can be trusted to run for long."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.data import SceneList
from anyscene.engine import Engine, load
from anyscene.features import View
from anyscene.features.hypercolumn.ladder import RungScores
from anyscene.features.hypercolumn.rung import Rung
from anyscene.hierarchy import working_frame
from benchmarks.deadline import scenes_of
from benchmarks.figures import Bar, Figure, Request
from benchmarks.timing import interleave

BUDGETS = (10, 20, 50, 100)
IMAGES = 50
MIXED_SIZES = ((90, 120), (360, 480), (480, 360), (270, 480), (600, 800), (1080, 1440))
LONG_RUN, SETTLED = 1000, 100
CALLS, THREADS = 10_000, 8
SMALL = (72, 96)
HALF_SIZE = Rung(0.5)

Image = NDArray[np.uint8]


def run(request: Request) -> Iterator[Figure]:
    """Measure on the scenes of `request.data` (generated streets without it) with `request.model`."""
    engine = load(request.model or "camvid")
    scenes = scenes_of(request)
    images = [scenes.image(index) for index in range(min(IMAGES, len(scenes)))]
    yield _share_of_deciding(engine, images)
    yield _time_to_first(engine, scenes, images, knows_truth=request.data is not None)
    yield _twice_the_same(engine, images)
    yield _memory(engine, images)
    yield _many_threads(engine, images)


def _share_of_deciding(engine: Engine, images: Sequence[Image]) -> Figure:
    """The largest share of time that went to choosing actions and keeping books."""
    shares = {}
    for budget in BUDGETS:
        deciding = spent = 0.0
        for image in images:
            run = engine.begin(image, budget)
            run.finish()
            deciding += run.deciding_ms
            spent += run.labeling().cost
        shares[f"{budget} ms"] = deciding / spent
    return Figure(
        "policy and bookkeeping, share of time", Bar("at most", 0.05), max(shares.values()), parts=shares
    )


def _time_to_first(engine: Engine, scenes: SceneList, images: Sequence[Image], knows_truth: bool) -> Figure:
    """Time until labels are better than the prior's, against one run of the network at half size."""
    name, bar = "time to the first better labeling, share of a half-size network run", Bar("at most", 0.25)
    rung = next((known.at(HALF_SIZE) for known in engine.feature_sets if isinstance(known, RungScores)), None)
    if rung is None or not knows_truth:
        why = "the model has no network" if rung is None else "needs --data with the model's classes"
        return Figure(name, bar, None, skipped=why)
    steps = _steps_to_better(engine, scenes, len(images))
    frames = [working_frame(image) for image in images]

    def first(image: Image) -> None:
        run = engine.begin(image)
        for _ in range(steps):
            run.advance()
        run.labeling()

    turn = iter(range(10**9))
    timings = interleave(
        {
            "first": lambda: first(images[next(turn) % len(images)]),
            "network": lambda: rung.extract(View(frames[next(turn) % len(images)])),
        },
        rounds=len(images),
    )
    share = 1 / timings.speedup("first", "network")
    return Figure(name, bar, share, parts={"seconds": timings.medians(), "steps": steps})


def _steps_to_better(engine: Engine, scenes: SceneList, count: int) -> int:
    """Actions after which mean accuracy is above the prior's for the first time."""
    accuracies: dict[int, list[float]] = {}
    for index in range(count):
        scene = scenes[index]
        if scene.truth is None:
            continue
        for step, labeling in enumerate(engine.stream(scene.image)):
            counts = metrics.count(scene.truth, labeling.labels, len(engine.classes))
            accuracies.setdefault(step, []).append(metrics.pixel_accuracy(counts))
    prior = float(np.mean(accuracies[0]))
    return next((step for step, own in accuracies.items() if np.mean(own) > prior + 0.01), len(accuracies))


def _twice_the_same(engine: Engine, images: Sequence[Image]) -> Figure:
    differing = sum(
        not np.array_equal(engine.label(image).labels, engine.label(image).labels) for image in images
    )
    return Figure("images labelled differently the second time", Bar("at most", 0), differing)


def _memory(engine: Engine, images: Sequence[Image]) -> Figure:
    """Growth of the process from the 100th to the 1000th image of mixed sizes."""
    mixed = [np.resize(images[index % len(images)], (*size, 3)) for index, size in enumerate(MIXED_SIZES)]
    sizes = []
    for index in range(LONG_RUN):
        engine.label(mixed[index % len(mixed)], 10)
        sizes.append(_resident_bytes())
    growth = sizes[-1] / sizes[SETTLED - 1] - 1
    parts = {"MB at the 100th": sizes[SETTLED - 1] / 2**20, "MB at the end": sizes[-1] / 2**20}
    return Figure(
        "memory, growth from the 100th to the 1000th image", Bar("at most", 0.02), growth, parts=parts
    )


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _many_threads(engine: Engine, images: Sequence[Image]) -> Figure:
    """Calls from several threads at once whose labels were not those of a call alone."""
    small = [np.ascontiguousarray(image[: SMALL[0], : SMALL[1]]) for image in images[:16]]
    alone = [engine.label(image) for image in small]

    def is_wrong(index: int) -> bool:
        out = engine.label(small[index % len(small)])
        return not np.array_equal(out.labels, alone[index % len(small)].labels)

    with ThreadPoolExecutor(THREADS) as pool:
        wrong = sum(pool.map(is_wrong, range(CALLS)))
    return Figure("wrong answers to 10 000 calls from 8 threads", Bar("at most", 0), wrong)
