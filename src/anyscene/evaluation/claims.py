"""The paper's claims (section 5.3), each measured on runs of our own, with a 95 % interval and a verdict.

A claim is a number and the range that it should lie in. The number alone decides the verdict; the interval
says whether other images might have decided otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.pooled_runs import ROUNDS, Curves, Runs, drawn_images, pooled

HOLDS, FAILS, INCOMPARABLE = "holds", "does not hold", "not comparable"

TIE = 0.001
"""Accuracies that differ by less than this, a tenth of a point, count as equal."""

SLIGHTLY = 0.02
"""The most accuracy by which one curve lies "slightly" above another."""

HALF = 0.6
"""The largest share that still counts as "about half"."""

SATURATED = 0.99
"""A system is saturated where it has this share of its own last accuracy."""

ANYTIME_BASELINES = ("S-M", "RS", "F-SM")
"""The paper's three anytime rivals of D-NM."""


@dataclass(frozen=True)
class Statement:
    """Something that the paper says.

    needs : the systems that it is about. least, most : where the measured number should lie.
    published : the paper's own figure, by data set. unit : "share", "ratio" or "points".
    unless : when the number cannot be told, in words.
    """

    key: str
    text: str
    needs: tuple[str, ...]
    measure: Callable[[Curves], float]
    unit: str
    least: float = -np.inf
    most: float = np.inf
    published: Mapping[str, str] = field(default_factory=dict)
    unless: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement as it was measured; accuracies are fractions, infinite costs are never reached.

    value, low, high : the figure and its 95 % interval, nan where it cannot be told. note : why it cannot.
    """

    statement: Statement
    published: str
    value: float
    low: float
    high: float
    verdict: str
    note: str = ""

    @property
    def sure(self) -> bool:
        """Whether the verdict is the same all over the interval."""
        return self.verdict == verdict_of(self.low, self.statement) == verdict_of(self.high, self.statement)

    @property
    def interval(self) -> str:
        """The interval in words, its unit once."""
        low, high = (in_words(end, self.statement.unit) for end in (self.low, self.high))
        return f"{low.removesuffix(' points')} to {high}"

    def to_json(self) -> dict[str, Any]:
        """As `results.json` has it: what is never reached or cannot be told is null."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        return {
            "key": self.statement.key,
            "claim": self.statement.text,
            "bar": bar_in_words(self.statement),
            "paper": self.published,
            "ours": in_words(self.value, self.statement.unit),
            "interval": self.interval,
            **{name: float(number) if np.isfinite(number) else None for name, number in numbers.items()},
            "verdict": self.verdict,
            "note": self.note,
            "sure": self.sure,
        }


def check_claims(runs: Runs, data: str, rounds: int = ROUNDS) -> list[Claim]:
    """Measure every statement on all images, and on as many drawn blocks of neighbours for its interval.

    data : the name of the data set, for the paper's figures. rounds : how many times blocks are drawn.
    """
    images = len(runs.known)
    (whole,) = pooled(runs, np.ones((1, images)))
    draws = list(pooled(runs, drawn_images(images, rounds, np.random.default_rng(0))))
    return [_check(statement, data, whole, draws) for statement in STATEMENTS]


def _check(statement: Statement, data: str, whole: Curves, draws: Sequence[Curves]) -> Claim:
    published = statement.published.get(data, "not said of this data")
    if missing := [name for name in statement.needs if name not in whole.accuracy]:
        unknown = float("nan")
        note = f"there is no {missing[0]} here"
        return Claim(statement, published, unknown, unknown, unknown, INCOMPARABLE, note)
    value = statement.measure(whole)
    values = np.array([statement.measure(curves) for curves in draws])
    told = values[~np.isnan(values)]
    low, high = np.quantile(told, (0.025, 0.975), method="nearest") if len(told) else (np.nan, np.nan)
    note = statement.unless if np.isnan(value) else ""
    return Claim(statement, published, value, float(low), float(high), verdict_of(value, statement), note)


def verdict_of(value: float, statement: Statement) -> str:
    """Whether a number is where the statement says that it should be."""
    if np.isnan(value):
        return INCOMPARABLE
    return HOLDS if statement.least - 1e-9 <= value <= statement.most + 1e-9 else FAILS


def in_words(value: float, unit: str) -> str:
    """A measured number with its unit."""
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "never"
    if unit == "points":
        return f"{100 * value:+.1f} points"
    return f"{100 * value:.0f} %" if unit == "share" else f"{value:.2f}"


def bar_in_words(statement: Statement) -> str:
    """Where the number of a statement should lie."""
    ends = [
        f"{word} {in_words(end, statement.unit)}"
        for word, end in (("at least", statement.least), ("at most", statement.most))
        if np.isfinite(end)
    ]
    return ", ".join(ends)


def _cost_for_share_of_him(curves: Curves, share: float) -> float:
    return curves.cost_of("D-NM", share * curves.end("HIM")) / curves.cost["HIM"]


def _cost_against_static(curves: Curves, part: float) -> float:
    """D-NM's cost over S-M's for what S-M has at a part of its full cost."""
    wanted = curves.at("S-M", part * curves.cost["S-M"])
    return curves.cost_of("D-NM", wanted) / curves.cost_of("S-M", wanted) if np.isfinite(wanted) else np.nan


def _lead(curves: Curves) -> NDArray[np.float64]:
    """D-NM's accuracy less that of the best anytime baseline at each cost."""
    rivals = [curves.compared(name) for name in ANYTIME_BASELINES]
    return np.asarray(curves.compared("D-NM") - np.nanmax(rivals, axis=0))


