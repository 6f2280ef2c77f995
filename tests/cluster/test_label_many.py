"""`anyscene label` as a job with a manifest, in local processes: once each, whatever happens on the way."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anyscene.cluster.labeler import Labeler
from anyscene.errors import AnysceneError, ConfigError, DataError


def results(output):
    """The results of a job by their names, as hashes."""
    return {
        str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in output.rglob("*.png")
    }


def is_complete(table, output, images):
    """Whether each image is in the manifest exactly once, and its result is there."""
    files = table["file"].to_pylist()
    assert len(files) == len(set(files)) == images
    assert set(table["status"].to_pylist()) == {"labelled"}
    named = {name.removeprefix("file://") for name in table["result"].to_pylist()}
    assert named == {str(output / name) for name in results(output)}
    return True


def test_uris_need_no_cluster_and_results_do_not_depend_on_workers(label, pictures, tmp_path, records):
    outputs = [tmp_path / "one", tmp_path / "two"]
    for output, workers in zip(outputs, (1, 2), strict=True):
        code, summary, _ = label(f"file://{pictures}", "-o", f"file://{output}", "--workers", workers)
        assert (code, summary["labelled"]) == (0, 40)
        assert is_complete(records(output), output, 40)
    assert results(outputs[0]) == results(outputs[1])
    assert not list((outputs[0] / "anyscene-todo").iterdir())


def test_records_tell_what_the_lines_of_a_small_job_tell_and_where(
    label, pictures, streets, tmp_path, records
):
    label(f"file://{pictures}", "-o", tmp_path / "out")
    assert json.loads((tmp_path / "out/classes.json").read_text())["names"] == list(streets.classes.names)
    row = records(tmp_path / "out").to_pylist()[0]
    assert (row["width"], row["height"]) == (120, 90)
    assert row["ms"] > 0
    assert row["cpu_ms"] > 0
    assert row["plan"]
    assert sum(share for _, share in row["shares"]) == pytest.approx(1, abs=1e-4)
    assert row["node"]
    assert row["id"].hex()[:16] in row["result"]


def test_the_same_command_goes_on_and_labels_what_is_new_or_changed(label, pictures, tmp_path, records):
    output, more = tmp_path / "out", tmp_path / "more"
    more.mkdir()
    own = more / "a.png"
    own.write_bytes((pictures / "000.png").read_bytes())
    given = (f"file://{pictures}", f"file://{more}", "-o", output)
    assert label(*given)[1]["labelled"] == 41
    assert label(*given)[1] | {"cpu_hours": 0} == {
        "labelled": 0,
        "labelled_before": 41,
        "failed": 0,
        "failed_before": 0,
        "not_reached": 0,
        "passed_over": 0,
        "cpu_hours": 0,
        "problems": [],
    }
    (more / "b.png").write_bytes(own.read_bytes())
    os.utime(own, (1, 1))
    assert label(*given)[1]["labelled"] == 2
    assert records(output).num_rows == 43  # the changed image is there in both versions


def test_failed_images_are_told_and_taken_again_when_asked(label, pictures, tmp_path, records):
    folder, output = tmp_path / "some", tmp_path / "out"
    folder.mkdir()
    (folder / "good.png").write_bytes((pictures / "000.png").read_bytes())
    (folder / "bad.png").write_text("this is no picture")
    given = (f"file://{folder}", "-o", output)
    code, summary, _ = label(*given)
    assert (code, summary["labelled"], summary["failed"]) == (1, 1, 1)
    assert "bad.png" in summary["problems"][0]
    code, summary, _ = label(*given)
    assert (code, summary["labelled"], summary["failed"], summary["failed_before"]) == (1, 0, 0, 1)
    assert label(*given, "--retry-failed")[1]["failed"] == 1
    assert sorted(records(output)["status"].to_pylist()) == ["failed", "labelled"]


def start(*arguments):
    """Start the command in a process of its own."""
    command = [sys.executable, "-m", "anyscene", "label", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_result(output, process, seconds=120):
    until = time.monotonic() + seconds
    while not list(output.rglob("*.png")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_job_that_is_stopped_or_killed_goes_on(label, pictures, model_file, tmp_path, records, number):
    output = tmp_path / "out"
    given = (f"file://{pictures}", "-o", output, "--workers", 2, "--overlay")
    process = start(*given, "--model", model_file)
    wait_for_result(output, process)
    process.send_signal(number)
    _, told = process.communicate(timeout=20)
    if number == signal.SIGINT:
        assert "the same command goes on" in told
    assert label(*given)[0] == 0
    table = records(output)
    assert sorted(table["file"].to_pylist()) == sorted(f"file://{path}" for path in pictures.rglob("*.png"))
    assert not list(output.rglob("*.partial"))


def test_tables_of_uris_and_of_images(label, pictures, tmp_path, records):
    files = sorted(pictures.rglob("*.png"))[:6]
    uris, images = tmp_path / "uris.parquet", tmp_path / "images.parquet"
    names = [str(path) for path in files]
    # A URI that comes twice is one image, and one that leads nowhere a failed one.
    pq.write_table(pa.table({"where": [*names, names[0], "file:///gone.png"], "more": range(8)}), uris)
    pq.write_table(
        pa.table({"image": [path.read_bytes() for path in files], "name": names}), images, row_group_size=4
    )
    code, summary, _ = label(uris, "-o", tmp_path / "a")
    assert (code, summary["labelled"], summary["failed"]) == (1, 6, 1)
    assert "there is no such file" in summary["problems"][0]
    code, summary, _ = label(images, "--column", "image", "-o", tmp_path / "b")
    assert (code, summary["labelled"]) == (0, 6)
    made = [sorted(results(tmp_path / name).values()) for name in "ab"]
    assert made[0] == made[1]
    assert sorted(records(tmp_path / "b")["file"].to_pylist())[0] == f"file://{images}#0"


def test_patterns_and_lists(label, pictures, tmp_path):
    assert label(f"file://{pictures}/inner/00?.png", "-o", tmp_path / "a")[1]["labelled"] == 5
    assert label(f"file://{pictures}/**/0[12]*.png", "-o", tmp_path / "b")[1]["labelled"] == 20
    listing = tmp_path / "list.txt"
    listing.write_text(f"file://{pictures}/000.png\n{pictures}/inner/001.png\n")
    assert label("--files-from", listing, "-o", f"file://{tmp_path / 'c'}")[1]["labelled"] == 2


def test_a_spent_cap_ends_the_job_which_goes_on_with_a_higher_one(label, pictures, tmp_path):
    # The small model's engine is ready in this process, whose CPU time counts from its start.
    output = tmp_path / "out"
    spent = time.process_time() / 3600
    code, summary, printed = label(f"file://{pictures}", "-o", output, "--cpu-hours", spent + 1e-9)
    assert code == 1
    assert summary["not_reached"] > 0
    assert "images are left" in printed
    code, summary, _ = label(f"file://{pictures}", "-o", output, "--cpu-hours", 10)
    assert (code, summary["not_reached"]) == (0, 0)


def test_a_plan_writes_nothing(label, pictures, tmp_path):
    code, found, _ = label(f"file://{pictures}", "-o", tmp_path / "out", "--plan", "--workers", 2)
    assert code == 0
    assert (found["images"], found["sample"]) == (40, 40)
    assert found["cpu_hours"] > 40 * found["image_cpu_ms"] / 3.6e6
    assert not (tmp_path / "out").exists()


def test_results_of_two_ways_are_not_mixed(label, pictures, tmp_path):
    output = tmp_path / "out"
    assert label(f"file://{pictures}/000.png", "-o", output)[0] == 0
    with pytest.raises(ConfigError, match="--redo"):
        label(f"file://{pictures}/000.png", "-o", output, "--overlay")
    assert label(f"file://{pictures}/000.png", "-o", output, "--overlay", "--redo")[1]["labelled"] == 1


def bad_inputs(folder, pictures):
    """Arguments that cannot work, and what is said about them."""
    text = folder / "text.parquet"
    text.write_text("this is no table")
    table = folder / "table.parquet"
    pq.write_table(pa.table({"a": ["x"], "b": ["y"], "n": [1]}), table)
    (folder / "empty").mkdir()
    theirs = folder / "theirs"
    theirs.mkdir()
    (theirs / "classes.json").write_text("{}")
    given = f"file://{pictures}"
    return {
        "no such file": ["file:///gone/for/good"],
        "no picture": [f"file://{folder / 'empty'}"],
        "not a Parquet file": [text],
        "--column says which": [table],
        "no column 'n'": [table, "--column", "n"],
        "no column 'z'": [table, "--column", "z"],
        "cannot be opened": ["nosuch://bucket/a"],
        "not written by anyscene": [given, "-o", theirs],
        "leave out --live": [given, "--live"],
        "--format coco": [given, "--format", "coco"],
        "is auto, local or an address": [given, "--cluster", "nonsense"],
        "no Ray cluster at": [given, "--cluster", "127.0.0.1:1"],
    }


def test_bad_input_is_one_sentence_and_nothing_is_begun(label, pictures, tmp_path):
    output = tmp_path / "out"
    for told, arguments in bad_inputs(tmp_path, pictures).items():
        if "cluster" in str(arguments):
            pytest.importorskip("ray", reason="Ray is not installed: pip install 'anyscene[ray]'")
        with pytest.raises((ConfigError, DataError), match=told) as raised:
            label("-o", output, *arguments)
        assert "\n" not in str(raised.value)
        assert not output.exists()


def test_a_name_that_is_no_utf8_is_one_sentence(label, pictures, tmp_path):
    folder, listing = tmp_path / "odd", tmp_path / "list.txt"
    folder.mkdir()
    name = b"caf\xe9.png"
    (folder / os.fsdecode(name)).write_bytes((pictures / "000.png").read_bytes())
    listing.write_bytes(os.fsencode(folder) + b"/" + name)
    for given in ([f"file://{folder}"], ["--files-from", listing, "--mean-cpu", "10ms"]):
        with pytest.raises(DataError, match=r"caf\\xe9.png: this is no UTF-8") as raised:
            label(*given, "-o", tmp_path / "out")
        assert "\n" not in str(raised.value)


def test_links_that_go_round_in_circles_are_not_followed(label, pictures, tmp_path):
    inner = tmp_path / "photos" / "inner"
    inner.mkdir(parents=True)
    (inner / "a.png").write_bytes((pictures / "000.png").read_bytes())
    for name in ("up", "also-up"):
        (inner / name).symlink_to("..")
    assert label(f"file://{inner.parent}", "-o", tmp_path / "out")[1]["labelled"] == 1


def damaged_table(path, columns):
    """A Parquet file whose end is whole, and whose rows are not."""
    pq.write_table(pa.table(columns), path)
    data = bytearray(path.read_bytes())
    data[8:200] = bytes(byte ^ 0x5A for byte in data[8:200])
    path.write_bytes(data)
    return path


def test_a_table_that_is_damaged_inside_is_one_sentence(label, pictures, tmp_path):
    output = tmp_path / "out"
    uris = damaged_table(tmp_path / "uris.parquet", {"uri": [f"{name}.png" for name in range(500)]})
    with pytest.raises(DataError, match=r"uris\.parquet is damaged") as raised:
        label(uris, "-o", output)
    assert "\n" not in str(raised.value)
    assert not output.exists()
    picture = (pictures / "000.png").read_bytes()
    images = damaged_table(tmp_path / "images.parquet", {"image": [picture] * 3})
    code, summary, _ = label(images, "-o", output)
    assert (code, summary["failed"]) == (1, 3)
    for problem in summary["problems"]:
        assert "images.parquet is damaged" in problem
        assert "\n" not in problem


@pytest.mark.parametrize("package", ["ray", "pyarrow"])
def test_without_the_extra_one_sentence_says_how_to_get_it(label, pictures, tmp_path, monkeypatch, package):
    from importlib.util import find_spec

    monkeypatch.setattr(
        "anyscene.cluster.needs.find_spec", lambda name: None if name == package else find_spec(name)
    )
    with pytest.raises(AnysceneError, match=r"pip install 'anyscene\[ray\]'"):
        label(f"file://{pictures}", "-o", tmp_path / "out", "--cluster", "local")


def test_the_labeler_takes_batches_of_any_pipeline(engine, model_file, pictures, tmp_path):
    path = pictures / "000.png"
    inside = Labeler(model_file)({"uri": [str(path), "file:///gone.png"], "n": [1, 2]})
    assert inside["status"] == ["labelled", "failed"]
    assert inside["n"] == [1, 2]
    assert inside["labels"][0].startswith(b"\x89PNG")
    by_bytes = Labeler(model_file, column="image")({"image": [path.read_bytes()]})
    assert by_bytes["labels"][0] == inside["labels"][0] == engine.label(path).to_png()
    kept = Labeler(model_file, output=str(tmp_path))({"uri": [f"file://{path}"]})
    assert Path(kept["result"][0].removeprefix("file://")).read_bytes() == inside["labels"][0]
