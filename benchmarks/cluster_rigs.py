"""What the benches of large jobs share: pictures, the command, Ray clusters of two nodes, and a check."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from PIL import Image

from anyscene.data import open as open_data
from benchmarks.figures import Request

SCENES = "streets:50?size=320x240"
WORKER_TITLE = "ray::MapWorker(MapBatches(_RayWorker))"
OBJECT_STORE_BYTES = 100 * 2**20
LOOK_SECONDS = 0.05


def make_pictures(request: Request, folder: Path, count: int) -> Path:
    """Write so many pictures: scenes of the data set under many names."""
    data = open_data(request.data or SCENES)
    scenes = data.split(request.split or "all")
    made = folder / "pictures"
    made.mkdir()
    known = min(len(scenes), 50)
    for index in range(count):
        path = made / f"{index:06d}.png"
        if index < known:
            Image.fromarray(scenes.image(index)).save(path)
        else:  # not a link: a file has at most 65 000 names
            path.write_bytes((made / f"{index % known:06d}.png").read_bytes())
    return made


def scene_of(name: str) -> int:
    """Which of the scenes a picture shows, by its name."""
    return int(Path(name).name.partition(".")[0]) % 50


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A Ray cluster of a head without cores and two nodes of one core each."""
    os.environ.setdefault("RAY_worker_niceness", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    from ray.cluster_utils import Cluster

    options = {"num_cpus": 0, "object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=options)
    try:
        for _ in range(2):
            add_node(made)
        yield made
    finally:
        made.shutdown()


def add_node(cluster: Any) -> Any:
    """Add a node of one core."""
    return cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE_BYTES)


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start `anyscene label`; its JSON goes to stdout."""
    command = [sys.executable, "-m", "anyscene", "label", *map(str, arguments), "--json", "-"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def processes_of(title: str) -> list[int]:
    """Numbers of processes whose titles begin so."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes().startswith(title.encode()):
                found.append(int(path.parent.name))
    return found


def resident_bytes(process: int) -> int:
    """The memory that a process has now."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def result_hashes(output: Path) -> dict[str, str]:
    """Results of a job by name, as hashes."""
    return {
        str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in output.rglob("*.png")
    }


def faults(files: list[str], hashes: dict[str, str], expected: set[str]) -> dict[str, int]:
    """What is wrong with a job that has ended.

    files : of the manifest. hashes : of results by name. expected : the files that should be there.
    Results of the same scene must be the same bytes, so that one which is cut short is found.
    """
    by_scene: dict[int, set[str]] = {}
    for name, digest in hashes.items():
        by_scene.setdefault(scene_of(name), set()).add(digest)
    return {
        "missing in the manifest": len(expected - set(files)),
        "twice in the manifest": len(files) - len(set(files)),
        "results missing": len(expected) - len({Path(name).name.partition(".")[0] for name in hashes}),
        "results that differ": sum(len(different) - 1 for different in by_scene.values()),
    }


def manifest_files(output: str) -> list[str]:
    """The images in the manifest of a job, as any reader of Parquet finds them."""
    import pyarrow.dataset as ds

    from anyscene.cluster.places import place

    folder = place(output) / "manifest"
    table = ds.dataset(folder.path, filesystem=folder.filesystem, format="parquet").to_table(["file"])
    return [str(file) for file in table["file"].to_pylist()]


def wait_until(condition: Any, seconds: float) -> bool:
    """Wait for something to become true; tell whether it did.

    Looks are counted, not seconds: a bench may be suspended and go on.
    """
    for _ in range(round(seconds / LOOK_SECONDS)):
        if condition():
            return True
        time.sleep(LOOK_SECONDS)
    return False
