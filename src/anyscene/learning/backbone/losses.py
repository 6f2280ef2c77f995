"""What training makes small: a weighted cross-entropy and, where a recipe asks for it, lost overlap (Lovász),
what a truth says in the words of other data sets, and what a teacher says.

All are taken on a grid coarser than the input: at full resolution the loss alone took a quarter of a step.
The truth's phase on that grid is drawn anew for each batch, so that every pixel counts in the long run.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from anyscene.data import VOID

GRAIN = 2
"""The cross-entropy is taken at every second pixel of every second row."""

TEMPERATURE = 2.0
"""A teacher is mostly sure; at this temperature a student also hears what it holds second and third."""
LEAST_CHANCE = 1e-5
"""Keeps logarithms finite; a class that a teacher holds less likely than this is out of the question."""


def labeling_loss(
    scores: Tensor, truths: Tensor, weights: Tensor, overlap: float, phase: tuple[float, float]
) -> Tensor:
    """Return the loss of scores float[B, C, H/4, W/4] against truths int64[B, H, W], void where unknown.

    weights: of each class in the cross-entropy. overlap: weight of `overlap_loss`. phase: two shares of 1
    that say where on the truth's grid the coarser grids begin.
    """
    marks = thin(truths, GRAIN, phase)
    larger = F.interpolate(scores, size=marks.shape[1:], mode="bilinear", align_corners=False)
    loss = F.cross_entropy(larger, marks, weights, ignore_index=VOID, reduction="sum")
    loss = loss / max(int((marks != VOID).sum()), 1)
    if overlap > 0:
        loss = loss + overlap * overlap_loss(scores, thin(truths, truths.shape[1] // scores.shape[2], phase))
    return loss


def kin_loss(
    scores: Tensor, truths: Tensor, weights: Tensor, meanings: Tensor, phase: tuple[float, float]
) -> Tensor:
    """Return the loss of one head's scores against truths in the words of another data set.

    Minus the logarithm of what the head gives to all meanings of the true word together; words that have
    none do not count. weights: of each word. meanings: float[W, C], see `kinship`.
    """
    marks = thin(truths, truths.shape[1] // scores.shape[2], phase)
    together = torch.einsum("bchw,kc->bkhw", scores.softmax(1), meanings).clamp_min(1e-6).log().contiguous()
    heard = weights * (meanings.sum(1) > 0)
    loss = F.nll_loss(together, marks, heard, ignore_index=VOID, reduction="sum")
    return loss / max(int((marks != VOID).sum()), 1)


def lesson_loss(scores: Tensor, lesson: Tensor, weights: Tensor) -> Tensor:
    """Return how far scores float[B, C, h, w] are from a teacher's probabilities of the same shape.

    The Kullback-Leibler divergence of both at `TEMPERATURE`, averaged over pixels, times its square so that
    gradients keep their size (Hinton et al. 2015). Pixels that have no truth count as well. weights: of each
    class; a pixel weighs what its classes do, by the teacher's word, so that rare ones are not outvoted.
    """
    share = torch.einsum("bchw,c->bhw", lesson, weights)
    taught = (lesson.clamp_min(LEAST_CHANCE).log() / TEMPERATURE).log_softmax(1)
    learned = (scores / TEMPERATURE).log_softmax(1)
    divergence = (taught.exp() * (taught - learned)).sum(1)
    return (share * divergence).mean() * TEMPERATURE**2


def thin(truths: Tensor, grain: int, phase: tuple[float, float]) -> Tensor:
    """Keep one of `grain` x `grain` marks."""
    top, left = (int(share * grain) for share in phase)
    return truths[:, top::grain, left::grain].contiguous()


def overlap_loss(scores: Tensor, truths: Tensor) -> Tensor:
    """Return the Lovász extension of 1 - IoU of the softmax, averaged over the classes that the truths show.

    Zero where every pixel is surely right. (Berman et al. 2018, "The Lovász-Softmax loss".)
    """
    known = truths != VOID
    marks = truths[known]
    shown = torch.unique(marks)
    if len(shown) == 0:
        return scores.sum() * 0.0
    chances = scores.softmax(1).permute(0, 2, 3, 1)[known][:, shown].T
    hits = (marks[None, :] == shown[:, None]).to(chances.dtype)
    errors, order = (hits - chances).abs().sort(dim=1, descending=True)
    hits = hits.gather(1, order)
    total = hits.sum(1, keepdim=True)
    jaccard = 1 - (total - hits.cumsum(1)) / (total + (1 - hits).cumsum(1))
    steps = torch.diff(jaccard, dim=1, prepend=jaccard.new_zeros(len(shown), 1))
    return (errors * steps).sum(1).mean()
