"""Large numbers: resuming over ten million records, and the memory of a driver over 100 000 images."""

from __future__ import annotations

import io
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from anyscene.cluster.ids import ID_BYTES, ids_of, way_of
from anyscene.cluster.manifest import FULL_ROWS, manifest_schema
from anyscene.cluster.places import place
from benchmarks.cluster_rigs import resident_bytes, start
from benchmarks.figures import Bar, Figure, Request, missing

RECORDS, NEW = 10_000_000, 100
TINY = 100_000
ROWS = 500_000


def run(request: Request) -> Iterator[Figure]:
    """Measure."""
    if lacking := missing("ray", "pyarrow"):
        yield Figure("resuming over ten million records", Bar("at most", 60), None, skipped=lacking)
        return
    with tempfile.TemporaryDirectory() as name:
        write_records(Path(name), request.model or "camvid")
        yield from resumed(Path(name), request.model or "camvid")
    with tempfile.TemporaryDirectory() as name:
        yield _driver(Path(name), request.model or "camvid")


def write_records(folder: Path, model: str) -> None:
    """Write a table of URIs, and a manifest that has all but the last of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, out = folder / "images.parquet", folder / "out"
    # One image, so that the command writes down how it labels; the manifest is for the same settings.
    first = folder / "first.png"
    Image.new("RGB", (64, 48)).save(first)
    begun = start(f"file://{first}", "-o", out, "--model", model)
    begun.communicate()
    facts = json.loads((out / "anyscene-label.json").read_text())
    way = way_of({name: value for name, value in facts.items() if name != "comment"})
    with pq.ParquetWriter(table, pa.schema([("uri", pa.string())])) as writer:
        for part in range(0, RECORDS, FULL_ROWS):
            uris = [f"s3://a-bucket/camera-{i % 97}/frame-{i:08d}.jpg" for i in range(part, part + FULL_ROWS)]
            writer.write_table(pa.table({"uri": uris}))
            _write_manifest(out, part, uris, way)
        gone = [f"file://{folder}/gone-{i}.png" for i in range(NEW)]
        writer.write_table(pa.table({"uri": gone}))


def resumed(folder: Path, model: str) -> Iterator[Figure]:
    """Run the whole command over what `write_records` wrote."""
    table, out = folder / "images.parquet", folder / "out"
    started, before = time.perf_counter(), os.times()
    process = start(table, "-o", out, "--model", model)
    most = _peak(process.pid, lambda: process.poll() is None)
    told, complaint = process.communicate()
    seconds, after = time.perf_counter() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    summary = json.loads(told) if told else {"complaint": complaint[-500:]}
    right = summary.get("failed") == NEW and summary.get("labelled_before") == RECORDS + 1
    parts = {
        "records": RECORDS,
        "new": NEW,
        "CPU seconds": cpu,
        "told": {k: v for k, v in summary.items() if k != "problems"},
    }
    took = seconds if right else float("nan")
    yield Figure("resuming over ten million records", Bar("at most", 60), took, "s", parts)
    yield Figure("memory for that", Bar("at most", 2048), most / 2**20, "MiB")


def _write_manifest(out: Path, part: int, uris: list[str], way: bytes) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = manifest_schema()
    count = len(uris)
    ids = pa.Array.from_buffers(
        pa.binary(ID_BYTES),
        count,
        [None, pa.py_buffer(np.ascontiguousarray(ids_of(way, ((uri, "") for uri in uris))).tobytes())],
    )
    known = {
        "id": ids,
        "file": pa.array(uris),
        "status": pa.array(["labelled"] * count),
        "cpu_ms": pa.array(np.full(count, 20, np.float32)),
    }
    columns = [known.get(field.name, pa.nulls(count, field.type)) for field in schema]
    told = {**(schema.metadata or {}), b"replaces": b"[]"}
    made = pa.table(columns, schema=schema).replace_schema_metadata(told)
    (out / "manifest").mkdir(exist_ok=True)
    pq.write_table(made, out / "manifest" / f"whole-{part:020d}-0.parquet", compression="zstd")


def _peak(process: int, runs: Callable[[], bool], every: float = 0.1) -> int:
    most = 0
    while runs():
        try:
            most = max(most, resident_bytes(process))
        except (OSError, IndexError):
            break
        time.sleep(every)
    return most


def _driver(folder: Path, model: str) -> Figure:
    """The memory of the command while a Ray cluster on this machine labels a table of tiny images."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    packed = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    Image.fromarray(noise).save(packed, "PNG")
    table, out = folder / "tiny.parquet", folder / "out"
    pq.write_table(pa.table({"image": [packed.getvalue()] * TINY}), table, row_group_size=1000)
    os.environ.setdefault("RAY_worker_niceness", "0")
    process = start(
        table, "-o", out, "--model", model, "--cluster", "local", "--workers", 2, "--budget", "1ms"
    )
    seen: list[tuple[float, int]] = []
    manifest = place(str(out)) / "manifest"
    while process.poll() is None:
        time.sleep(2)
        done = sum(1 for _ in manifest.files())
        if done:  # labeling has begun
            seen.append((time.monotonic(), resident_bytes(process.pid)))
    told, complaint = process.communicate()
    summary = json.loads(told) if told else {"complaint": complaint[-500:]}
    memory = np.array([size for _, size in seen], float) / 2**20
    quarter = len(memory) // 4
    second, last = memory[quarter : 2 * quarter], memory[len(memory) - quarter :]
    grown = float(np.median(last) - np.median(second)) if quarter else float("nan")
    right = summary.get("labelled") == TINY
    return Figure(
        "what the driver's memory grows by, from the second to the last quarter of 100 000 images",
        Bar("at most", 20),
        grown if right else float("nan"),
        "MiB",
        {"MiB": [round(value, 1) for value in memory[:: max(1, len(memory) // 20)]], "told": summary},
    )
