"""The paper's experiments from beginning to end: train, fit the baselines, score, check the claims."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyscene
from anyscene.data import DataSet
from anyscene.data import open as open_data
from anyscene.errors import ConfigError
from anyscene.evaluation.claims import Claim, check_claims
from anyscene.evaluation.evaluate import Evaluation, evaluate, with_tree_first
from anyscene.evaluation.network_alone import networks_of
from anyscene.evaluation.pooled_runs import runs_of
from anyscene.evaluation.request import (
    LAZY,
    UPFRONT,
    Request,
    check_options,
    check_overlap,
    images_to_score,
)
from anyscene.evaluation.trace_jobs import Report
from anyscene.features.hypercolumn.backbone import MAIN, read_backbone, shipped_backbone
from anyscene.features.hypercolumn.rung import NETWORK
from anyscene.files import write_atomically
from anyscene.learning.config import TrainConfig
from anyscene.learning.paper import paper_config
from anyscene.learning.train import train
from anyscene.marks import MARK, marked, refuse_foreign_folder
from anyscene.modelfile import TrainedModel, load_model

CLAIM = "reproduce.txt"
"""The file that tells a reproduction's folder from any other."""

RESULTS = "results.json"

SYSTEMS = ("dnm", "dm", "sm", "rs", "oracle", "fsm", "dcrf", "him", "hdcrf")
"""The systems of the paper; the network alone comes beside them where there is one."""

QUICK_DATA = "streets:36?size=120x90"
"""What is learned and scored where no data is given: generated, so that nothing need be downloaded."""

QUICK_IMAGES = 12
"""Most images that a quick reproduction scores."""

QUICK = {
    "images": 60,
    "steps": 10,
    "clusters": 1,
    "samples": 6000,
    "screening_samples": 2000,
    "regularisation": 10.0,
    "least_curvature": 10.0,
    "column_share": 0.3,
    "pool": 32,
    "prune_images": 4,
    "explored": 12,
    "gammas": (0.2,),
    "iterations": 2,
}
"""What differs from the paper's settings where few small images must do."""


@dataclass(frozen=True)
class Reproduction:
    """What to reproduce, and where the report goes.

    segmentation : how the tree is charged in tables and figures; claims are checked both ways.
    network : learn and fit with the hypercolumn's network as well. backbone : its file, if not the usual one.
    images : the most images to score. processes : how many processes score.
    """

    data: tuple[str, ...]
    report: Path
    split: str = "val"
    segmentation: str = UPFRONT
    network: bool = True
    backbone: Path | None = None
    config: TrainConfig = field(default_factory=paper_config)
    seed: int = 0
    images: int = 0
    processes: int = 1


@dataclass(frozen=True, eq=False)
class Reproduced:
    """One data set's part. claims : by the way in which the tree is charged, upfront and lazily."""

    evaluation: Evaluation
    segmentation: str
    claims: Mapping[str, list[Claim]]


def quick_config(config: TrainConfig) -> TrainConfig:
    """The same settings for few small images, to see in minutes that all works."""
    return TrainConfig(**{**config.model_dump(), **QUICK})


def reproduce(
    wanted: Reproduction, report: Report = lambda stage, done, total, note: None
) -> list[Reproduced]:
    """Do all that is missing in the report's folder, and write `results.json` there.

    A run that was killed goes on: each data set has a folder with its run, its model and its evaluation.
    """
    datasets = [open_data(spec) for spec in wanted.data]
    names = [dataset.name for dataset in datasets]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"--data names {doubled.pop()} twice; give each data set once")
    for spec, dataset in zip(wanted.data, datasets, strict=True):
        _check(replace(_request(wanted, spec, dataset), segmentation=wanted.segmentation), dataset)
    refuse_foreign_folder(wanted.report, CLAIM)
    with write_atomically(wanted.report / CLAIM) as file:
        file.write(f"{MARK}\n{wanted}\n".encode())
    made = []
    for number, (spec, dataset) in enumerate(zip(wanted.data, datasets, strict=True)):
        report("data sets", number, len(datasets), dataset.name)
        trained = _model(wanted, dataset, report)
        request = _request(wanted, spec, dataset, _systems(trained))
        made.append(_judged(evaluate(request, report), wanted.segmentation))
        _write_results(wanted, made)
    report("data sets", len(datasets), len(datasets), "")
    return made


def _check(request: Request, dataset: DataSet) -> None:
    """Find out now, and not after hours of training, that something cannot be scored."""
    check_options(request)
    check_overlap(dataset, request)
    images_to_score(dataset.split(request.split), request)


def _request(
    wanted: Reproduction, spec: str, dataset: DataSet, systems: tuple[str, ...] = SYSTEMS
) -> Request:
    return Request(
        data=spec,
        split=wanted.split,
        model=str(_model_file(wanted, dataset)),
        report=wanted.report / dataset.name / "evaluation",
        systems=systems,
        segmentation=LAZY,
        backbone=wanted.backbone,
        images=wanted.images,
        processes=wanted.processes,
    )


def _model_file(wanted: Reproduction, dataset: DataSet) -> Path:
    return wanted.report / dataset.name / "model.anyscene"


def _model(wanted: Reproduction, dataset: DataSet, report: Report) -> TrainedModel:
    """The model of a data set; trained now, or gone on with, unless it is there."""
    path = _model_file(wanted, dataset)
    backbone = (wanted.backbone or shipped_backbone(dataset.name)) if wanted.network else None
    if path.exists() and _is_made_so(found := load_model(path), wanted, backbone):
        report("model", 1, 1, "kept from before")
        return found
    return train(
        dataset,
        path,
        wanted.config,
        wanted.seed,
        run=path.with_name("run"),
        network=wanted.network,
        backbone=backbone,
        report=report,
    )


def _is_made_so(found: TrainedModel, wanted: Reproduction, backbone: Path | None) -> bool:
    """Whether a model was trained as is wanted now."""
    record = {key: found.record.get(key) for key in ("config", "seed", "anyscene")}
    same = record == {
        "config": wanted.config.model_dump(mode="json"),
        "seed": wanted.seed,
        "anyscene": anyscene.__version__,
    }
    graph = read_backbone(backbone).graphs[MAIN] if backbone else None
    return same and found.graphs.get(NETWORK) == graph


def _systems(trained: TrainedModel) -> tuple[str, ...]:
    """The paper's systems, and the network alone if it knows the classes."""
    return (*SYSTEMS, "cnn") if networks_of(trained) else SYSTEMS


def _judged(lazy: Evaluation, segmentation: str) -> Reproduced:
    ways = {UPFRONT: with_tree_first(lazy), LAZY: lazy}
    claims = {way: check_claims(runs_of(found.traces), lazy.dataset.name) for way, found in ways.items()}
    return Reproduced(ways[segmentation], segmentation, claims)


def _write_results(wanted: Reproduction, made: list[Reproduced]) -> None:
    with write_atomically(wanted.report / RESULTS) as file:
        document = marked({"data": [_document(one) for one in made]})
        file.write((json.dumps(document, indent=1, allow_nan=False) + "\n").encode())


def _document(one: Reproduced) -> dict[str, Any]:
    about = one.evaluation.document
    kept = ("data", "split", "images", "model", "machine", "segmentation", "notes")
    return {
        **{key: about[key] for key in kept},
        "config": one.evaluation.trained.record["config"],
        "systems": [
            {key: value for key, value in system.items() if key != "curve"} for system in about["systems"]
        ],
        "claims": {way: [claim.to_json() for claim in claims] for way, claims in one.claims.items()},
    }
