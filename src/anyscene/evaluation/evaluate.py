"""From a model and a data set to a report: every system once on every image, scores, figures, one page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from anyscene.data import DataSet, SceneList
from anyscene.data import open as open_data
from anyscene.engine.loading import find_model
from anyscene.errors import ConfigError, DataError, ModelError
from anyscene.evaluation.fitting import fit_baselines
from anyscene.evaluation.frontier import SIZES, Point, loss_whole, measure_frontier
from anyscene.evaluation.headline import headline
from anyscene.evaluation.pace import Pace, in_model_time
from anyscene.evaluation.results import results_document, this_machine, write_results
from anyscene.evaluation.scores import Curve, Scores, anytime_scores, budget_grid, fixed_scores
from anyscene.evaluation.systems import DATA_TERM, SQUEEZED, SYSTEMS, names
from anyscene.evaluation.traces import Trace, priced_anew
from anyscene.evaluation.work import LAZY, MODEL_CLOCK, UPFRONT, WALL_CLOCK, Job, Report, trace_images
from anyscene.features.hypercolumn.backbone import MAIN, Backbone, read_backbone, shipped_backbone
from anyscene.features.hypercolumn.keys import image_key
from anyscene.features.hypercolumn.network import Head, Network
from anyscene.features.hypercolumn.rungs import NETWORK, Size, head_from_arrays, squeezed_sizes
from anyscene.files import write_atomically
from anyscene.model.modelfile import TrainedModel, load_model


@dataclass(frozen=True)
class Request:
    """What to evaluate.

    systems : keys of `SYSTEMS`; none: all that the model and the backbone allow.
    images : score at most so many images, evenly spread; 0: all. processes : how many run at a time.
    fit_split : what the baselines are fitted to. baselines : where they are kept, to be used again.
    """

    data: str
    split: str
    model: str
    report: Path
    systems: tuple[str, ...] = ()
    clock: str = MODEL_CLOCK
    segmentation: str = LAZY
    backbone: Path | None = None
    baselines: Path | None = None
    fit_split: str = "train"
    images: int = 0
    processes: int = 1


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All that a report is made of. traces : by system's name, an entry for each image."""

    dataset: DataSet
    scenes: SceneList
    trained: TrainedModel
    traces: dict[str, list[Trace]]
    scores: dict[str, Scores]
    document: dict[str, Any]
    notes: tuple[str, ...]


def evaluate(request: Request, report: Report = lambda stage, done, total, note: None) -> Evaluation:
    """Score all systems and write `results.json` and `curves.csv` into the report's folder.

    What a run that was killed had done is kept in the folder's `work` and not done again.
    """
    _check_words(request)
    dataset = open_data(request.data)
    scenes = dataset.split(request.split)
    path = find_model(request.model)
    trained = load_model(path)
    _check_classes(trained, dataset, path)
    work = request.report / "work"
    with write_atomically(work / "request.txt") as file:  # the folder is found unwritable now, not at the end
        file.write(f"{request}\n".encode())
    indices = _labeled(scenes, request)
    network, backbone = _network(request, trained, dataset)
    systems, notes = _possible(request, dataset, network)
    fitted = tuple(key for key in systems if SYSTEMS[key].fitted)
    baselines = (request.baselines or work / "baselines") if fitted else None
    about: dict[str, Any] = {
        "data": dataset.name,
        "split": request.split,
        "images": len(indices),
        "model": str(path),
        "machine": this_machine(),
        "clock": request.clock,
        "segmentation": request.segmentation,
    }
    with threadpool_limits(1):
        cv2.setNumThreads(1)
        if baselines:
            _check_overlap(dataset, request)
            wanted = (*fitted, DATA_TERM.key) if "dcrf" in fitted else fitted
            fit_baselines(dataset, request.fit_split, wanted, baselines, backbone, trained, report)
            fitted = wanted
        job = Job(
            data=request.data,
            split=request.split,
            model=path,
            work=work,
            indices=indices,
            clock=request.clock,
            segmentation=request.segmentation,
            baselines=baselines,
        )
        anytime = tuple(key for key in systems if SYSTEMS[key].anytime)
        traces = trace_images(job, (*anytime, *fitted), request.processes, report)
        alone: dict[str, Scores] = {}
        if network and "cnn" in systems:
            report("network alone", 0, 1, "")
            pace = Pace(trained) if request.clock == MODEL_CLOCK else None
            squeezed = squeezed_sizes(trained.model.pool.sets)
            alone = _frontier_scores(*network, scenes.pick(indices), squeezed, pace, "dnmd" in traces)
            about["pace"] = pace.ratio if pace else 1.0
            if pace:
                alone = {name: in_model_time(own, pace.ratio) for name, own in alone.items()}
                if "dnmd" in traces:
                    traces["dnmd"] = [priced_anew(trace, pace.plan_costs) for trace in traces["dnmd"]]
            report("network alone", 1, 1, "")
        scores = _scores(traces) | alone
    notes = (*notes, *_warnings(dataset, scenes, indices, request, backbone))
    about["notes"] = list(notes)
    document = results_document(about, list(scores.values()), headline(scores))
    write_results(request.report, document)
    named = {_name(key): own for key, own in traces.items()}
    return Evaluation(dataset, scenes.pick(indices), trained, named, scores, document, notes)


def _scores(traces: dict[str, list[Trace]]) -> dict[str, Scores]:
    """Scores by name, in the order of reports."""
    anytime = {key: own for key, own in traces.items() if key in SYSTEMS and SYSTEMS[key].anytime}
    scores = {}
    if anytime:
        budgets = budget_grid(list(anytime.values()))
        scores = {_name(key): anytime_scores(_name(key), own, budgets) for key, own in anytime.items()}
    for key, own in traces.items():
        if key not in anytime:
            scores[_name(key)] = fixed_scores(_name(key), own)
    return scores


