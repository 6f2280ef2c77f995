"""Blends: the weak learner for sources that speak of classes themselves.

A tree sees one class at a time and needs dozens of cuts to say what a network's scores say outright. A blend
is a belief made anew from the log-scores of all sources, with one weight each; the prior's weight undoes what
class weights in the network's training did, as far as rare classes do not lose by it. So few parameters carry
over to other drives and from the networks of the halves to the one that labels; a bias for each class, what a
source says of the image as a whole, or trees on the scores do not (docs/research/2026-11-16-blends.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from anyscene.features.sets import SCORE_FLOOR
from anyscene.learning.judging import merit
from anyscene.model import kernels


@dataclass(frozen=True)
class Blend:
    """h(k) = Σ_j weight_j·log s_j(k) + bias_k. weight : float32[J]. bias : float32[C].

    kept : the power of the beliefs of before that counts, too; see `Chain`.
    """

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    kept: float = 0.0

    def beliefs(self, chances: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Beliefs q ∝ exp(h); chances : the sources' class probabilities, float32[n, C] each."""
        scores = np.tile(self.bias, (len(chances[0]), 1))
        for weight, source in zip(self.weight.tolist(), chances, strict=True):
            kernels.add_log_scores(source, weight, scores)
        return np.asarray(kernels.reweigh(np.ones_like(scores), np.arange(len(scores)), scores))


def halfway(prior: NDArray[np.float32]) -> Blend:
    """From the beliefs of before halfway to the prior, in logarithms; it looks at nothing else."""
    return Blend(np.zeros(0, np.float32), (0.5 * np.log(prior)).astype(np.float32), kept=0.5)


def fit_blend(
    truth: NDArray[np.float32],
    weight: NDArray[np.float32],
    chances: Sequence[NDArray[np.float32]],
    prior: NDArray[np.float32],
    rare_power: float,
) -> Blend:
    """Find the weights of the sources and of the prior with the least cross-entropy (convex; by L-BFGS).

    truth : float32[n, C]. weight : float32[n], what a row counts. chances : the sources' class
    probabilities, float32[n, C] each. prior : float32[C].
    rare_power : a class counts its share to minus this power. With 0, blends take back what class weights in
    the network's training gave rare classes, and those are hardly ever named.
    """
    constant = np.broadcast_to(np.log(prior), truth.shape)
    logs = np.array([*(np.log(np.maximum(source, SCORE_FLOOR)) for source in chances), constant])
    weight = weight * (truth @ prior**-rare_power)
    share = (weight / weight.sum(dtype=np.float64)).astype(np.float32)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = cross_entropy(np.tensordot(weights.astype(np.float32), logs, 1), truth, share)
        return value, np.tensordot(logs, slope, 2).astype(np.float64)

    found = minimize(loss, np.zeros(len(logs)), jac=True, method="L-BFGS-B").x.astype(np.float32)
    return Blend(found[:-1], found[-1] * np.log(prior))


PRIOR_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the prior's weight that are tried."""


def with_fair_prior(
    blend: Blend,
    truth: NDArray[np.float32],
    weight: NDArray[np.float32],
    chances: Sequence[NDArray[np.float32]],
) -> Blend:
    """Keep the share of the prior's weight with which pixel accuracy and mean IoU together are highest.

    Cross-entropy likes the prior, which wins pixels of frequent classes and loses rare ones. Arguments as in
    `fit_blend`.
    """
    without = np.log(replace(blend, bias=np.zeros_like(blend.bias)).beliefs(chances))
    mass, classes = (truth * weight[:, None]).T, np.eye(truth.shape[1], dtype=np.float32)

    def merit_with(share: float) -> float:
        return merit(mass @ classes[(without + share * blend.bias).argmax(axis=1)])

    return replace(blend, bias=np.float32(max(PRIOR_SHARES, key=merit_with)) * blend.bias)


def cross_entropy(
    scores: NDArray[np.floating], truth: NDArray[np.float32], share: NDArray[np.float32]
) -> tuple[float, NDArray[np.floating]]:
    """The loss of beliefs q ∝ exp(score), and its slope by score, [n, C].

    scores : [n, C]. truth : float32[n, C], rows sum to 1. share : float32[n], what a row counts; sums to 1.
    """
    scores = scores - scores.max(axis=1, keepdims=True)
    chance = np.exp(scores)
    total = chance.sum(axis=1, keepdims=True)
    loss = share @ (np.log(total[:, 0]) - np.einsum("ik,ik->i", truth, scores))
    return float(loss), (chance / total - truth) * share[:, None]
