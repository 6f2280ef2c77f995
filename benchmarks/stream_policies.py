"""`bench stream_policies`: what deciding when to look buys, in simulated streams over stills of a drive.

Neither the stream policy nor the part of the backbone that scores the stills has seen that drive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.data import open as open_data
from anyscene.data.clips import Clip
from anyscene.features.hypercolumn.backbone import installed_backbone, read_backbone
from anyscene.streams.engine import load
from anyscene.streams.learning import StreamSettings, at_price, fixed_policies, oracle
from anyscene.streams.live import policy_of
from anyscene.streams.looks import looks_of
from anyscene.streams.policies import LearnedStreamPolicy, RandomStreamPolicy
from anyscene.streams.simulation import Choice, Moment, Outcome, by, outcome
from anyscene.streams.training import relative_costs, streams_over
from benchmarks.figures import Bar, Figure, Request

DRIVE = "0006R0"
EVERY = 3
"""Of the drive's stills, one in so many: each motion at each speed three times."""

SHARES = (0.1, 0.25, 0.5, 1.0)
"""How often the random policy looks."""

KINDS = {
    "still": frozenset({"still"}),
    "slow": frozenset({"slow", "medium"}),
    "fast": frozenset({"fast"}),
}
"""Kind of a camera -> motions and speeds of its clips."""


@dataclass(frozen=True)
class Reached:
    """What choices came to. spent : finest looks a frame. pixel, miou : in percent."""

    spent: float
    pixel: float
    miou: float


def run(request: Request) -> Iterator[Figure]:
    """Compare D-NM with the best fixed look and period, chance and an oracle on `request.data` (CamVid)."""
    engine = load(request.model or "camvid")
    looks = looks_of(engine)
    policy = policy_of(engine, looks)
    backbone = installed_backbone("camvid")
    if request.data is None or backbone is None:
        yield Figure("stream_policies", None, None, skipped="needs --data camvid:PATH, and anyscene-models")
        return
    if not isinstance(policy, LearnedStreamPolicy):
        yield Figure("stream_policies", None, None, skipped="needs a model with a stream policy")
        return
    train = open_data(request.data).split("train")
    of_drive = [index for index, id in enumerate(train.ids) if id.startswith(DRIVE)]
    stills = list(train.pick(of_drive[2::EVERY]))
    costs, random = relative_costs(looks), np.random.default_rng(11)
    starts = streams_over(stills, looks, costs, read_backbone(backbone), "camvid", random)
    yield from compared(starts, policy, len(looks))


def compared(starts: Sequence[Moment], policy: LearnedStreamPolicy, looks: int) -> Iterator[Figure]:
    """The share of the best fixed policy's cost that D-NM needs, on all clips and by kind of camera."""
    systems: dict[str, dict[str, Choice]] = {
        "S-M": {f"look {each.look} every {each.period}": by(each) for each in fixed_policies(looks)},
        "D-NM": {
            f"price {price:g}": by(at_price(policy.pool, policy.coefficients, price))
            for price in policy.prices
        },
        "RS": {f"share {share}": by(RandomStreamPolicy(np.random.default_rng(0), share)) for share in SHARES},
    }
    by_clip = {
        name: {way: [outcome([start], choose) for start in starts] for way, choose in ways.items()}
        for name, ways in systems.items()
    }

    clips = [start.recording.clip for start in starts]

    def reached(name: str, kind: frozenset[str] = frozenset()) -> dict[str, Reached]:
        some = [not kind or bool(kind & {clip.motion, clip.speed}) for clip in clips]
        return {way: scored([*compress(found, some)]) for way, found in by_clip[name].items()}

    static, learned = reached("S-M"), reached("D-NM")
    parts: dict[str, Any] = {name: {way: vars(one) for way, one in reached(name).items()} for name in systems}
    parts["oracle"] = _oracle(starts, policy)
    name = "cost that D-NM needs for the best fixed look and period"
    yield Figure(f"{name}: pixel", Bar("at most", 0.6), _needed(static, learned, "pixel"), "", parts)
    yield Figure(f"{name}: mean IoU", None, _needed(static, learned, "miou"))
    name = "cost of D-NM against a fixed policy of its accuracy, median over prices"
    yield Figure(f"{name}: pixel", None, _against_equals(static, learned, "pixel"))
    yield Figure(f"{name}: mean IoU", None, _against_equals(static, learned, "miou"))
    fixed, deciding = (
        {way: _in_equal_parts(found, clips) for way, found in by_clip[who].items()} for who in ("S-M", "D-NM")
    )
    for score, bar in (("pixel", Bar("at most", 0.6)), ("miou", None)):
        share = _needed(fixed, deciding, score)
        name = f"needed for the best fixed one, still, slow and fast cameras in equal parts: {score}"
        yield Figure(name, bar, share)
    for kind, names in KINDS.items():
        if not any(names & {clip.motion, clip.speed} for clip in clips):
            continue
        fixed, deciding = reached("S-M", names), reached("D-NM", names)
        for score in ("pixel", "miou"):
            share = _needed(fixed, deciding, score)
            yield Figure(f"needed for the best fixed one, {kind} camera: {score}", None, share)