def _share_where_random_is_worst(curves: Curves) -> float:
    others = [curves.compared(name) for name in ("D-NM", "S-M", "F-SM") if name in curves.accuracy]
    return float((curves.compared("RS") < np.nanmin(others, axis=0) - TIE).mean())


def _feature_selection_at_first(curves: Curves) -> float:
    """F-SM's accuracy less S-M's at F-SM's first labels; nan if these come after S-M's end."""
    labeled = np.flatnonzero(np.isfinite(curves.compared("F-SM")))
    if not len(labeled) or curves.budgets[labeled[0]] >= curves.cost["S-M"]:
        return np.nan
    return float((curves.compared("F-SM") - curves.compared("S-M"))[labeled[0]])


def _feature_selection_saturates(curves: Curves) -> float:
    return curves.cost_of("F-SM", SATURATED * curves.end("F-SM")) / curves.cost["F-SM"]


def _against_dcrf(curves: Curves) -> float:
    return curves.at("D-NM", curves.cost["DCRF"]) - curves.end("DCRF")


STATEMENTS = (
    Statement(
        "him-90",
        "D-NM has 90 % of HIM's accuracy at 10 to 15 % of its cost",
        ("D-NM", "HIM"),
        partial(_cost_for_share_of_him, share=0.9),
        "share",
        most=0.15,
        published={"camvid": "about 10 %"},
    ),
    Statement(
        "him-100",
        "D-NM has HIM's accuracy at about half of its cost",
        ("D-NM", "HIM"),
        partial(_cost_for_share_of_him, share=1.0),
        "share",
        most=HALF,
        published={"camvid": "about 50 %"},
    ),
    Statement(
        "static-25",
        "D-NM's cost over S-M's, for what S-M has at 25 % of its full cost",
        ("D-NM", "S-M"),
        partial(_cost_against_static, part=0.25),
        "ratio",
        most=HALF,
        unless="S-M has no labels yet at 25 % of its cost",
        published={"camvid": "0.46 (13 % to 28 % of HIM's cost)", "stanford": "0.44 (11 % to 25 %)"},
    ),
    Statement(
        "static-50",
        "D-NM's cost over S-M's, for what S-M has at 50 % of its full cost",
        ("D-NM", "S-M"),
        partial(_cost_against_static, part=0.5),
        "ratio",
        most=HALF,
        unless="S-M has no labels yet at 50 % of its cost",
        published={"camvid": "0.38 (21 % to 55 % of HIM's cost)", "stanford": "0.54 (15 % to 28 %)"},
    ),
    Statement(
        "never-below",
        "D-NM less the best anytime baseline (S-M, RS, F-SM), at the cost where it is lowest",
        ("D-NM", *ANYTIME_BASELINES),
        lambda curves: float(_lead(curves).min()),
        "points",
        least=-TIE,
        published={"camvid": "above at every cost"},
    ),
    Statement(
        "above",
        "D-NM less the best anytime baseline, mean over log cost",
        ("D-NM", *ANYTIME_BASELINES),
        lambda curves: float(_lead(curves).mean()),
        "points",
        least=TIE,
        published={"camvid": "above at every cost"},
    ),
    Statement(
        "random-worst",
        "RS is the worst anytime method: share of costs (log) at which it is below all others",
        ("D-NM", "S-M", "RS"),
        _share_where_random_is_worst,
        "share",
        least=0.9,
        published={"camvid": "almost always"},
    ),
    Statement(
        "selection-early",
        "F-SM less S-M at F-SM's first labels: slightly above",
        ("D-NM", "S-M", "F-SM"),
        _feature_selection_at_first,
        "points",
        least=0.0,
        published={"camvid": "slightly above"},
        unless="F-SM's first labels come after S-M's end",
    ),
    Statement(
        "selection-saturates",
        "F-SM saturates: share of its cost for 99 % of its last accuracy",
        ("D-NM", "S-M", "F-SM"),
        _feature_selection_saturates,
        "share",
        most=0.5,
        published={"camvid": "quickly"},
    ),
    Statement(
        "selection-lower",
        "F-SM ends lower: D-NM's last accuracy less F-SM's",
        ("D-NM", "S-M", "F-SM"),
        lambda curves: curves.end("D-NM") - curves.end("F-SM"),
        "points",
        least=TIE,
        published={"camvid": "lower"},
    ),
    Statement(
        "oracle-slightly-above",
        "The oracle less D-NM, mean over log cost: slightly above",
        ("D-NM", "S-M", "Oracle"),
        lambda curves: float((curves.compared("Oracle") - curves.compared("D-NM")).mean()),
        "points",
        least=0.0,
        most=SLIGHTLY,
        published={"camvid": "slightly above"},
    ),
    Statement(
        "oracle-above-static",
        "The oracle less S-M, at the cost where it is lowest",
        ("D-NM", "S-M", "Oracle"),
        lambda curves: float((curves.compared("Oracle") - curves.compared("S-M")).min()),
        "points",
        least=-TIE,
        published={"camvid": "always above"},
    ),
    Statement(
        "oracle-ends-early",
        "The oracle ends early: its full cost over D-NM's",
        ("D-NM", "S-M", "Oracle"),
        lambda curves: curves.cost["Oracle"] / curves.cost["D-NM"],
        "ratio",
        most=0.95,
        published={"camvid": "early"},
    ),
    Statement(
        "dcrf",
        "D-NM at DCRF's cost less DCRF",
        ("D-NM", "DCRF"),
        _against_dcrf,
        "points",
        least=0.0,
        published={"camvid": "+1.5 points"},
    ),
)
"""What the paper claims, in the order of section 5.3."""
