"""From a model and a data set to results: every system once on every image, then scores and figures."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.data import DataSet, SceneList
from anyscene.data import open as open_data
from anyscene.engine.loading import find_model
from anyscene.errors import ConfigError
from anyscene.evaluation.baselines.fitting import fit_baselines
from anyscene.evaluation.compared_systems import (
    BY_KEY,
    BY_NAME,
    DATA_TERM,
    OTHERS,
    SQUEEZED,
    SYSTEMS,
    names,
)
from anyscene.evaluation.headline import headline
from anyscene.evaluation.image_tracer import Job
from anyscene.evaluation.network_alone import (
    Networks,
    measure_network_alone,
    networks_of,
    scores_alone,
    squeezed_sizes,
    usual_sizes,
)
from anyscene.evaluation.request import (
    MODEL_CLOCK,
    UPFRONT,
    WALL_CLOCK,
    Request,
    check_classes,
    check_options,
    check_overlap,
    images_to_score,
)
from anyscene.evaluation.results_file import results_document, this_machine, write_results
from anyscene.evaluation.scores import Scores, anytime_scores, budget_grid, fixed_scores
from anyscene.evaluation.time_scale import TimeScale, in_model_time
from anyscene.evaluation.trace_jobs import Report, trace_images
from anyscene.evaluation.traces import Trace, charged_upfront, priced_anew
from anyscene.features.hypercolumn.backbone import MAIN, Backbone, installed_backbone, read_backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.network import Network
from anyscene.features.hypercolumn.rung import NETWORK, Rung
from anyscene.files import write_atomically
from anyscene.marks import MARK, refuse_foreign_folder
from anyscene.modelfile import TrainedModel, load_model
from anyscene.threads import one_thread

CLAIM = "work/request.txt"
"""The file that tells a report's folder from any other."""

Traces = dict[str, list[Trace]]
"""By the key or the name of a system, an entry for each image."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All that a report is made of; traces and scores are by the systems' names."""

    dataset: DataSet
    scenes: SceneList
    trained: TrainedModel
    traces: Traces
    scores: dict[str, Scores]
    document: dict[str, Any]
    notes: tuple[str, ...]


def evaluate(request: Request, report: Report = lambda stage, done, total, note: None) -> Evaluation:
    """Score all systems and write `results.json` and `curves.csv` into the report's folder.

    A run that was killed goes on: what it had done is in the folder's `work`.
    """
    check_options(request)
    dataset = open_data(request.data)
    scenes = dataset.split(request.split)
    path = find_model(request.model)
    trained = load_model(path)
    check_classes(trained, dataset, path)
    refuse_foreign_folder(request.report, CLAIM)
    # Written first, so that a folder that cannot be written to is found now, not at the end.
    with write_atomically(request.report / CLAIM) as file:
        file.write(f"{MARK}\n{request}\n".encode())
    indices = images_to_score(scenes, request)
    chosen = scenes.pick(indices)
    networks, backbone = _networks(request, trained, dataset)
    systems, notes = _possible(request, dataset, networks)
    about: dict[str, Any] = {
        "data": dataset.name,
        "split": request.split,
        "images": len(indices),
        "model": str(path),
        "machine": this_machine(),
        "clock": request.clock,
        "segmentation": request.segmentation,
    }
    with one_thread():
        traces = _traces(request, dataset, trained, systems, backbone, report)
        alone: dict[str, Scores] = {}
        if networks and "cnn" in systems:
            report("network alone", 0, 1, "")
            scale = TimeScale(trained) if request.clock == MODEL_CLOCK else None
            sizes = _sizes_alone(networks, trained)
            alone = _network_scores(networks, chosen, sizes, scale, "dnmd" in traces)
            about["pace"] = scale.ratio if scale else 1.0
            if scale and "dnmd" in traces:
                traces["dnmd"] = [priced_anew(trace, scale.plan_costs) for trace in traces["dnmd"]]
            report("network alone", 1, 1, "")
        if request.segmentation == UPFRONT and request.clock == MODEL_CLOCK:
            traces = _tree_first(traces, trained)
        scores = _scores(traces) | alone
    notes = (*notes, *_warnings(dataset, chosen, request, backbone))
    about["notes"] = list(notes)
    document = results_document(about, list(scores.values()), headline(scores))
    write_results(request.report, document)
    named = {BY_KEY[key].name: own for key, own in traces.items()}
    return Evaluation(dataset, chosen, trained, named, scores, document, notes)


def _traces(
    request: Request,
    dataset: DataSet,
    trained: TrainedModel,
    systems: Sequence[str],
    backbone: Path | None,
    report: Report,
) -> Traces:
    """Run the anytime systems and the baselines, which are fitted first; by key."""
    work = request.report / "work"
    anytime = tuple(key for key in systems if SYSTEMS[key].anytime)
    fitted = tuple(key for key in systems if SYSTEMS[key].fitted)
    baselines = (request.baselines or work / "baselines") if fitted else None
    if baselines:
        check_overlap(dataset, request)
        fitted = (*fitted, DATA_TERM.key) if "dcrf" in fitted else fitted
        fit_baselines(dataset, request.fit_split, fitted, baselines, backbone, trained, report)
    job = Job(
        data=request.data,
        split=request.split,
        model=find_model(request.model),
        work=work,
        indices=images_to_score(dataset.split(request.split), request),
        clock=request.clock,
        upfront=request.clock == WALL_CLOCK and request.segmentation == UPFRONT,
        baselines=baselines,
    )
    return trace_images(job, (*anytime, *fitted), request.processes, report, request.runner)


