"""The region CRF against loops over pairs of regions, and for behaviour."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyscene.evaluation.baselines import crf_kernels
from anyscene.evaluation.baselines.evidence import RegionSummary, summarise
from anyscene.evaluation.baselines.region_crf import RegionCrfParameters, mean_field, message_matrix
from tests.evaluation.baselines.scenes import labeled_images


def random_regions(random: np.random.Generator, count: int) -> RegionSummary:
    return RegionSummary(
        random.uniform(0, 100, (count, 2)).astype(np.float32),
        random.uniform(0, 255, (count, 3)).astype(np.float32),
        random.integers(1, 200, count).astype(np.float32),
    )


def slow_mean_field(belief, regions, parameters):
    """The model as its docstring says it, region by region."""
    n = len(belief)
    voice = regions.area.astype(float) / regions.area.mean()
    position, color = regions.position.astype(float), regions.color.astype(float)

    def squared(values, i, j, width):
        return ((values[i] - values[j]) ** 2).sum() / width**2

    kernels = np.zeros((2, n, n))
    for i in range(n):
        for j in range(n):
            kernels[0, i, j] = np.exp(-0.5 * squared(position, i, j, parameters.position_width))
            near = squared(position, i, j, parameters.bilateral_width)
            kernels[1, i, j] = np.exp(-0.5 * (near + squared(color, i, j, parameters.color_width)))
    norms = [[sum(kernel[i, j] * voice[j] for j in range(n)) for i in range(n)] for kernel in kernels]
    weights = parameters.position_weight, parameters.bilateral_weight
    q = belief.astype(float)
    for _ in range(parameters.iterations):
        scores = np.log(np.maximum(belief.astype(float), 1e-5))
        for i in range(n):
            for j in range(n):
                if i != j:
                    for weight, kernel, norm in zip(weights, kernels, norms, strict=True):
                        scores[i] += weight * kernel[i, j] / np.sqrt(norm[i] * norm[j]) * voice[j] * q[j]
        q = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return q


@settings(max_examples=15)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 25),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([10.0, 40.0]),
    st.sampled_from([0.0, 3.0]),
)
def test_mean_field_equals_brute_force(seed, count, position_weight, width, bilateral_weight):
    random = np.random.default_rng(seed)
    regions = random_regions(random, count)
    belief = random.dirichlet(np.ones(4), count).astype(np.float32)
    parameters = RegionCrfParameters(
        position_weight=position_weight,
        position_width=width,
        bilateral_weight=bilateral_weight,
        color_width=40.0,
        iterations=3,
    )
    found = mean_field(belief, regions, parameters)
    np.testing.assert_allclose(found, slow_mean_field(belief, regions, parameters), atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


def test_adding_a_scaled_kernel_agrees_with_plain_numpy():
    random = np.random.default_rng(0)
    kernel, total = random.random((2, 7, 7), dtype=np.float32)
    rows, columns = random.random((2, 7), dtype=np.float32)
    expected = total + rows[:, None] * kernel * columns
    crf_kernels.add_scaled(kernel, rows, columns, total)
    np.testing.assert_allclose(total, expected, rtol=1e-5)


def test_messages_hold_no_denormal_numbers():
    """They would slow the products down fiftyfold."""
    alone = RegionCrfParameters(position_weight=0.0, color_width=4.0)
    messages = message_matrix(random_regions(np.random.default_rng(1), 60), alone)
    off_diagonal = messages[~np.eye(60, dtype=bool)]
    assert off_diagonal.min() > np.finfo(np.float32).tiny


def test_without_weights_the_data_term_stands():
    random = np.random.default_rng(2)
    belief = random.dirichlet(np.ones(3), 20).astype(np.float32)
    parameters = RegionCrfParameters(position_weight=0.0, bilateral_weight=0.0)
    found = mean_field(belief, random_regions(random, 20), parameters)
    np.testing.assert_array_equal(found, belief)


def test_a_region_unlike_its_neighbours_in_belief_but_like_them_in_colour_gives_way():
    position = np.array([[x, y] for x in range(5) for y in range(5)], np.float32) * 10
    regions = RegionSummary(position, np.full((25, 3), 90, np.float32), np.full(25, 50, np.float32))
    belief = np.tile(np.float32([0.8, 0.2]), (25, 1))
    belief[12] = 0.4, 0.6
    assert (mean_field(belief, regions, RegionCrfParameters()).argmax(axis=1) == 0).all()


def test_summaries_average_position_and_colour():
    evidence = labeled_images(1)[0].evidence
    found = summarise(evidence)
    inside = evidence.regions == 11
    rows, columns = np.nonzero(inside)
    assert found.area[11] == inside.sum()
    assert found.position[11] == pytest.approx([columns.mean(), rows.mean()])
    assert found.color[11] == pytest.approx(evidence.image[inside].mean(axis=0), rel=1e-5)
