"""Measurements held to bars, one file a bench, one form for all: `python -m benchmarks NAME`.

To add a bench, write `NAME.py` here with `run(request: Request) -> Iterable[Figure]`, and list it below.
A bench whose figures are best seen also has `draw(report: Report, path: Path)`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from anyscene.errors import ConfigError
from benchmarks.figures import Figure, Report, Request, describe_machine, missing

BENCHES = {
    "budgets": "More time never gives less: accuracy at twelve budgets",
    "cluster": "One job by Ray, by processes and by one: the same results, as fast, within its cap",
    "cluster_kills": "Jobs whose workers, nodes and drivers are killed, and one in a store: once each",
    "cluster_scale": "Resuming over ten million records; the memory of a driver over 100 000 images",
    "crowded": "Deadlines held when more threads than cores share one engine",
    "deadline": "Deadlines held, what an answer on time is worth, confidence that can be believed",
    "features": "Feature sets against scikit-image and OpenCV, their predicted costs, what they are good for",
    "frontier": "The network run whole at fixed input sizes: the rival that anytime labeling must beat",
    "install": "Sizes of the packages and of an environment, and how soon anyscene answers",
    "learning": "Policies against each other, weak learners against LightGBM, how long learning takes",
    "metrics": "Counting and scoring label maps, against scikit-learn",
    "models": "The shipped models on val of their data sets, from reports of `anyscene evaluate`",
    "overhead": "What the engine itself costs; memory and threads over thousands of calls",
    "paper": "The paper's own system across drives, against a standard classifier and its own baselines",
    "server": "Deadlines over HTTP under load, against LitServe; a killed worker",
    "server_soak": "Twenty minutes at full load with hostile requests: nothing ends, memory stays",
    "staircase": "From a standard classifier to the greedy hierarchical sequence, one change a row",
    "stream_policies": "Deciding when to look in a stream, against fixed periods, chance and an oracle",
    "streams": "Labels of frames in real time, against single frames and fresh full runs",
    "streams_soak": "30 000 frames with cuts, pauses, other sizes and a worker that dies",
    "streets": "Generating labelled street scenes",
    "tree": "Growing segmentation trees, against scikit-image and OpenCV",
}
"""Name -> what it measures. A bench is imported only when it is run."""


def run(name: str, request: Request) -> Report:
    """Run one bench."""
    if name not in BENCHES:
        raise ConfigError(f"there is no bench '{name}'; there are: {', '.join(BENCHES)}")
    bench = importlib.import_module(f"benchmarks.{name}")
    figures = cast(Iterable[Figure], bench.run(request))
    return Report(name, describe_machine(), tuple(figures))


def draw(report: Report, path: Path) -> bool:
    """Draw a report as a picture, if its bench can and matplotlib is installed; tell whether it was drawn."""
    bench = importlib.import_module(f"benchmarks.{report.bench}")
    if not hasattr(bench, "draw") or missing("matplotlib"):
        return False
    bench.draw(report, path)
    return True
