"""Measuring this machine: every step on generated scenes of several sizes, and a cost model of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from anyscene.costs.calibration_file import calibration_key
from anyscene.costs.steps import CostModel, StepCost
from anyscene.data import open as open_data
from anyscene.features.layers import growth_work
from anyscene.features.ledger import Charge, Ledger, Work
from anyscene.features.regions import RegionFeatures
from anyscene.features.sets import Bank
from anyscene.features.view import View
from anyscene.hierarchy import LAYERS, Tree
from anyscene.painting.leaves import paint_finest

SIZES = ((480, 360), (480, 320), (480, 270), (360, 480), (320, 240), (240, 180))
"""Working frames that are measured, width and height; most have the usual long side."""

QUICK_SIZES = SIZES[::2]
"""The frames of a quick calibration: few will do, since somebody waits for it."""

TINY_SIZES = ((96, 72), (64, 48))
"""Frames that no tree shrinks; the steps of their maps, which no other frame needs, are measured on them."""

ROUNDS, QUICK_ROUNDS = 8, 3
SCENES = 2

HIGH_QUANTILE = 0.98
HIGH_MARGIN = 1.15
"""A factor on top of the quantile: deadlines must hold on busier days than that of the calibration."""

Image = NDArray[np.uint8]


def calibrate(bank: Bank, quick: bool = False) -> CostModel:
    """Measure every step on generated scenes and fit a cost model; under a minute, `quick` under ten seconds.

    Costs are CPU time of the calling thread: hold everything to one thread around the call.
    """
    images = calibration_images(1, 0, QUICK_SIZES) if quick else calibration_images(SCENES, 0)
    warm_up(bank)
    rounds = QUICK_ROUNDS if quick else ROUNDS
    charges = [charge for _ in range(rounds) for charge in measure(bank, images)]
    charges += steps_beyond(charges, bank, rounds)
    return CostModel(calibration_key(bank), fit_costs(charges, measure_alone(bank, images, rounds)))


def calibration_images(scenes: int, seed: int, sizes: Sequence[tuple[int, int]] = SIZES) -> list[Image]:
    """Generate this many scenes of every size."""
    specs = [f"streets:{scenes}?size={width}x{height}&seed={seed}" for width, height in sizes]
    return [scene.image for spec in specs for scene in open_data(spec).split("all")]


def warm_up(bank: Bank) -> None:
    """Compile or load all kernels that the sets of a bank and pooling need."""
    noise = np.random.default_rng(0).integers(0, 256, (160, 160, 3), dtype=np.uint8)
    list(measure(bank, [noise, noise]))


def measure(bank: Bank, images: Iterable[Image]) -> list[Charge]:
    """Do all there is to do on each image, as labeling would, coarse layers first; return what it cost."""
    charges: list[Charge] = []
    for image in images:
        ledger = Ledger()
        tree = Tree(image)
        regions = RegionFeatures(bank, View(image, ledger), tree)
        for layer in range(LAYERS):
            if layer:
                with ledger.charge(growth_work(tree, layer)):
                    tree.grow(layer + 1)
            if layer % 2 or layer == 0:
                for name in bank:
                    regions.features(name, layer)
        with ledger.charge(Work("paint", image.shape[0] * image.shape[1], len(tree.areas[-1]))):
            paint_finest(np.zeros(len(tree.areas[-1]), np.int16), tree)
        charges += ledger.charges
    return charges


def steps_beyond(charges: Sequence[Charge], bank: Bank, rounds: int) -> list[Charge]:
    """Measure on tiny frames what was never charged: they keep maps that larger frames pool away."""
    known = {charge.work.step for charge in charges}
    tiny = calibration_images(1, 0, TINY_SIZES)
    return [c for _ in range(rounds) for c in measure(bank, tiny) if c.work.step not in known]


def measure_alone(bank: Bank, images: Sequence[Image], rounds: int) -> list[Charge]:
    """What extracting a smooth map takes where nothing else is extracted, as under a short budget.

    In `measure` other sets run in between, and a network finds nothing of its own in the processor's caches,
    so that its smallest inputs seem to take much longer.
    """
    charges: list[Charge] = []
    for name, chosen in bank.items():
        if chosen.stride is not None or chosen.pooling is None:
            continue
        for image in [image for image in images for _ in range(rounds)]:
            regions = RegionFeatures({name: chosen}, View(image), Tree(image))
            regions.extract(name)
            charges += [c for c in regions.view.ledger.charges if c.work.step == f"extract:{name}"]
    return charges


def fit_costs(charges: Sequence[Charge], alone: Sequence[Charge] = ()) -> dict[str, StepCost]:
    """Fit the cost of every step that was charged. alone : what is typical of some, see `measure_alone`."""
    by_step, typical = _by_step(charges), _by_step(alone)
    return {step: _fit_step(own, typical.get(step, own)) for step, own in by_step.items()}


def _by_step(charges: Sequence[Charge]) -> dict[str, list[Charge]]:
    by_step: dict[str, list[Charge]] = defaultdict(list)
    for charge in charges:
        by_step[charge.work.step].append(charge)
    return by_step


def _fit_step(charges: Sequence[Charge], typical: Sequence[Charge]) -> StepCost:
    """Least squares of relative errors to the median of each size of the typical ones, no part negative.

    Hardly any of `charges` exceeds the high factor.
    """
    from scipy.optimize import nnls  # slow to import, and needed for calibrations only

    by_size: dict[tuple[int, int], list[float]] = defaultdict(list)
    for charge in typical:
        by_size[charge.work.pixels, charge.work.regions].append(charge.ms)
    medians = np.array([np.median(times) for times in by_size.values()])
    repeats = np.sqrt([len(times) for times in by_size.values()])
    sizes = np.array([(1, pixels, regions) for pixels, regions in by_size], np.float64)
    # Each size counts as often as it was measured, and by its relative error.
    scale = repeats / np.maximum(medians, 1e-4)
    units = np.maximum(sizes.max(axis=0), 1)
    parts, _ = nnls(sizes / units * scale[:, None], medians * scale)
    fixed, per_pixel, per_region = (parts / units).tolist()
    fitted = StepCost(fixed, per_pixel, per_region, 1.0)
    ratios = [charge.ms / max(fitted.typical(charge.work), 1e-4) for charge in charges]
    high = max(1.0, float(np.quantile(ratios, HIGH_QUANTILE))) * HIGH_MARGIN
    return StepCost(fixed, per_pixel, per_region, high)