def scored(clips: Sequence[Outcome], weights: NDArray[np.float64] | None = None) -> Reached:
    """What choices came to on clips of one length. weights : how much each clip counts; none: all alike."""
    each = np.ones(len(clips)) if weights is None else weights
    counts = np.tensordot(each, np.array([clip.counts for clip in clips]), 1)
    return Reached(
        float(np.average([clip.spent for clip in clips], weights=weights)),
        100 * metrics.pixel_accuracy(counts),
        100 * metrics.mean_iou(counts),
    )


def _in_equal_parts(found: Sequence[Outcome], clips: Sequence[Clip]) -> Reached:
    """What choices came to if each kind of camera counts alike; clips of no kind count nothing."""
    of_kind = [[bool(names & {clip.motion, clip.speed}) for clip in clips] for names in KINDS.values()]
    kinds = np.array([np.array(own) / max(1, sum(own)) for own in of_kind])
    return scored(found, kinds.sum(axis=0))


def _needed(fixed: Mapping[str, Reached], learned: Mapping[str, Reached], score: str) -> float:
    """The least that D-NM spends for the best fixed policy's score, as a share of what that one spends.

    Where fixed policies share the best score, the cheapest counts. NaN where D-NM never gets there.
    """
    best = max(fixed.values(), key=lambda one: (getattr(one, score), -one.spent))
    enough = [one.spent for one in learned.values() if getattr(one, score) >= getattr(best, score)]
    return min(enough) / best.spent if enough else float("nan")


def _against_equals(fixed: Mapping[str, Reached], learned: Mapping[str, Reached], score: str) -> float:
    """What D-NM spends at a price over the least that a fixed policy spends for its score; the median.

    Prices at which no fixed policy gets there are left out.
    """
    shares = []
    for one in learned.values():
        equals = [each.spent for each in fixed.values() if getattr(each, score) >= getattr(one, score)]
        if equals:
            shares.append(one.spent / min(equals))
    return float(np.median(shares)) if shares else float("nan")


def _oracle(starts: Sequence[Moment], policy: LearnedStreamPolicy) -> dict[str, float]:
    """The oracle at the middle price, on a few clips, beside D-NM on the same ones."""
    few = starts[:: max(1, len(starts) // 6)]
    price = float(policy.prices[len(policy.prices) // 2])
    ours = at_price(policy.pool, policy.coefficients, price)
    knowing, deciding = outcome(few, oracle(ours, price, StreamSettings())), outcome(few, by(ours))
    return {
        "price": price,
        "clips": len(few),
        "loss": knowing.loss,
        "spent": knowing.spent,
        "D-NM's loss": deciding.loss,
        "D-NM's spent": deciding.spent,
    }
