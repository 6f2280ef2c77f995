"""The picture of the bench `frontier`; needs matplotlib (extra `report`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anyscene.files import write_atomically
from anyscene.marks import MARK


def plot_frontier(points: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    """Draw the frontier as a step function of accuracy against cost, with its input sizes.

    points: as the bench `frontier` reports them: scale, cost_ms, pixel and iou of each input size.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    ordered = sorted(points, key=lambda point: point["cost_ms"])
    costs = [point["cost_ms"] for point in ordered]
    for name, values in (
        ("pixel accuracy", [point["pixel"] for point in ordered]),
        ("mean IoU", [point["iou"] for point in ordered]),
    ):
        best = [max(values[: index + 1]) for index in range(len(values))]
        (line,) = axes.step(costs, best, where="post", label=name)
        axes.plot(costs, values, "o", color=line.get_color(), markersize=4)
    for point in ordered:
        place = point["cost_ms"], point["pixel"]
        axes.annotate(f"{point['scale']:g}", place, (0, 6), textcoords="offset points")
    axes.set(xscale="log", xlabel="milliseconds, one thread", ylabel="score", title=title)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    with write_atomically(path) as file:
        figure.savefig(file, format=path.suffix.lstrip(".") or "svg", metadata={"Creator": MARK})
