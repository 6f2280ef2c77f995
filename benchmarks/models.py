"""The bench `models`: how good the shipped models are, on `val` of their data sets.

The figures are read off reports of `anyscene evaluate`, given as NAME=FOLDER, or one is made of `data`.
Names: camvid, stanford, siftflow; camvid-a and camvid-b for models that were learned on one half of the
drives and scored on the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any

from anyscene.errors import ConfigError
from anyscene.evaluation.evaluate import evaluate
from anyscene.evaluation.report.published import TITLES
from anyscene.evaluation.request import Request as EvaluationRequest
from anyscene.evaluation.results_file import read_results
from anyscene.files import cache_dir
from benchmarks.figures import Bar, Figure, Request

Results = Mapping[str, Any]
Keys = tuple[str, ...]

FINAL_BARS = {
    "camvid": {"pixel": 92.3, "class": 79.0, "iou": 67.0},
    "stanford": {"pixel": 87.0, "iou": 70.0},
    "siftflow": {"pixel": 85.5, "iou": 38.0},
}
WORDS = {"pixel": "pixel accuracy", "class": "class accuracy", "iou": "mean IoU"}
HIM_BARS = {"90": 3.0, "99": 15.0, "100": 25.0}
FRONTIER_BARS = {"lowest": -0.2, "mean": 1.0}
HALVES = ("camvid-a", "camvid-b")
PLAIN_BARS = {
    "mean_difference": 0.3,
    "lowest_difference": -0.3,
    "iou_mean_difference": 0.0,
    "iou_lowest_difference": -0.5,
}
"""By deadline, against the best plain run of the network that costs no more: points of accuracy and IoU."""


def run(request: Request) -> Iterator[Figure]:
    """Hold the reports to the bars; figures that no report was given for are skipped."""
    results: dict[str, Results] = {
        name: _read(name, Path(folder)) for name, folder in request.reports.items()
    }
    kind = (request.data or "").partition(":")[0]
    if kind and kind not in results:
        results[kind] = _evaluate(kind, request)
    if not results:
        raise ConfigError("bench models needs reports, --report camvid=FOLDER, or data to make one of")
    for kind in FINAL_BARS:
        yield from _final(kind, results.get(kind))
    for kind in (*FINAL_BARS, *HALVES):
        yield from _against_plain_runs(kind, results.get(kind))
    yield from _anytime(results.get("camvid"))
    yield from _cross_fit([results[half] for half in HALVES if half in results])


def _read(name: str, folder: Path) -> Results:
    names = (*FINAL_BARS, *HALVES)
    if name not in names:
        raise ConfigError(f"there is no report '{name}' to judge by; there are {', '.join(names)}")
    results = read_results(folder)
    if results.get("data") != name.partition("-")[0]:
        raise ConfigError(f"{folder} is a report on {results.get('data')} and cannot be given as {name}")
    return results


def _evaluate(kind: str, request: Request) -> Results:
    """Score the shipped model; what was done before a kill is kept, so that the next run goes on."""
    split = request.split or "val"
    wanted = EvaluationRequest(
        data=request.data or "",
        split=split,
        model=request.model or kind,
        report=cache_dir() / "reports" / f"{kind}-{split}",
    )
    return evaluate(wanted).document


def _final(kind: str, results: Results | None) -> Iterator[Figure]:
    """D-NM without a deadline."""
    for score, bar in FINAL_BARS[kind].items():
        name = f"{TITLES[kind]}, D-NM unlimited, {WORDS[score]}"
        yield _figure(name, Bar("at least", bar), results, ("systems", "D-NM", score))


def _against_plain_runs(name: str, results: Results | None) -> Iterator[Figure]:
    """By deadline, pixel accuracy and mean IoU less those of the network alone, at any size."""
    by_deadline = results["headline"].get("by_deadline", {}) if results else {}
    rival = "squeezed_frontier" if "squeezed_frontier" in by_deadline else "frontier"
    for which, least in PLAIN_BARS.items():
        words = f"{name}, by deadline less the best plain run, {which.replace('_', ' ')}"
        keys = ("headline", "by_deadline", rival, which)
        yield _figure(words, Bar("at least", least), results, keys, "points")


def _anytime(results: Results | None) -> Iterator[Figure]:
    """CamVid: against the network alone, HIM, the static sequence and the oracle."""
    name = "CamVid, D-NM unlimited above the network at full size"
    ours, theirs = ("systems", "D-NM", "pixel"), ("systems", "CNN", "pixel")
    yield _figure(name, Bar("at least", 0.0), results, ours, "points", less=theirs)
    yield from _against_others(results, "D-NM", ("headline",))
    yield from _against_others(results, "D-NM by deadline", ("headline", "by_deadline"))
    name = "CamVid, share of the oracle's gain over S-M"
    yield _figure(name, Bar("at least", 40.0), results, ("headline", "oracle_gain_share"))


def _against_others(results: Results | None, system: str, place: Keys) -> Iterator[Figure]:
    """CamVid: a system against HIM's cost and the network alone."""
    for share, most in HIM_BARS.items():
        name = f"CamVid, {system}, share of HIM's cost for {share} % of its pixel accuracy"
        yield _figure(name, Bar("at most", most), results, (*place, "him_cost_share", share))
    for which, least in FRONTIER_BARS.items():
        name = f"CamVid, {system} above the static frontier, {which} over log cost"
        keys = (*place, "frontier", f"{which}_difference")
        yield _figure(name, Bar("at least", least), results, keys, "points")
    name = f"CamVid, {system} above a frontier that is squeezed as D-NM's rungs are, mean over log cost"
    yield _figure(name, None, results, (*place, "squeezed_frontier", "mean_difference"), "points")
    name = f"CamVid, {system}, cost over S-M's for S-M's best accuracy − 0.1"
    yield _figure(name, Bar("at most", 50.0), results, (*place, "sm_cost_ratio", "best"))


