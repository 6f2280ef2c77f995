"""What fitted baselines cost: their evidence by a calibration of this machine, inference by the clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from anyscene.costs.steps import CostModel
from anyscene.data.splits import evenly_spread
from anyscene.evaluation.baselines.answers import Answer, answers_of, looks_at_all_layers
from anyscene.evaluation.baselines.evidence import ImageEvidence, LabeledImage
from anyscene.evaluation.baselines.labeler import Labeler
from anyscene.features import Bank, Ledger, RegionFeatures, View
from anyscene.features.layers import growth_work
from anyscene.hierarchy import LAYERS, Tree

TIMED_IMAGES = 8
"""The training images on which inference is timed; the median counts."""


class BaselineCosts:
    """What baselines cost on this machine, in milliseconds of one thread.

    bank : the feature sets that they look at. steps : the calibration. frames : images to price evidence on.
    """

    def __init__(self, bank: Bank, steps: CostModel, frames: Sequence[NDArray[np.uint8]]) -> None:
        self._bank = bank
        self._steps = steps
        self._frames = frames

    def evidence_ms(self, sets: Sequence[str], layers: Sequence[int] = (LAYERS - 1,)) -> float:
        """The mean cost of the whole tree, of some feature sets on some layers, and of painting."""
        return float(np.mean([self._evidence_ms(frame, sets, layers) for frame in self._frames]))

    def of_labeler(
        self, key: str, labeler: Labeler, images: Sequence[LabeledImage]
    ) -> dict[str, list[float]]:
        """The milliseconds of each step of a system: for the evidence, for inference, and in total."""
        few = [images[i].evidence for i in evenly_spread(len(images), TIMED_IMAGES)]
        layers = tuple(range(LAYERS - 1, -1, -1)) if looks_at_all_layers(key) else (LAYERS - 1,)
        steps = answers_of(key, labeler, tuple(self._bank))
        evidence = [self.evidence_ms(sets, layers) for sets, _ in steps]
        inference = [_cpu_ms(answer, few) for _, answer in steps]
        total = [one + other for one, other in zip(evidence, inference, strict=True)]
        return {"evidence_ms": evidence, "inference_ms": inference, "total_ms": total}

    def _evidence_ms(self, frame: NDArray[np.uint8], sets: Sequence[str], layers: Sequence[int]) -> float:
        """Do the work once, which lists its steps, and add up what the calibration says that they cost."""
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


def _cpu_ms(label: Answer, images: Sequence[ImageEvidence]) -> float:
    label(images[0])  # compiles
    times = []
    for image in images:
        begun = time.thread_time()
        label(image)
        times.append(1e3 * (time.thread_time() - begun))
    return median(times)
