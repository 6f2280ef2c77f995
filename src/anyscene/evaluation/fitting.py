"""Fitting baselines to training images, features and beliefs out of fold; the folder they are kept in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

import anyscene
from anyscene.data import DataSet
from anyscene.errors import ConfigError, DataError
from anyscene.evaluation.baselines import (
    FeatureSelection,
    InferenceMachine,
    LabeledImage,
    Labeler,
    PixelCrfLabeler,
    RegionCrfLabeler,
    load_labeler,
    save_labeler,
)
from anyscene.evaluation.baselines.classifier import ClassifierSettings
from anyscene.evaluation.baselines.data_term import Stacked, fit_data_term, spread
from anyscene.evaluation.images import prepare_image
from anyscene.evaluation.pace import measure_pace
from anyscene.evaluation.pricing import Pricing
from anyscene.features import Bank, bank_from_arrays
from anyscene.features.cache import FeatureCache
from anyscene.features.costs import CostModel
from anyscene.features.hypercolumn.backbone import MAIN
from anyscene.features.hypercolumn.network import Head, Network
from anyscene.features.hypercolumn.rungs import ladder, rung_name
from anyscene.features.sets import PAPER_SETS
from anyscene.files import cache_dir, write_atomically
from anyscene.hierarchy import working_frame
from anyscene.learning.banks import Banks, bank_unless_copy, fit_banks, load_banks, restrict
from anyscene.learning.pricing import measure_costs
from anyscene.model.modelfile import TrainedModel

Report = Callable[[str, int, int, str], None]
FULL_SIZE = rung_name((1.0, 1.0))
"""The one rung that full-cost baselines look at."""

MOST_IMAGES = 400
"""Baselines are fitted to so many training images at most, evenly spread: they are held in memory."""

BANK, NETWORK, COSTS, ABOUT = "bank.safetensors", "network.onnx", "costs.json", "about.json"
FILES = {"fsm": "F-SM", "dcrf": "DCRF", "him": "HIM", "hdcrf": "H-DCRF", "data-term": "DCRF"}
"""The file of each system, without its ending."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Baselines that are ready to label.

    costs : milliseconds of each step of each system, by its key, on the scale of a model's costs: what they
    took when they were priced, over the pace of that machine at that time.
    """

    bank: Bank
    labelers: Mapping[str, Labeler]
    costs: Mapping[str, tuple[float, ...]]

    @classmethod
    def load(cls, folder: Path, classes: int) -> Fitted:
        """Read what `fit_baselines` left in a folder."""
        labelers = {key: load_labeler(_file(folder, key)) for key in FILES if _file(folder, key).exists()}
        document = _read(folder / COSTS)
        totals = {key: np.array(document["systems"][key]["total_ms"]) / document["pace"] for key in labelers}
        costs = {key: tuple(total.tolist()) for key, total in totals.items()}
        return cls(_load_bank(folder, classes), labelers, costs)

    @staticmethod
    def fingerprint(folder: Path, key: str) -> str:
        """A hash of a baseline's file and of the costs."""
        return hashlib.sha256(_file(folder, key).read_bytes() + (folder / COSTS).read_bytes()).hexdigest()


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

    judged : the model that they are compared with; prices are put on the scale of its costs.
    All eight feature sets are used and, if the backbone has a head for the data, its full-size rung; each
    training image is described by sets and networks that were not fitted to it.
    """
    data = restrict(dataset, split)
    if missing := [half for half in ("a", "b") if half not in data.splits]:
        raise DataError(f"{data.name} has no half '{missing[0]}', so nothing can be stacked on it honestly")
    _claim(folder, data, backbone)
    wanted = [key for key in systems if not _file(folder, key).exists()]
    document = _read(folder / COSTS) if (folder / COSTS).exists() else {}
    if not wanted and all(key in document.get("systems", {}) for key in systems):
        return
    banks = _banks(data, folder, backbone, report)
    if not document:
        # The machine's speed may change while costs are measured, so its pace is taken before and after.
        before = measure_pace(judged, data.split("train"))
        costs = measure_costs(_used(banks.whole), data)
        pace = (before + measure_pace(judged, data.split("train"))) / 2
        document = {**costs, "pace": pace, "systems": {}}
    images = _training_images(data, banks, report)
    pricing = Pricing(_used(banks.whole), CostModel.from_json(document["steps"]), _frames(data))
    shared: list[Stacked] = []

    def term(random: np.random.Generator) -> Stacked:
        if not shared:
            shared.append(fit_data_term(images, len(data.classes), settings or ClassifierSettings(), random))
        return shared[0]

    for number, key in enumerate(systems):
        report("baselines", number, len(systems), FILES[key])
        if not _file(folder, key).exists():
            save_labeler(_fit(key, images, len(data.classes), term, settings, pricing), _file(folder, key))
        if key not in document["systems"]:
            labeler = load_labeler(_file(folder, key))
            document["systems"][key] = pricing.of_labeler(key, labeler, images)
            _write(folder / COSTS, document)
    report("baselines", len(systems), len(systems), "")


def _fit(
    key: str,
    images: Sequence[LabeledImage],
    classes: int,
    term: Callable[[np.random.Generator], Stacked],
    settings: ClassifierSettings | None,
    pricing: Pricing,
) -> Labeler:
    random = np.random.default_rng(0)
    if key == "him":
        return InferenceMachine.fit(images, classes, random, settings)
    if key == "fsm":
        return FeatureSelection.fit(images, classes, random, settings, pricing.evidence_ms)
    kind = PixelCrfLabeler if key == "hdcrf" else RegionCrfLabeler
    return kind.on_data_term(term(random), images)


def _training_images(data: DataSet, banks: Banks, report: Report) -> list[LabeledImage]:
    """Training images as baselines see them, by sets and networks that were not fitted to them."""
    scenes = data.split("train")
    labeled = [i for i in range(len(scenes)) if scenes.truth(i) is not None]
    chosen = [labeled[i] for i in spread(len(labeled), MOST_IMAGES)] if labeled else []
    if len(chosen) < 2:
        raise DataError(f"{data.name} has {len(chosen)} labeled training images; baselines need more")
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
        size = image.frame.shape[1], image.frame.shape[0]
        truth = np.asarray(cv2.resize(scene.truth, size, interpolation=cv2.INTER_NEAREST), np.int16)
        images.append(LabeledImage(image.full_evidence(bank), truth, fold_of[scene.id]))
        report("features to fit baselines to", done + 1, len(chosen), scene.id)
    return images


def stacking_folds(data: DataSet) -> dict[str, int]:
    """Four folds: each half of the training images cut in two, neighbours together.

    With the halves alone as folds, a classifier would learn to trust the network of one half and be judged
    on beliefs of the other's: worse than it will be, and in ways that a CRF can mend.
    """
    halves = [data.split(half).ids for half in ("a", "b")]
    return {
        id: 2 * number + 2 * place // len(ids)
        for number, ids in enumerate(halves)
        for place, id in enumerate(ids)
    }


def _banks(data: DataSet, folder: Path, backbone: Path | None, report: Report) -> Banks:
    path = folder / BANK
    if not path.exists():
        report("feature sets", 0, 1, "fitting")
        arrays = fit_banks(data, PAPER_SETS, np.random.default_rng(0))
        with write_atomically(path) as file:
            file.write(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    banks = load_banks(data, PAPER_SETS, load_file(path), backbone, 1)
    if banks.backbone:
        head = banks.backbone.heads[MAIN, data.name]
        network = {"weight": head.weight, "bias": head.bias}
        with write_atomically(folder / f"{NETWORK}.safetensors") as file:
            file.write(save({name: np.ascontiguousarray(array) for name, array in network.items()}))
        with write_atomically(folder / NETWORK) as file:
            file.write(banks.backbone.graphs[MAIN])
    report("feature sets", 1, 1, "")
    return banks


def _load_bank(folder: Path, classes: int) -> Bank:
    """The sets that label new images."""
    try:
        arrays = load_file(folder / BANK)
        whole = {
            name.removeprefix("whole/"): array for name, array in arrays.items() if name.startswith("whole/")
        }
        bank = dict(bank_from_arrays(PAPER_SETS, whole))
        if (folder / NETWORK).exists():
            parts = load_file(folder / f"{NETWORK}.safetensors")
            head = Head(parts["weight"], parts["bias"], classes)
            bank |= ladder(Network((folder / NETWORK).read_bytes()), head, (FULL_SIZE,))
    except (OSError, SafetensorError, KeyError) as error:
        raise ConfigError(f"{folder} holds no baselines that can be read ({error}); delete it") from error
    return bank


def _used(bank: Bank) -> dict[str, Any]:
    """The sets that baselines look at: all but the smaller rungs."""
    return {name: chosen for name, chosen in bank.items() if "@" not in name or name == FULL_SIZE}


def _frames(data: DataSet) -> list[NDArray[np.uint8]]:
    scenes = data.split("train")
    return [working_frame(scenes.image(i)) for i in spread(len(scenes), 3)]


def _claim(folder: Path, data: DataSet, backbone: Path | None) -> None:
    """Refuse a folder whose baselines were fitted to something else."""
    about = {
        "anyscene": anyscene.__version__,
        "data": data.name,
        "images": _hash("\n".join(data.split("train").ids).encode()),
        "backbone": _hash(backbone.read_bytes()) if backbone else "",
    }
    path = folder / ABOUT
    if not path.exists():
        _write(path, about)
        return
    found = _read(path)
    if changed := [name for name, value in about.items() if found.get(name) != value]:
        raise ConfigError(
            f"{folder} holds baselines that were fitted with another '{changed[0]}'; "
            "delete it, or name another folder with --baselines"
        )


def _file(folder: Path, key: str) -> Path:
    return folder / f"{FILES[key]}.safetensors"


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); delete its folder to fit anew") from error


def _write(path: Path, document: Any) -> None:
    with write_atomically(path) as file:
        file.write(json.dumps(document, indent=1).encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
