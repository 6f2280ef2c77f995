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


@pytest.fixture
def joined(ray_cluster):
    ray.init(address=ray_cluster.address, log_to_driver=False)
    yield
    ray.shutdown()


def test_a_desk_that_dies_is_set_up_again(joined):
    from anyscene.cluster.dealing import Caps, Dealer
    from anyscene.cluster.ray_executor import _desk
    from anyscene.cluster.todo import Chunk

    desk = _desk(Dealer(Caps(each_ms=7.0), 10, 1))
    chunk = Chunk(0, 0, 5)
    assert ray.get(desk.deal.remote(chunk)).budget_ms == 7.0
    [process] = processes_of("ray::_Desk")
    os.kill(process, signal.SIGKILL)
    assert ray.get(desk.deal.remote(chunk), timeout=60).budget_ms == 7.0


def test_a_job_whose_desk_is_gone_ends_with_one_sentence(joined, model_file, tmp_path):
    from anyscene.cluster.dealing import Caps, Dealer
    from anyscene.cluster.ray_executor import STOPPED, _desk, _RayWorker
    from anyscene.cluster.sending import send_model
    from anyscene.cluster.worker import Work

    desk = _desk(Dealer(Caps(), 1, 1))
    work = Work(str(model_file), str(tmp_path), str(tmp_path))
    worker = _RayWorker(work, send_model(work.model), desk)
    ray.kill(desk, no_restart=True)
    [row] = worker({"file": [0], "start": [0], "stop": [1]}).to_pylist()
    assert row["status"] == STOPPED
    assert "the same command goes on" in row["error"]
    assert "\n" not in row["error"]
