"""What fitted baselines cost: evidence by a calibration of this machine, inference by the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines import (
    FeatureSelection,
    ImageEvidence,
    LabeledImage,
    Labeler,
    RegionCrfLabeler,
)
from anyscene.evaluation.baselines.data_term import spread
from anyscene.features import Bank, Ledger, RegionFeatures, View
from anyscene.features.costs import CostModel
from anyscene.features.layers import growth_work
from anyscene.hierarchy import LAYERS, Tree

TIMED_IMAGES = 8


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
