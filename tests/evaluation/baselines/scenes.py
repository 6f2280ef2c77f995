"""Small generated images with trees, features and truth, for tests of the baselines."""

import numpy as np

from anyscene.evaluation.baselines.evidence import ImageEvidence, LabeledImage

CLASSES = 3
COLORS = np.array([[200, 60, 60], [60, 190, 70], [70, 80, 210]])
SIDE = 6  # pixels of a finest region's side
SHAPE = (36, 48)
WIDTHS = {"telling": CLASSES, "noise": 2}


def labeled_image(seed: int, fold: int = 0, noise: float = 0.5) -> LabeledImage:
    """Three vertical stripes of classes; square regions in three layers; features tell the class roughly."""
    random = np.random.default_rng(seed)
    height, width = SHAPE
    edges = np.sort(random.choice(np.arange(8, width - 8), 2, replace=False))
    truth = np.digitize(np.arange(width), edges)[None].repeat(height, axis=0).astype(np.int16)
    image = np.clip(COLORS[truth] + random.normal(scale=15, size=(*SHAPE, 3)), 0, 255).astype(np.uint8)
    truth[random.random(SHAPE) < 0.05] = -1
    rows, columns = np.indices(SHAPE)
    fine = (rows // SIDE) * (width // SIDE) + columns // SIDE
    coarse = (rows // (2 * SIDE)) * (width // (2 * SIDE)) + columns // (2 * SIDE)
    regions = fine.astype(np.int32)
    parents = np.zeros(fine.max() + 1, np.int32)
    parents[fine.ravel()] = coarse.ravel()
    layers = (np.zeros(1, np.int32), np.zeros(coarse.max() + 1, np.int32), parents)
    empty = tuple(np.zeros((len(layer), 0), np.float32) for layer in layers)
    bare = LabeledImage(ImageEvidence(image, regions, layers, empty, {}), truth, fold)
    shares = [counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) for counts in bare.counts(CLASSES)]
    features = tuple(
        np.hstack(
            [share + random.normal(scale=noise, size=share.shape), random.normal(size=(len(share), 2))]
        ).astype(np.float32)
        for share in shares
    )
    return LabeledImage(ImageEvidence(image, regions, layers, features, WIDTHS), truth, fold)


def labeled_images(count: int, folds: int = 2, first_seed: int = 0) -> list[LabeledImage]:
    return [labeled_image(first_seed + i, fold=i * folds // count) for i in range(count)]
