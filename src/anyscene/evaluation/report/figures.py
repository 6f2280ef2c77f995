"""The figures of a report, drawn by matplotlib (extra `report`)."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.errors import ConfigError
from anyscene.evaluation.compared_systems import BY_NAME
from anyscene.evaluation.scores import Curve, Scores, budget_grid, first_cost, point_at
from anyscene.evaluation.traces import Trace
from anyscene.files import write_atomically

Floats = NDArray[np.float64]

STYLE = {
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8c959f",
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "grid.color": "#d8dee4",
    "legend.frameon": False,
    "svg.hashsalt": "anyscene",
    "svg.fonttype": "none",
}
WIDTHS = {"RS": 1.2, "D-M": 1.6, "Oracle": 1.6, "S-M": 5.0}
"""Lines that others should stand out from are thinner; S-M's is seen below D-NM's where they are the same."""

PARTS = (0.25, 0.5)
"""The parts of S-M's cost at which it is compared with D-NM, as in the paper's figures 3 (b) and 4 (b, d)."""

FOCUS = 0.75
"""Figures show anytime systems from this share of their way on."""


@dataclass(frozen=True)
class Drawn:
    """A figure as a page shows it."""

    name: str
    caption: str
    svg: bytes


def draw_all(
    scores: Mapping[str, Scores], traces: Mapping[str, Sequence[Trace]], folder: Path
) -> dict[str, Drawn]:
    """Draw every figure that the systems at hand allow; PNG and SVG of each are put in the folder."""
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigError(
            "a report needs matplotlib, which is not installed; pip install 'anyscene[report]'"
        ) from error
    figures: dict[str, tuple[str, Callable[[Any], None]]] = {
        "accuracy": (
            "Pixel accuracy against the cost of an image. Lines: anytime systems, stopped at any cost. "
            "Dots: systems that answer once; the network alone and F-SM at each of their settings.",
            lambda axes: _against_cost(axes, scores, "pixel", "pixel accuracy, %"),
        ),
        "miou": (
            "Mean intersection over union against cost.",
            lambda axes: _against_cost(axes, scores, "iou", "mean IoU, %"),
        ),
        "loss": (
            "Labeling loss (Eq. 3) against cost; lower is better.",
            lambda axes: _against_cost(axes, scores, "loss", "labeling loss"),
        ),
    }
    if "HIM" in scores:
        figures["percentage"] = (
            "Share of HIM's pixel accuracy against share of HIM's cost.",
            lambda axes: _share_of_him(axes, scores),
        )
    if "S-M" in traces:
        figures["gap"] = (
            "Mean difference of pixel accuracy to S-M on the same image at the same cost, in points.",
            lambda axes: _gap_to_static(axes, traces),
        )
    with matplotlib.rc_context(STYLE):
        return {name: _draw(name, *figure, folder) for name, figure in figures.items()}


def _draw(name: str, caption: str, draw: Callable[[Any], None], folder: Path) -> Drawn:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.2, 4.9) if name == "accuracy" else (6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    draw(axes)
    axes.grid(visible=True, which="major", linewidth=0.7)
    for kind in ("svg", "png"):
        made = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {}
        figure.savefig(made, format=kind, dpi=150, metadata=metadata)
        with write_atomically(folder / f"{name}.{kind}") as file:
            file.write(made.getvalue())
        if kind == "svg":
            svg = made.getvalue()
    return Drawn(name, caption, svg)


def _against_cost(axes: Any, scores: Mapping[str, Scores], what: str, label: str) -> None:
    factor = 1.0 if what == "loss" else 100.0
    shown = []
    for name, own in scores.items():
        if name == "Data term":
            continue
        color = BY_NAME[name].color
        values = factor * _values(own.curve, what)
        if own.anytime:
            axes.plot(own.curve.cost, values, color=color, label=name, **_line(name))
            axes.plot(own.curve.cost[-1:], values[-1:], "|", color=color, markersize=9)
            progress = (values - values[0]) / ((values[-1] - values[0]) or 1.0)
            shown.append(values[progress >= FOCUS])
        elif len(values) > 1:
            order = np.argsort(own.curve.cost)
            style = {"linestyle": "--" if name.startswith("CNN") else ":", "linewidth": 1.4}
            best = _best_so_far(values[order], what)
            axes.step(own.curve.cost[order], best, where="post", color=color, label=name, **style)
            axes.plot(own.curve.cost, values, "o", color=color, markersize=3.6)
            shown.append(values)
        else:
            axes.plot(own.curve.cost, values, "X", color=color, markersize=9, label=name)
            shown.append(values)
    _scale(axes, label)
    _focus(axes, shown)
    axes.legend(loc="upper right" if what == "loss" else "lower right", ncols=2, fontsize=9)


def _share_of_him(axes: Any, scores: Mapping[str, Scores]) -> None:
    him = scores["HIM"]
    best = float(him.final.pixel[0])
    for name, own in scores.items():
        if name in ("Data term",):
            continue
        color = BY_NAME[name].color
        cost, value = 100 * own.curve.cost / him.cost_ms, 100 * own.curve.pixel / best
        if own.anytime:
            axes.plot(cost, value, color=color, label=name, **_line(name))
        elif name in ("DCRF", "HIM", "H-DCRF"):
            axes.plot(cost, value, "X", color=color, markersize=9, label=name)
        else:
            axes.plot(cost, value, "o-", color=color, markersize=3.5, linewidth=1, label=name)
    axes.axhline(100, color="#8c959f", linewidth=0.8)
    if "D-NM" in scores and "S-M" in scores:
        for ours, theirs, accuracy in equal_accuracies(scores["D-NM"], scores["S-M"]):
            ends, level = [100 * ours / him.cost_ms, 100 * theirs / him.cost_ms], 100 * accuracy / best
            axes.plot(ends, [level, level], "k:", linewidth=1)
            # Two equal costs are one mark, or they would be written over each other.
            for end, side in zip(ends[:1] if ours == theirs else ends, ("right", "left"), strict=False):
                axes.annotate(f" {end:.0f} % ", (end, level), fontsize=8.5, ha=side, va="bottom")
    axes.set(xlim=(0, 105), ylim=(70, 103), xlabel="% of HIM's cost", ylabel="% of HIM's pixel accuracy")
    axes.legend(loc="lower right", ncols=2, fontsize=9)


def equal_accuracies(ours: Scores, static: Scores) -> list[tuple[float, float, float]]:
    """What each pays for the same: (our cost, S-M's cost, accuracy) where S-M has spent parts of its cost."""
    pairs = []
    for part in PARTS:
        point = point_at(static.curve, part * static.cost_ms)
        if point is None:
            continue
        accuracy = float(point.pixel[0])
        found = first_cost(ours.curve.cost, ours.curve.pixel, accuracy)
        theirs = first_cost(static.curve.cost, static.curve.pixel, accuracy)
        if found is not None and theirs is not None:
            pairs.append((found, theirs, accuracy))
    return pairs


def _gap_to_static(axes: Any, traces: Mapping[str, Sequence[Trace]]) -> None:
    named = [name for name in ("D-NM", "D-M", "Oracle", "S-M") if name in traces]
    budgets = budget_grid([traces[name] for name in named])
    static = _accuracy_of_images(traces["S-M"], budgets)
    for name in named:
        gap = 100 * (_accuracy_of_images(traces[name], budgets) - static).mean(axis=0)
        axes.plot(budgets, gap, color=BY_NAME[name].color, label=name, **_line(name))
    _scale(axes, "points above S-M, mean over images")
    axes.legend(loc="best", fontsize=9)


def _accuracy_of_images(traces: Sequence[Trace], budgets: Floats) -> Floats:
    """Pixel accuracy of every image within every budget, float64[images, budgets]."""
    rows = []
    for trace in traces:
        by_step = np.array([metrics.pixel_accuracy(counts) for counts in trace.counts])
        rows.append(by_step[trace.last_within(budgets)])
    return np.array(rows)


def _values(curve: Curve, what: str) -> Floats:
    return {"pixel": curve.pixel, "class": curve.class_mean, "iou": curve.iou, "loss": curve.loss}[what]


def _best_so_far(values: Floats, what: str) -> Floats:
    return np.minimum.accumulate(values) if what == "loss" else np.maximum.accumulate(values)


def _line(name: str) -> dict[str, Any]:
    style: dict[str, Any] = {"linewidth": WIDTHS.get(name, 2.2)}
    if name == "S-M":
        style["alpha"] = 0.45
    if name == "Oracle":
        style["linestyle"] = (0, (5, 1.5))
    if name == "D-NM":
        style["zorder"] = 5
    return style


def _scale(axes: Any, label: str) -> None:
    axes.set(xscale="log", xlabel="milliseconds an image, one thread", ylabel=label)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")


def _focus(axes: Any, shown: Sequence[Floats]) -> None:
    """Show these values; the first moments, when little is known, would squeeze the rest."""
    values = np.concatenate(shown)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    axes.set_ylim(low - 0.03 * (high - low), high + 0.05 * (high - low))
