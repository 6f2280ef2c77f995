"""`anyscene label` for millions of images: URIs, a manifest, limits of CPU time, and clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from anyscene.apps.console import busy, console, emit_json, table, track
from anyscene.apps.label_jobs import Settings
from anyscene.apps.results import CLASSES, SETTINGS, classes_document, refuse_other_settings
from anyscene.apps.stopping import stands_at
from anyscene.cluster.dealing import Caps, Dealer
from anyscene.cluster.executors import Executor, in_processes, in_this_process
from anyscene.cluster.ids import way_of
from anyscene.cluster.images import TABLE, Listing
from anyscene.cluster.job import Estimate, estimate, run_job
from anyscene.cluster.labeler import Looks
from anyscene.cluster.manifest import Manifest
from anyscene.cluster.places import Place, is_uri, place
from anyscene.cluster.sending import file_digest
from anyscene.cluster.todo import write_todo
from anyscene.cluster.worker import Work
from anyscene.engine.clock import parse_budget
from anyscene.engine.loading import drawn_classes, find_model
from anyscene.errors import ConfigError
from anyscene.marks import MARK, marked
from anyscene.modelfile import load_model
from anyscene.outputs.result_files import json_bytes

if TYPE_CHECKING:
    import pyarrow

MOST_TOLD = 20
"""So many failed images are named at the end; the manifest has them all."""


@dataclass(frozen=True)
class Many:
    """What is asked beside the usual `Settings`, as options give it."""

    cluster: str | None = None
    workers: int | None = None
    column: str | None = None
    retry_failed: bool = False
    total: str | None = None
    mean_cpu: str | None = None
    cpu_hours: float | None = None
    plan: bool = False


def is_large(places: Sequence[str], many: Many) -> bool:
    """Tell whether a job needs a manifest."""
    asked = (many.cluster, many.column, many.mean_cpu, many.cpu_hours is not None)
    return any((*asked, many.retry_failed, many.plan)) or any(
        is_uri(text) or text.endswith(TABLE) for text in places
    )


def label_many(
    named: Sequence[str],
    listed: Sequence[str],
    output: str,
    settings: Settings,
    many: Many,
    documents: Sequence[str],
    json: str | None,
) -> bool:
    """Label all images once; tell whether all could be."""
    if settings.live or settings.overlay_video:
        raise ConfigError("videos are labelled on one machine, from local paths; leave out --live")
    if documents:
        raise ConfigError(
            f"--format {documents[0]} makes one file of all results, which jobs with a manifest do not; "
            "leave it out, and read the manifest"
        )
    out = place(output)
    listing = Listing(named, listed, out, many.column)
    listing.check()
    digest = file_digest(find_model(settings.model))
    facts = {
        "model": digest,
        "budget": settings.budget,
        "until": settings.until,
        "mean_cpu": many.mean_cpu,
        "extras": settings.extras,
        "opacity": settings.opacity if "overlay" in settings.extras else None,
    }
    work = Work(
        settings.model,
        (out / "anyscene-todo").uri,
        out.uri,
        many.column,
        Looks(settings.until, settings.extras, settings.opacity),
    )
    manifest = Manifest(out)
    _check_settings(out, facts, manifest, settings.redo)
    caps = _caps(settings, many)
    if many.plan:
        with busy("labeling some images"):
            known = manifest.ids()
            _, found = estimate(work, listing, known, way_of(facts), caps, many.workers or 1)
        _show_estimate(found, many, json)
        return True
    with ExitStack() as stack:
        executor, workers = _executor(many, stack)
        _prepare(out, facts, manifest, settings, many)
        with busy("looking what is to be done"):
            todo = write_todo(listing, manifest.ids(), way_of(facts), out)
        before = _tally(manifest.tables(["status", "cpu_ms"]))
        way_on = "the same command without --redo" if settings.redo else "the same command"
        stands_at(f"{todo.images - todo.left} of {todo.images}", way_on)
        tally: Counter[str] = Counter()
        problems: list[str] = []
        dealer = Dealer(caps, todo.left, workers, before["cpu_ms"])
        if todo.left:
            rows = run_job(work, todo, manifest, executor, dealer)
            for _ in track(_each(rows, tally, problems), "labeling", total=todo.left):
                done = tally["labelled"] + tally["failed"]
                stands_at(f"{todo.images - todo.left + done} of {todo.images}", way_on)
    not_reached = todo.left - tally["labelled"] - tally["failed"]
    summary = {
        "labelled": tally["labelled"],
        "labelled_before": before["labelled"],
        "failed": tally["failed"],
        "failed_before": before["failed"],
        "not_reached": not_reached,
        "passed_over": listing.passed_over,
        "cpu_hours": dealer.spent_ms / 3.6e6,
    }
    _show(summary, problems, manifest, json)
    return not (tally["failed"] or before["failed"] or not_reached)


def _caps(settings: Settings, many: Many) -> Caps:
    return Caps(
        each_ms=_milliseconds(settings.budget),
        total_ms=_milliseconds(many.total),
        mean_cpu_ms=_milliseconds(many.mean_cpu),
        cpu_ms=None if many.cpu_hours is None else 3.6e6 * many.cpu_hours,
    )


def _milliseconds(text: str | None) -> float | None:
    return None if text is None else parse_budget(text)


def _executor(many: Many, stack: ExitStack) -> tuple[Executor, int]:
    """Who does the work, and how many work side by side."""
    if many.cluster is None:
        workers = many.workers or 1
        return (in_this_process if workers == 1 else in_processes(workers)), workers
    from anyscene.cluster.ray_executor import LOCAL, connected, on_ray

    with busy("joining the cluster"):
        cores = stack.enter_context(connected(many.cluster, many.workers))
    if many.cluster == LOCAL:
        return on_ray(cores, cores), cores
    workers = min(many.workers or cores, cores)
    return on_ray(workers, many.workers), workers


def _check_settings(out: Place, facts: dict[str, Any], manifest: Manifest, redo: bool) -> None:
    """Refuse to mix results of two ways, and to use a folder of somebody else."""
    for name in (SETTINGS, CLASSES):
        file = out / name
        if file.exists() and MARK.encode() not in file.read():
            raise ConfigError(
                f"{file.uri} is there already and was not written by anyscene; choose another output"
            )
    file = out / SETTINGS
    if not file.exists():
        if next(manifest.place.files(), None) is not None:
            raise ConfigError(
                f"{manifest.place.uri} is there already and is not of such a job; choose another output"
            )
    elif not redo:
        refuse_other_settings(out.uri, file.read(), _plain(facts))


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON gives them back."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()}


def _prepare(out: Place, facts: dict[str, Any], manifest: Manifest, settings: Settings, many: Many) -> None:
    """Write down how results are made and what ids mean; forget what is to be done again."""
    if settings.redo:
        manifest.clear()
    (out / SETTINGS).write(json_bytes(marked(_plain(facts))))
    classes = drawn_classes(load_model(find_model(settings.model)))
    (out / CLASSES).write(json_bytes(classes_document(classes)))
    if many.retry_failed:
        manifest.forget_failed()


def _tally(tables: Iterator[pyarrow.Table]) -> dict[str, Any]:
    """How many images were labelled and failed, and the CPU time that they took."""
    import pyarrow.compute as pc

    found: dict[str, Any] = {"labelled": 0, "failed": 0, "cpu_ms": 0.0}
    for one in tables:
        for status in ("labelled", "failed"):
            found[status] += pc.sum(pc.equal(one["status"], status)).as_py() or 0
        found["cpu_ms"] += pc.sum(pc.cast(one["cpu_ms"], "float64")).as_py() or 0.0
    return found


def _each(tables: Iterator[pyarrow.Table], tally: Counter[str], problems: list[str]) -> Iterator[None]:
    """Count images as they are done; yield once for each."""
    for one in tables:
        for status, error in zip(one["status"].to_pylist(), one["error"].to_pylist(), strict=True):
            tally[status] += 1
            if error and len(problems) < MOST_TOLD:
                problems.append(error)
            yield


NAMES = {
    "labelled": "images labelled",
    "labelled_before": "labelled before",
    "failed": "could not be labelled",
    "failed_before": "failed before (--retry-failed takes them again)",
    "not_reached": "not reached",
    "passed_over": "not a picture by name",
    "cpu_hours": "CPU hours of the job",
}


def _show(summary: dict[str, Any], problems: Sequence[str], manifest: Manifest, json: str | None) -> None:
    rows = [
        (NAMES[key], f"{value:.4f}" if key == "cpu_hours" else value)
        for key, value in summary.items()
        if value or key in ("labelled", "cpu_hours")
    ]
    screen = console(json)
    screen.print(table(f"results in {manifest.place.uri.removesuffix('/manifest')}", ("what", "value"), rows))
    screen.print(f"each image: {manifest.place.uri}", markup=False, soft_wrap=True)

    def tell(kind: str, text: str) -> None:
        console("-").print(Text.assemble((f"{kind}: ", "bold red"), text), soft_wrap=True)

    for text in problems:
        tell("not labelled", text)
    if (more := summary["failed"] - len(problems)) > 0:
        tell("not labelled", f"{more} more; the manifest says why")
    if summary["not_reached"]:
        tell(
            "stopped",
            f"what the job may take is spent, {summary['not_reached']} images are left; "
            "the same command with more of it goes on",
        )
    emit_json({**summary, "problems": list(problems)}, json)


def _show_estimate(found: Estimate, many: Many, json: str | None) -> None:
    workers = many.workers or 1
    rows = [
        ("images to label", found.left),
        ("CPU time an image, ms", f"{found.image_cpu_ms:.1f}"),
        ("CPU hours", f"{found.cpu_hours:.4f}"),
        (f"hours with {workers} worker{'s' if workers > 1 else ''} like this machine", f"{found.hours:.4f}"),
    ]
    console(json).print(table(f"by {found.images} images", ("what", "value"), rows))
    emit_json(
        {
            "images": found.left,
            "sample": found.images,
            "image_cpu_ms": found.image_cpu_ms,
            "cpu_hours": found.cpu_hours,
            "hours": found.hours,
            "workers": workers,
        },
        json,
    )
