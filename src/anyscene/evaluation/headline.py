"""The few figures that say how good an anytime labeler is, derived from curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.scores import Curve, Scores, first_cost, step_values

SHARES = (0.90, 0.95, 0.99, 1.00)
"""The shares of HIM's pixel accuracy whose cost is reported."""

CLOSE = 0.001
"""S-M's best accuracy counts as reached this far below it: the last tenth of a point may cost any amount."""

FRONTIER_START = 1.6
"""D-NM is compared with the network alone from this many times the cost of its smallest input on."""

POINTS = 512
"""The budgets, even in log cost, that means are taken over."""


def headline(scores: Mapping[str, Scores]) -> dict[str, Any]:
    """All figures that the systems allow. Costs are in ms, accuracies are fractions, None is never reached.

    him_cost_share : {"90": …}, D-NM's cost for this percentage of HIM's pixel accuracy, over HIM's cost.
    sm_cost_ratio : D-NM's cost over S-M's, for S-M's best accuracy less 0.1 points ("best") and for shares of
        HIM's accuracy.
    frontier : D-NM's accuracy less that of the network alone, the mean and the lowest over log cost; and its
        mean IoU ("iou_…") less the network's. Of several networks, the better one at each cost counts.
    squeezed_frontier : the same where the network alone may squeeze images, as D-NM does.
    by_deadline : the figures above, for D-NM that knows the deadline.
    oracle_gain : the oracle's mean accuracy over log cost, less S-M's.
    oracle_gain_share : the share of this gain that D-NM gets.
    oracle_sm_cost_ratio : as `sm_cost_ratio`'s "best", for the oracle.
    """
    figures: dict[str, Any] = {}
    if "D-NM by deadline" in scores:
        figures["by_deadline"] = _against_others(scores["D-NM by deadline"], scores)
    if "D-NM" not in scores:
        return figures
    ours = scores["D-NM"]
    figures |= _against_others(ours, scores)
    if "S-M" in scores and "Oracle" in scores:
        figures |= _against_oracle(ours, scores["S-M"], scores["Oracle"])
    return figures


def describe(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The figures in words: what, and how much."""
    rows = _describe_against(figures, "D-NM")
    if "oracle_gain" in figures:
        best = "Oracle: cost over S-M's for S-M's best accuracy − 0.1"
        rows += [
            ("the oracle's gain over S-M, mean over log cost", _points(figures["oracle_gain"])),
            ("share of the oracle's gain over S-M that D-NM gets", _percent(figures["oracle_gain_share"])),
            (best, _factor(figures["oracle_sm_cost_ratio"])),
        ]
    return [*rows, *_describe_against(figures.get("by_deadline", {}), "D-NM by deadline")]


def _describe_against(figures: Mapping[str, Any], name: str) -> list[tuple[str, str]]:
    rows = []
    for share, value in figures.get("him_cost_share", {}).items():
        rows.append((f"{name}: share of HIM's cost for {share} % of its pixel accuracy", _percent(value)))
    for which, value in figures.get("sm_cost_ratio", {}).items():
        wanted = "S-M's best accuracy − 0.1" if which == "best" else f"{which} % of HIM's accuracy"
        rows.append((f"{name}: cost over S-M's for {wanted}", _factor(value)))
    for which, words in (
        ("frontier", "the network alone"),
        ("squeezed_frontier", "the network alone, squeezed as D-NM squeezes"),
    ):
        if frontier := figures.get(which):
            span = f"{frontier['from_ms']:.3g} to {frontier['to_ms']:.3g} ms"
            for which_score, score in (("", ""), ("iou_", " in mean IoU")):
                mean, lowest = (frontier[f"{which_score}{end}_difference"] for end in ("mean", "lowest"))
                rows.append((f"{name} above {words}{score}, mean over {span}", _points(mean)))
                rows.append(("… and at its lowest", _points(lowest)))
    return rows


def _against_others(ours: Scores, scores: Mapping[str, Scores]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    if "HIM" in scores:
        figures["him_cost_share"] = _him_shares(ours, scores["HIM"])
    if "S-M" in scores:
        figures["sm_cost_ratio"] = _static_ratios(ours, scores["S-M"], scores.get("HIM"))
    alone = [scores[name] for name in ("CNN", "CNN others") if name in scores]
    if "CNN" in scores:
        figures["frontier"] = _against_frontier(ours, *alone)
    if "CNN squeezed" in scores:
        figures["squeezed_frontier"] = _against_frontier(ours, *alone, scores["CNN squeezed"])
    return figures


def _him_shares(ours: Scores, him: Scores) -> dict[str, float | None]:
    best = float(him.final.pixel[0])
    return {f"{100 * share:g}": _ratio(_cost_of(ours, share * best), him.cost_ms) for share in SHARES}


def _static_ratios(ours: Scores, static: Scores, him: Scores | None) -> dict[str, float | None]:
    wanted = {"best": float(static.curve.pixel.max()) - CLOSE}
    if him:
        wanted |= {f"{100 * share:g}": share * float(him.final.pixel[0]) for share in SHARES[:-1]}
    return {which: _ratio(_cost_of(ours, value), _cost_of(static, value)) for which, value in wanted.items()}


def _against_frontier(ours: Scores, network: Scores, *more: Scores) -> dict[str, float | None]:
    """Compare with the best input size of the network alone that costs no more.

    more : further sizes, and other networks alone.
    """
    cost = np.concatenate([scores.curve.cost for scores in (network, *more)])
    first, last = FRONTIER_START * float(network.curve.cost.min()), float(cost.max())
    budgets = np.geomspace(first, max(first, last), POINTS)
    order = np.argsort(cost)

    def differences(score: Callable[[Curve], NDArray[np.float64]]) -> dict[str, float | None]:
        values = np.concatenate([score(scores.curve) for scores in (network, *more)])
        theirs = step_values(cost[order], np.maximum.accumulate(values[order]), budgets)
        difference = step_values(ours.curve.cost, score(ours.curve), budgets) - theirs
        known = difference[np.isfinite(difference)]
        return {
            "mean_difference": float(known.mean()) if len(known) else None,
            "lowest_difference": float(known.min()) if len(known) else None,
        }

    iou = {f"iou_{name}": value for name, value in differences(lambda curve: curve.iou).items()}
    return {"from_ms": first, "to_ms": last, **differences(lambda curve: curve.pixel), **iou}


def _against_oracle(ours: Scores, static: Scores, oracle: Scores) -> dict[str, float | None]:
    """Compare from the first cost at which all three have labels to the last at which one still changes."""
    three = (ours, static, oracle)
    first = max(float(scores.curve.cost[0]) for scores in three)
    last = max(float(scores.curve.cost[-1]) for scores in three)
    budgets = np.geomspace(first, max(first, last), POINTS)
    d, s, o = (step_values(scores.curve.cost, scores.curve.pixel, budgets).mean() for scores in three)
    return {
        "oracle_gain": float(o - s),
        "oracle_gain_share": _ratio(float(d - s), float(o - s)) if o > s else None,
        "oracle_sm_cost_ratio": _static_ratios(oracle, static, None)["best"],
    }


def _cost_of(scores: Scores, accuracy: float) -> float | None:
    return first_cost(scores.curve.cost, scores.curve.pixel, accuracy)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _factor(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "never" if value is None else f"{100 * value:.1f} %"


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.2f} points"
