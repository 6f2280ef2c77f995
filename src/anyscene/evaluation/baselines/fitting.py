"""Fitting baselines to training images, whose features and beliefs come out of fold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from anyscene.costs.cost_file import measure_costs
from anyscene.costs.steps import CostModel
from anyscene.data import DataSet
from anyscene.data.splits import evenly_spread
from anyscene.errors import DataError
from anyscene.evaluation.baselines.classifier import ClassifierSettings
from anyscene.evaluation.baselines.costs import BaselineCosts
from anyscene.evaluation.baselines.crf_labeler import PixelCrfLabeler, RegionCrfLabeler
from anyscene.evaluation.baselines.data_term import Stacked, fit_data_term
from anyscene.evaluation.baselines.evidence import LabeledImage
from anyscene.evaluation.baselines.feature_selection import FeatureSelection
from anyscene.evaluation.baselines.fitted import (
    BANK,
    COSTS,
    FILES,
    FULL_SIZE,
    HEAD,
    NETWORK,
    claim_folder,
    labeler_file,
    load_labeler,
    read_json,
    save_labeler,
    write_json,
)
from anyscene.evaluation.baselines.inference_machine import InferenceMachine
from anyscene.evaluation.baselines.labeler import Labeler
from anyscene.evaluation.scored_image import prepare_image
from anyscene.evaluation.time_scale import measure_time_scale
from anyscene.features import Bank
from anyscene.features.cache import FeatureCache
from anyscene.features.hypercolumn.rung import NETWORK as GRAPH
from anyscene.features.hypercolumn.rung import rungs_among
from anyscene.features.sets import PAPER_SETS
from anyscene.features.training import labels_at
from anyscene.files import cache_dir, write_atomically
from anyscene.hierarchy import working_frame
from anyscene.learning.banks import Banks, bank_unless_copy, fit_banks, load_banks, restrict
from anyscene.learning.helpers import Report
from anyscene.modelfile import TrainedModel
from anyscene.named_arrays import write_arrays

MOST_IMAGES = 400
"""The most training images that baselines are fitted to, evenly spread: all are held in memory."""

PRICED_FRAMES = 3
"""The training images whose evidence is priced."""


def fit_baselines(
    dataset: DataSet,
    split: str,
    systems: Sequence[str],
    folder: Path,
    backbone: Path | None,
    judged: TrainedModel,
    report: Report,
    settings: ClassifierSettings | None = None,
) -> None:
    """Fit the systems that are not in the folder yet to a split of the data, and price them.

    All eight feature sets are used and, if there is a backbone, its full-size input. Each training image is
    described by sets and networks that were not fitted to it.

    judged : the model that baselines are compared with; prices are on the scale of its costs.
    """
    data = restrict(dataset, split)
    if missing := [half for half in ("a", "b") if half not in data.splits]:
        raise DataError(
            f"{data.name} has no half '{missing[0]}', so baselines cannot be fitted to it honestly; "
            "leave fsm, dcrf, him and hdcrf out of --systems"
        )
    claim_folder(folder, data, backbone)
    wanted = [key for key in systems if not labeler_file(folder, key).exists()]
    document = read_json(folder / COSTS) if (folder / COSTS).exists() else {}
    if not wanted and all(key in document.get("systems", {}) for key in systems):
        return
    banks = _banks(data, folder, backbone, report)
    bank = _used(banks.whole)
    document = document or _measured(bank, data, judged)
    images = _training_images(data, banks, report)
    costs = BaselineCosts(bank, CostModel.from_json(document["steps"]), _priced_frames(data))
    shared: list[Stacked] = []

    def data_term(random: np.random.Generator) -> Stacked:
        if not shared:
            shared.append(fit_data_term(images, len(data.classes), settings or ClassifierSettings(), random))
        return shared[0]

    def fit(key: str) -> Labeler:
        random, classes = np.random.default_rng(0), len(data.classes)
        if key == "him":
            return InferenceMachine.fit(images, classes, random, settings)
        if key == "fsm":
            return FeatureSelection.fit(images, classes, random, settings, costs.evidence_ms)
        kind = PixelCrfLabeler if key == "hdcrf" else RegionCrfLabeler
        return kind.on_data_term(data_term(random), images)

    for number, key in enumerate(systems):
        report("baselines", number, len(systems), FILES[key])
        path = labeler_file(folder, key)
        if not path.exists():
            save_labeler(fit(key), path)
        if key not in document["systems"]:
            document["systems"][key] = costs.of_labeler(key, load_labeler(path), images)
            write_json(folder / COSTS, document)
    report("baselines", len(systems), len(systems), "")


def _measured(bank: Bank, data: DataSet, judged: TrainedModel) -> dict[str, Any]:
    """What steps cost on this machine, and its time scale, taken before and after: its speed may change."""
    before = measure_time_scale(judged, data.split("train"))
    costs = measure_costs(bank, data)
    after = measure_time_scale(judged, data.split("train"))
    return {**costs, "pace": (before + after) / 2, "systems": {}}


def _training_images(data: DataSet, banks: Banks, report: Report) -> list[LabeledImage]:
    """Training images as baselines see them, by sets and networks that were not fitted to them."""
    scenes = data.split("train")
    labeled = [i for i in range(len(scenes)) if scenes.truth(i) is not None]
    chosen = [labeled[i] for i in evenly_spread(len(labeled), MOST_IMAGES)] if labeled else []
    if len(chosen) < 2:
        raise DataError(f"{data.name} has {len(chosen)} labeled training images; baselines need at least 2")
    cache = FeatureCache(cache_dir() / "features")
    fold_of = stacking_folds(data)
    images: list[LabeledImage] = []
    left_out: list[str] = []
    for done, index in enumerate(chosen):
        scene = scenes[index]
        honest = bank_unless_copy(banks, scene, left_out, len(chosen))
        if honest is None:
            continue
        bank = _used(honest)
        image = prepare_image(scene, bank, len(data.classes), cache)
        assert scene.truth is not None
        truth = labels_at(scene.truth, (image.frame.shape[0], image.frame.shape[1]))
        images.append(LabeledImage(image.full_evidence(bank), truth, fold_of[scene.id]))
        report("features to fit baselines to", done + 1, len(chosen), scene.id)
    return images


def stacking_folds(data: DataSet) -> dict[str, int]:
    """The fold of each training image: each half is cut in two, neighbours together.

    With the halves alone as folds, a classifier would learn to trust the network of one half and be judged on
    beliefs of the other's. It would look worse than it is, in ways that a CRF can mend.
    """
    halves = [data.split(half).ids for half in ("a", "b")]
    return {
        id: 2 * number + 2 * place // len(ids)
        for number, ids in enumerate(halves)
        for place, id in enumerate(ids)
    }


def _banks(data: DataSet, folder: Path, backbone: Path | None, report: Report) -> Banks:
    """The feature sets, fitted once and kept in the folder, with the network that describes new images."""
    path = folder / BANK
    if not path.exists():
        report("feature sets", 0, 1, "fitting")
        write_arrays(path, fit_banks(data, PAPER_SETS, np.random.default_rng(0)))
    banks = load_banks(data, PAPER_SETS, load_file(path), {GRAPH: backbone} if backbone else {}, 1)
    if banks.ladders:
        head, graphs = banks.networks()
        write_arrays(folder / HEAD, head)
        with write_atomically(folder / NETWORK) as file:
            file.write(graphs[GRAPH])
    report("feature sets", 1, 1, "")
    return banks


def _used(bank: Bank) -> dict[str, Any]:
    """The sets that baselines look at: all but the network's smaller inputs."""
    smaller = {name for name, rung in rungs_among(bank).items() if rung != FULL_SIZE}
    return {name: chosen for name, chosen in bank.items() if name not in smaller}


def _priced_frames(data: DataSet) -> list[NDArray[np.uint8]]:
    scenes = data.split("train")
    return [working_frame(scenes.image(i)) for i in evenly_spread(len(scenes), PRICED_FRAMES)]