def _cross_fit(halves: list[Results]) -> Iterator[Figure]:
    """The mean over the two halves; the parts have each."""
    wanted: dict[str, tuple[Bar | None, str, Keys]] = {
        "CamVid cross-fit, D-NM unlimited, pixel accuracy": (None, "%", ("systems", "D-NM", "pixel")),
        "CamVid cross-fit, above the static frontier, mean over log cost": (
            Bar("at least", 0.0),
            "points",
            ("headline", "frontier", "mean_difference"),
        ),
        "CamVid cross-fit, D-NM by deadline above the static frontier, mean over log cost": (
            Bar("at least", 0.0),
            "points",
            ("headline", "by_deadline", "frontier", "mean_difference"),
        ),
    }
    for name, (bar, unit, keys) in wanted.items():
        found = [_figure(name, Bar("at least", 0.0), half, keys) for half in halves]
        known = [figure.value for figure in found if figure.value is not None]
        if len(known) < len(HALVES):
            reason = f"needs reports {' and '.join(HALVES)} with {keys[1]}"
            yield Figure(name, bar, None, unit, skipped=reason)
        else:
            parts = dict(zip(HALVES, known, strict=True))
            yield Figure(name, bar, sum(known) / len(known), unit, parts)


def _figure(
    name: str, bar: Bar | None, results: Results | None, keys: Keys, unit: str = "%", less: Keys = ()
) -> Figure:
    """One number of a report in percent, less another if that is named.

    What was never reached is a bar that does not hold.
    """
    if results is None:
        return Figure(name, bar, None, unit, skipped="no report was given")
    try:
        value, baseline = _value(results, keys), _value(results, less) if less else 0.0
    except KeyError as error:
        return Figure(name, bar, None, unit, skipped=f"the report has no {error.args[0]}")
    if (value is None or baseline is None) and bar is None:
        return Figure(name, bar, None, unit, skipped="it was never reached")
    if value is None or baseline is None:
        measured = inf if bar and bar.comparison == "at most" else -inf
    else:
        measured = 100 * (value - baseline)
    parts = {key: results.get(key) for key in ("data", "split", "images", "model", "clock")}
    return Figure(name, bar, measured, unit, parts)


def _value(results: Results, keys: Keys) -> float | None:
    """A number of a report by its place in it; systems are found by name. None: never reached."""
    found: Any = {**results, "systems": {system["name"]: system for system in results["systems"]}}
    for key in keys:
        found = found[key]
    return None if found is None else float(found)
