"""The pixel CRF against exact kernels on small images, against pydensecrf2 where it is installed."""

import numpy as np
import pytest

from anyscene.evaluation.baselines import crf_kernels as kernels
from anyscene.evaluation.baselines.pixel_crf import PixelCrfParameters, mean_field

CLASSES = 5


def scene(seed: int, height: int, width: int):
    """A picture of noisy patches, its labels, the patches as regions, and a noisy data term."""
    random = np.random.default_rng(seed)
    rows, columns = np.indices((height, width))
    patches = (rows // (height // 3 + 1)) * 3 + columns // (width // 3 + 1)
    label_of, color_of = random.integers(0, CLASSES, 9), random.integers(0, 256, (9, 3))
    labels = label_of[patches]
    image = np.clip(color_of[patches] + random.normal(scale=6, size=(height, width, 3)), 0, 255).astype(
        np.uint8
    )
    scores = 2.0 * np.eye(CLASSES)[labels] + random.normal(size=(height, width, CLASSES))
    belief = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    return image, labels, patches.astype(np.int32), belief.astype(np.float32)


def slow_mean_field(belief, image, regions, cliques, parameters):
    """The model with its kernels written out."""
    height, width, classes = belief.shape
    rows, columns = np.indices((height, width)).reshape(2, -1).astype(float)
    color = image.reshape(-1, 3).astype(float)
    near = (rows[:, None] - rows) ** 2 + (columns[:, None] - columns) ** 2
    alike = ((color[:, None] - color[None]) ** 2).sum(axis=2)
    exponents = (
        near / parameters.position_width**2,
        near / parameters.bilateral_width**2 + alike / parameters.color_width**2,
    )
    weights = parameters.position_weight, parameters.bilateral_weight
    messages = np.zeros_like(near)
    for weight, exponent in zip(weights, exponents, strict=True):
        gaussian = np.exp(-0.5 * exponent)
        scale = 1 / np.sqrt(gaussian.sum(axis=1))
        messages += weight * scale[:, None] * gaussian * scale
    data = belief.reshape(-1, classes).astype(float)
    q = data / data.sum(axis=1, keepdims=True)
    for _ in range(parameters.iterations):
        scores = np.log(data) + messages @ q
        for clique in cliques:
            member = clique[regions.ravel()]
            for c in np.unique(member):
                held = q[member == c].mean(axis=0)
                cost = np.minimum(1, (1 - held) / parameters.region_tolerance)
                scores[member == c] -= parameters.region_weight * cost
        q = np.exp(scores - scores.max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
    return q.reshape(belief.shape)


REGIONS = np.arange(9, dtype=np.int32)
COARSE = REGIONS // 3


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("region_weight", [0.0, 1.5])
def test_labels_agree_with_exact_kernels(seed, region_weight):
    image, _, regions, belief = scene(seed, 30, 40)
    parameters = PixelCrfParameters(
        position_width=3.0, bilateral_width=12.0, color_width=20.0, region_weight=region_weight
    )
    found = mean_field(belief, image, regions, [REGIONS, COARSE], parameters)
    expected = slow_mean_field(belief, image, regions, [REGIONS, COARSE], parameters)
    assert (found.argmax(axis=2) == expected.argmax(axis=2)).mean() >= 0.99
    assert np.abs(found - expected).mean() < 0.02


def test_region_terms_alone_are_exact():
    image, _, regions, belief = scene(3, 30, 40)
    parameters = PixelCrfParameters(position_weight=0.0, bilateral_weight=0.0, region_weight=2.0)
    found = mean_field(belief, image, regions, [REGIONS, COARSE], parameters)
    expected = slow_mean_field(belief, image, regions, [REGIONS, COARSE], parameters)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_labels_agree_with_pydensecrf():
    rival = pytest.importorskip(
        "pydensecrf.densecrf", reason="pydensecrf2 is not installed (bench environment)"
    )
    image, _, regions, belief = scene(4, 90, 120)
    height, width = regions.shape
    parameters = PixelCrfParameters(region_weight=0.0)
    found = mean_field(belief, image, regions, [], parameters)
    crf = rival.DenseCRF2D(width, height, CLASSES)
    crf.setUnaryEnergy(np.ascontiguousarray(-np.log(belief.reshape(-1, CLASSES).T)))
    crf.addPairwiseGaussian(sxy=parameters.position_width, compat=parameters.position_weight)
    crf.addPairwiseBilateral(
        sxy=parameters.bilateral_width,
        srgb=parameters.color_width,
        rgbim=image,
        compat=parameters.bilateral_weight,
    )
    theirs = np.array(crf.inference(parameters.iterations)).reshape(CLASSES, height, width)
    assert (found.argmax(axis=2) == theirs.argmax(axis=0)).mean() >= 0.99


def test_smoothing_removes_noise():
    image, labels, regions, belief = scene(5, 60, 80)
    refined = mean_field(belief, image, regions, [REGIONS], PixelCrfParameters())
    before, after = ((b.argmax(axis=2) == labels).mean() for b in (belief, refined))
    assert after > before + 0.1
    np.testing.assert_allclose(refined.sum(axis=2), 1, atol=1e-5)


def test_kernels_agree_with_plain_numpy():
    random = np.random.default_rng(6)
    scores = random.normal(size=(50, 4)).astype(np.float32)
    shifted = scores.copy()
    kernels.subtract_largest(shifted)
    np.testing.assert_allclose(shifted, scores - scores.max(axis=1, keepdims=True))
    powers = np.exp(shifted)
    shares = powers.copy()
    kernels.normalise(shares)
    np.testing.assert_allclose(shares, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
    regions = random.integers(0, 6, 50).astype(np.int32)
    sums = kernels.sum_over_regions(shares, regions, 6)
    np.testing.assert_allclose(
        sums, np.stack([shares[regions == r].sum(axis=0) for r in range(6)]), rtol=1e-5
    )
    out = np.empty_like(scores)
    kernels.start_scores(scores, sums, regions, out)
    np.testing.assert_allclose(out, scores - sums[regions], rtol=1e-5)
