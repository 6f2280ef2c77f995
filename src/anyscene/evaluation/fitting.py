"""The baselines that are fitted to training images: features out of fold, fits, and what each costs."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
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
    ImageEvidence,
    InferenceMachine,
    LabeledImage,
    Labeler,
    PixelCrfLabeler,
    RegionCrfLabeler,
    load_labeler,
    save_labeler,
)
from anyscene.evaluation.baselines.classifier import ClassifierSettings
from anyscene.evaluation.baselines.data_term import DataTerm, fit_data_term, spread
from anyscene.evaluation.images import prepare_image
from anyscene.features import Bank, Ledger, RegionFeatures, View, bank_from_arrays
from anyscene.features.cache import FeatureCache
from anyscene.features.costs import CostModel
from anyscene.features.hypercolumn.backbone import MAIN
from anyscene.features.hypercolumn.network import Head, Network
from anyscene.features.hypercolumn.rungs import ladder, rung_name
from anyscene.features.layers import growth_work
from anyscene.features.sets import list_feature_sets
from anyscene.files import cache_dir, write_atomically
from anyscene.hierarchy import LAYERS, Tree, working_frame
from anyscene.learning.banks import Banks, fit_banks, load_banks, restrict
from anyscene.learning.train import measure_costs

Report = Callable[[str, int, int, str], None]
FULL_SIZE = rung_name(1.0)
"""The one rung that full-cost baselines look at."""

MOST_IMAGES = 400
"""Baselines are fitted to so many training images at most, evenly spread: they are held in memory."""

TIMED_IMAGES = 8
BANK, NETWORK, COSTS, ABOUT = "bank.safetensors", "network.onnx", "costs.json", "about.json"
FILES = {"fsm": "F-SM", "dcrf": "DCRF", "him": "HIM", "hdcrf": "H-DCRF", "data-term": "DCRF"}
"""The file of each system, without its ending."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Baselines that are ready to label. costs : milliseconds of each step of each system, by its key."""

    bank: Bank
    labelers: Mapping[str, Labeler]
    costs: Mapping[str, tuple[float, ...]]

    @classmethod
    def load(cls, folder: Path, classes: int) -> Fitted:
        """Read what `fit_baselines` left in a folder."""
        labelers = {key: load_labeler(_file(folder, key)) for key in FILES if _file(folder, key).exists()}
        document = _read(folder / COSTS)
        costs = {key: tuple(document["systems"][key]["total_ms"]) for key in labelers}
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
    report: Report,
    settings: ClassifierSettings | None = None,
) -> None:
    """Fit the systems that are not in the folder yet to a split of the data, and price them.

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
        document = {**measure_costs(_used(banks.whole), data), "systems": {}}
    images = _training_images(data, banks, report)
    pricing = Pricing(_used(banks.whole), CostModel.from_json(document["steps"]), _frames(data))
    shared: list[DataTerm] = []

    def term(random: np.random.Generator) -> DataTerm:
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
    term: Callable[[np.random.Generator], DataTerm],
    settings: ClassifierSettings | None,
    pricing: Pricing,
) -> Labeler:
    random = np.random.default_rng(0)
    if key == "him":
        return InferenceMachine.fit(images, classes, random, settings)
    if key == "fsm":
        return FeatureSelection.fit(images, classes, random, settings, pricing.evidence_ms)
    kind = PixelCrfLabeler if key == "hdcrf" else RegionCrfLabeler
    return kind.on_data_term(term(random), images, classes)


class Pricing:
    """What labeling costs by a calibration of this machine, in milliseconds of one thread."""

    def __init__(self, bank: Bank, steps: CostModel, frames: Sequence[NDArray[np.uint8]]) -> None:
        self._bank = bank
        self._steps = steps
        self._frames = frames

    def evidence_ms(self, sets: Sequence[str], layers: Sequence[int] = (LAYERS - 1,)) -> float:
        """Growing the whole tree, computing some feature sets on some layers, and painting the labels."""
        return float(np.mean([self._evidence_ms(frame, sets, layers) for frame in self._frames]))

    def of_labeler(
        self, key: str, labeler: Labeler, images: Sequence[LabeledImage]
    ) -> dict[str, list[float]]:
        """Milliseconds of each step of a system: for the evidence, for inference, and in total."""
        few = [images[i].evidence for i in spread(len(images), TIMED_IMAGES)]
        everything = tuple(self._bank)
        if isinstance(labeler, FeatureSelection):
            sizes = range(len(labeler.stages))
            evidence = [self.evidence_ms(labeler.sequence[: k + 1]) for k in sizes]
            inference = [_cpu_ms(partial(labeler.label_at, k), few) for k in sizes]
        else:
            layers = tuple(range(LAYERS - 1, -1, -1)) if key == "him" else (LAYERS - 1,)
            evidence = [self.evidence_ms(everything, layers)]
            inference = [_cpu_ms(answer_of(key, labeler), few)]
        total = [one + other for one, other in zip(evidence, inference, strict=True)]
        return {"evidence_ms": evidence, "inference_ms": inference, "total_ms": total}

    def _evidence_ms(self, frame: NDArray[np.uint8], sets: Sequence[str], layers: Sequence[int]) -> float:
        """Do the work once for its list of steps, and add up what they cost by the calibration."""
        ledger, tree = Ledger(), Tree(frame)
        regions = RegionFeatures(self._bank, View(frame, ledger), tree)
        for layer in range(1, LAYERS):
            with ledger.charge(growth_work(tree, layer)):
                tree.grow(layer + 1)
        for layer in layers:
            for name in sets:
                regions.features(name, layer)
        works = [charge.work for charge in ledger.charges]
        painting = self._steps.predict("paint", frame.shape[0] * frame.shape[1], len(tree.areas[-1]))[0]
        return self._steps.predict_all(works)[0] + painting


def answer_of(key: str, labeler: Labeler) -> Callable[[ImageEvidence], Any]:
    """How a system answers: DCRF's data term alone is a system too."""
    if key == "data-term":
        assert isinstance(labeler, RegionCrfLabeler)
        return labeler.label_without_crf
    return labeler.label