def with_tree_first(found: Evaluation) -> Evaluation:
    """The same runs with the whole tree charged before the first action, not layer by layer."""
    traces = _tree_first({BY_NAME[name].key: own for name, own in found.traces.items()}, found.trained)
    named = {BY_KEY[key].name: own for key, own in traces.items()}
    scores = found.scores | _scores(traces)
    about = {key: value for key, value in found.document.items() if key not in ("systems", "headline")}
    document = results_document(about | {"segmentation": UPFRONT}, list(scores.values()), headline(scores))
    return replace(found, traces=named, scores=scores, document=document)


def _tree_first(traces: Traces, trained: TrainedModel) -> Traces:
    grow = trained.model.costs.grow
    return {
        key: [charged_upfront(trace, grow) for trace in own] if BY_KEY[key].anytime else own
        for key, own in traces.items()
    }


def _scores(traces: Traces) -> dict[str, Scores]:
    """Scores by name, in the order of reports."""
    anytime = {key: own for key, own in traces.items() if BY_KEY[key].anytime}
    budgets = budget_grid(list(anytime.values())) if anytime else np.zeros(0)
    scores = {}
    for key, own in traces.items():
        name = BY_KEY[key].name
        scores[name] = anytime_scores(name, own, budgets) if key in anytime else fixed_scores(name, own)
    return scores


def _sizes_alone(networks: Networks, trained: TrainedModel) -> dict[str, tuple[Rung, ...]]:
    """The input sizes of the networks alone, by the names of the systems that they are reported as."""
    squeezed = {name: squeezed_sizes(trained.model.pool.sets, name) for name in networks}
    first, *others = networks
    of_others = [(*usual_sizes(name), *squeezed[name]) for name in others]
    return {
        SYSTEMS["cnn"].name: usual_sizes(first),
        SQUEEZED.name: squeezed[first],
        OTHERS.name: tuple(chain.from_iterable(of_others)),
    }


def _network_scores(
    networks: Networks,
    scenes: SceneList,
    sizes: Mapping[str, Sequence[Rung]],
    scale: TimeScale | None,
    with_plans: bool,
) -> dict[str, Scores]:
    """The networks alone, by name; on the model's scale if one is given.

    sizes : by the name.
    scale : is timed in turns with the networks, on every image.
    with_plans : whether the model's plans are timed as well.
    """

    def beside(image: NDArray[np.uint8]) -> None:
        if scale:
            scale.time(image)
        if scale and with_plans:
            scale.time_plans(image)

    clock = time.thread_time if scale else time.perf_counter
    every = tuple(chain.from_iterable(sizes.values()))
    points = {point.rung: point for point in measure_network_alone(networks, scenes, every, clock, beside)}
    scores = {
        name: scores_alone(name, [points[size] for size in own], networks, scenes)
        for name, own in sizes.items()
        if own
    }
    return {name: in_model_time(own, scale.ratio) for name, own in scores.items()} if scale else scores


def _networks(request: Request, trained: TrainedModel, dataset: DataSet) -> tuple[Networks, Path | None]:
    """The networks to run alone, the model's own if it has some; and the backbone to fit baselines with.

    Baselines look at a network where the model does, or where one is named.
    """
    path = request.backbone or installed_backbone(dataset.name)
    backbone: Backbone | None = read_backbone(path) if path else None
    known = backbone is not None and dataset.name in backbone.classes
    own = bool(trained.graphs)
    if request.backbone and not known and not own:
        raise ConfigError(f"the backbone {path} has no head for {dataset.name}; leave it out or name another")
    looked_at = path if own or request.backbone else None
    networks = networks_of(trained)
    if not networks and backbone and known:
        networks = {NETWORK: (Network(backbone.graphs[MAIN]), backbone.heads[MAIN, dataset.name])}
    return networks, looked_at


def _possible(
    request: Request, dataset: DataSet, networks: Networks
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The systems to run, and a note on what was left out."""
    wanted = request.systems or tuple(SYSTEMS)
    if networks or "cnn" not in wanted:
        return wanted, ()
    if request.systems:
        raise ConfigError(
            f"there is no network for {dataset.name} to run alone: the model holds none and the backbone "
            "has no head for the data; leave 'cnn' out of --systems"
        )
    left = tuple(key for key in wanted if key != "cnn")
    return left, (f"{names(['cnn'])} was left out: neither model nor backbone has a network for this data",)


def _warnings(
    dataset: DataSet, scenes: SceneList, request: Request, backbone: Path | None
) -> tuple[str, ...]:
    """A note on images that were learned from, under their own name or, by the network, under any."""
    fitted = set(dataset.split("train").ids) if "train" in dataset.splits else set()
    known = read_backbone(backbone).seen[MAIN] if backbone else frozenset[str]()
    seen = sum(id in fitted or image_key(scenes.image(i)) in known for i, id in enumerate(scenes.ids))
    if not seen:
        return ()
    return (
        f"{seen} of the {len(scenes)} images of '{request.split}' are training images, or copies of such: "
        "scores on images that the model or its network was fitted to mean nothing",
    )
