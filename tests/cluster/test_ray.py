"""Jobs on a real Ray cluster of two nodes; and Ray Data with our labeler."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cluster.test_label_many import is_complete, results, start, wait_for_result

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'anyscene[ray]'")


def processes_of(name):
    """Numbers of the processes whose titles begin so."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_text().startswith(name):
                found.append(int(path.parent.name))
    return found


def test_a_cluster_gives_the_bytes_of_one_process(ray_cluster, label, pictures, tmp_path, records):
    output, alone = tmp_path / "ray", tmp_path / "alone"
    code, summary, printed = label(f"file://{pictures}", "-o", output, "--cluster", ray_cluster.address)
    assert (code, summary["labelled"]) == (0, 40), printed
    assert is_complete(records(output), output, 40)
    assert summary["cpu_hours"] > 0
    label(f"file://{pictures}", "-o", alone)
    assert results(output) == results(alone)


def test_a_worker_and_then_the_driver_are_killed(ray_cluster, label, pictures, model_file, tmp_path, records):
    output = tmp_path / "out"
    given = (f"file://{pictures}", "-o", output, "--cluster", ray_cluster.address, "--overlay")
    process = start(*given, "--model", model_file)
    wait_for_result(output, process)
    os.kill(processes_of("ray::MapWorker")[0], signal.SIGKILL)
    time.sleep(1)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    code, _, printed = label(*given)
    assert code == 0, printed
    table = records(output)
    assert sorted(table["file"].to_pylist()) == sorted(f"file://{path}" for path in pictures.rglob("*.png"))


def test_what_a_worker_cannot_write_is_one_sentence(ray_cluster, label, pictures, tmp_path):
    from anyscene.errors import ConfigError

    output = tmp_path / "out"
    output.mkdir()
    (output / "photos").write_text("a file where a folder must be")
    with pytest.raises(ConfigError, match="photos") as raised:
        label(f"file://{pictures}", "-o", output, "--cluster", ray_cluster.address)
    assert "\n" not in str(raised.value)


def test_the_labeler_is_a_class_for_ray_data(ray_cluster, pictures, model_file, engine):
    from anyscene.cluster import Labeler

    ray.init(address=ray_cluster.address, log_to_driver=False)
    try:
        files = sorted(str(path) for path in pictures.glob("*.png"))[:4]
        labelled = ray.data.from_items([{"uri": file} for file in files]).map_batches(
            Labeler,
            fn_constructor_kwargs={"model": str(model_file)},
            compute=ray.data.ActorPoolStrategy(size=1),
        )
        found = {row["file"]: row["labels"] for row in labelled.take_all()}
    finally:
        ray.shutdown()
    assert found == {file: engine.label(file).to_png() for file in files}