def _cpu_ms(label: Callable[[ImageEvidence], Any], images: Sequence[ImageEvidence]) -> float:
    label(images[0])  # compiles
    times = []
    for image in images:
        begun = time.thread_time()
        label(image)
        times.append(1e3 * (time.thread_time() - begun))
    return median(times)


def _training_images(data: DataSet, banks: Banks, report: Report) -> list[LabeledImage]:
    """Training images as baselines see them, in two folds: the halves that feature sets left out in turn."""
    scenes = data.split("train")
    labeled = [i for i in range(len(scenes)) if scenes.truth(i) is not None]
    chosen = [labeled[i] for i in spread(len(labeled), MOST_IMAGES)] if labeled else []
    if len(chosen) < 2:
        raise DataError(f"{data.name} has {len(chosen)} labeled training images; baselines need more")
    cache = FeatureCache(cache_dir() / "features")
    images = []
    for done, index in enumerate(chosen):
        scene = scenes[index]
        bank = _used(banks.for_scene(scene))
        image = prepare_image(scene, bank, len(data.classes), cache)
        assert scene.truth is not None
        size = image.frame.shape[1], image.frame.shape[0]
        truth = np.asarray(cv2.resize(scene.truth, size, interpolation=cv2.INTER_NEAREST), np.int16)
        fold = int(banks.crossfit.fold_of.get(scene.id) == "b")
        images.append(LabeledImage(image.full_evidence(bank), truth, fold))
        report("features to fit baselines to", done + 1, len(chosen), scene.id)
    return images


def _banks(data: DataSet, folder: Path, backbone: Path | None, report: Report) -> Banks:
    path = folder / BANK
    if not path.exists():
        report("feature sets", 0, 1, "fitting")
        arrays = fit_banks(data, (), np.random.default_rng(0))
        with write_atomically(path) as file:
            file.write(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    banks = load_banks(data, (), load_file(path), backbone, 1)
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
        bank = dict(bank_from_arrays(list_feature_sets(), whole))
        if (folder / NETWORK).exists():
            parts = load_file(folder / f"{NETWORK}.safetensors")
            head = Head(parts["weight"], parts["bias"], classes)
            bank |= ladder(Network((folder / NETWORK).read_bytes()), head, (1.0,))
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