def _frontier_scores(
    network: Network,
    head: Head,
    scenes: SceneList,
    squeezed: Sequence[Size],
    pace: Pace | None,
    plans: bool,
) -> dict[str, Scores]:
    """The network alone, timed in turns with the model if its pace is wanted; its loss is of pixels.

    squeezed : sizes beside the usual ones. plans : whether to time the model's plans as well.
    """

    def beside(image: NDArray[np.uint8]) -> None:
        if pace:
            pace.time(image)
        if pace and plans:
            pace.time_plans(image)

    timer = time.thread_time if pace else time.perf_counter
    measured = measure_frontier(network, head, scenes, (*SIZES, *squeezed), clock=timer, beside=beside)
    plain = head.first_rows(head.classes)

    def scores(name: str, points: Sequence[Point]) -> Scores:
        points = sorted(points, key=lambda point: point.cost_ms)
        losses = [
            np.mean([loss_whole(network, plain, scene, point.size) for scene in scenes]) for point in points
        ]
        curve = Curve(
            np.array([point.cost_ms for point in points]),
            np.stack([point.counts for point in points]),
            np.array(losses),
        )
        last = slice(len(points) - 1, None)
        final = Curve(curve.cost[last], curve.counts[last], curve.loss[last])
        return Scores(name, False, curve, float(curve.cost[-1]), final)

    named = {SYSTEMS["cnn"].name: measured[: len(SIZES)], SQUEEZED.name: measured[len(SIZES) :]}
    return {name: scores(name, points) for name, points in named.items() if points}


def _network(
    request: Request, trained: TrainedModel, dataset: DataSet
) -> tuple[tuple[Network, Head] | None, Path | None]:
    """The network to run alone, the model's own if it has one; and the backbone to fit baselines with."""
    path = request.backbone or shipped_backbone(dataset.name)
    backbone: Backbone | None = read_backbone(path) if request.backbone or path.exists() else None
    known = backbone is not None and dataset.name in backbone.classes
    if request.backbone and not known:
        raise ConfigError(f"the backbone {path} has no head for {dataset.name}; leave it out or name another")
    if NETWORK in trained.graphs:
        head, speaks = head_from_arrays(trained.features, len(trained.classes))
        if speaks:
            return (Network(trained.graphs[NETWORK]), head), path if known else None
    if backbone and known:
        return (Network(backbone.graphs[MAIN]), backbone.heads[MAIN, dataset.name]), path
    return None, None


def _possible(
    request: Request, dataset: DataSet, network: object | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The systems to run, and a note on what was left out."""
    wanted = request.systems or tuple(SYSTEMS)
    if network is not None or "cnn" not in wanted:
        return wanted, ()
    if request.systems:
        raise ConfigError(
            f"there is no network for {dataset.name} to run alone: the model holds none and the backbone "
            "has no head for the data; leave 'cnn' out of --systems"
        )
    left = tuple(key for key in wanted if key != "cnn")
    return left, (f"{names(['cnn'])} was left out: neither model nor backbone has a network for this data",)


def _labeled(scenes: SceneList, request: Request) -> tuple[int, ...]:
    labeled = [index for index in range(len(scenes)) if scenes.truth(index) is not None]
    if not labeled:
        raise DataError(f"no image of split '{request.split}' of {request.data} has a truth to score against")
    if not request.images or len(labeled) <= request.images:
        return tuple(labeled)
    chosen = np.linspace(0, len(labeled) - 1, request.images).round().astype(int)
    return tuple(labeled[i] for i in chosen)


def _warnings(
    dataset: DataSet, scenes: SceneList, indices: Sequence[int], request: Request, backbone: Path | None
) -> tuple[str, ...]:
    """Images that were learned from, under their own name or, for the network, under any."""
    fitted = set(dataset.split("train").ids) if "train" in dataset.splits else set()
    known = read_backbone(backbone).seen[MAIN] if backbone else frozenset[str]()
    seen = sum(scenes.ids[index] in fitted or image_key(scenes.image(index)) in known for index in indices)
    if not seen:
        return ()
    return (
        f"{seen} of the {len(indices)} images of '{request.split}' are training images, or copies of such: "
        "scores on images that the model or its network was fitted to mean nothing",
    )


def _check_overlap(dataset: DataSet, request: Request) -> None:
    fitted = set(dataset.split(request.fit_split).ids)
    if shared := fitted.intersection(dataset.split(request.split).ids):
        raise ConfigError(
            f"the baselines would be scored on {len(shared)} images of '{request.fit_split}' that they are "
            "fitted to; choose another --split, or leave fsm, dcrf, him and hdcrf out of --systems"
        )


def _check_classes(trained: TrainedModel, dataset: DataSet, path: Path) -> None:
    ours, theirs = trained.classes.names, dataset.classes.names
    if ours != theirs:
        odd = next((name for name in (*ours, *theirs) if (name in ours) != (name in theirs)), "their order")
        raise ModelError(
            f"{path} labels {len(ours)} classes, {dataset.name} has {len(theirs)}, and they differ "
            f"(first in {odd}); evaluate it on the data that it was trained for"
        )


def _check_words(request: Request) -> None:
    for value, known, option in (
        (request.clock, (MODEL_CLOCK, WALL_CLOCK), "--clock"),
        (request.segmentation, (LAZY, UPFRONT), "--segmentation"),
    ):
        if value not in known:
            raise ConfigError(f"{option} is {' or '.join(known)}, not '{value}'")


def _name(key: str) -> str:
    return DATA_TERM.name if key == DATA_TERM.key else SYSTEMS[key].name
