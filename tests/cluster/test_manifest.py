"""The manifest: added to, merged, and never with an image twice, whenever somebody is killed."""

import contextlib

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.cluster.ids import IdSet, id_bytes, ids_of
from anyscene.cluster.images import Image
from anyscene.cluster.manifest import Manifest, manifest_rows
from anyscene.cluster.places import place
from anyscene.cluster.todo import read_tasks, write_todo
from anyscene.errors import ConfigError
from anyscene.outputs.records import Record

WAY = b"a model and its settings"


def rows(*names, status="labelled"):
    digests = id_bytes(ids_of(WAY, ((name, "") for name in names)))
    beside = [{"id": one, "version": "", "cpu_ms": 1.0, "node": "here"} for one in digests]
    return manifest_rows([(Record(name, status), more) for name, more in zip(names, beside, strict=True)])


def files_of(manifest):
    return sorted(file for table in manifest.tables(["file"]) for file in table["file"].to_pylist())


def test_small_files_become_one(tmp_path):
    manifest = Manifest(place(str(tmp_path)))
    for name in "abc":
        manifest.add(rows(name))
    manifest.compact()
    assert len(list((tmp_path / "manifest").iterdir())) == 1
    assert files_of(manifest) == ["a", "b", "c"]
    assert len(manifest.ids()) == 3


def test_a_merge_that_was_killed_before_it_tidied_up_counts_once(tmp_path):
    manifest = Manifest(place(str(tmp_path)))
    manifest.add(rows("a"))
    manifest.add(rows("b"))
    parts = {path: path.read_bytes() for path in (tmp_path / "manifest").iterdir()}
    manifest.compact()
    for path, data in parts.items():
        path.write_bytes(data)
    assert files_of(manifest) == ["a", "b"]
    assert len(list((tmp_path / "manifest").iterdir())) == 1


def test_failed_images_can_be_forgotten(tmp_path):
    manifest = Manifest(place(str(tmp_path)))
    manifest.add(rows("a", "b"))
    manifest.add(rows("c", status="failed"))
    manifest.forget_failed()
    assert files_of(manifest) == ["a", "b"]


def test_a_file_of_somebody_else_is_named(tmp_path):
    manifest = Manifest(place(str(tmp_path)))
    manifest.add(rows("a"))
    pq.write_table(rows("b").drop_columns("id"), tmp_path / "manifest" / "part-x.parquet")
    with pytest.raises(ConfigError, match=r"part-x.parquet"):
        manifest.ids()


@given(st.lists(st.lists(st.integers(0, 200), max_size=30), max_size=12))
def test_a_set_of_ids_tells_what_is_new(batches):
    known, expected = IdSet(), set()
    for batch in batches:
        ids = ids_of(WAY, ((str(one), "") for one in batch))
        new = known.add_new(ids)
        first = [one not in expected and one not in batch[:index] for index, one in enumerate(batch)]
        assert new.tolist() == first
        expected |= set(batch)
        assert len(known) == len(expected)


def test_ids_that_end_in_zeros_are_whole():
    ids = np.array([b"a" * 15, b"b" * 16], "S16")
    assert id_bytes(ids) == [b"a" * 15 + b"\0", b"b" * 16]


def test_what_is_left_is_the_input_less_the_manifest(tmp_path):
    output = place(str(tmp_path))
    manifest = Manifest(output)
    manifest.add(rows("file:///1", "file:///3"))
    images = [Image(f"file:///{index}", "", f"{index}") for index in (1, 2, 3, 4, 2)]
    todo = write_todo(images, manifest.ids(), WAY, output)
    assert (todo.images, todo.left) == (4, 2)
    assert [task.image.uri for task in read_tasks(todo.folder, 0)] == ["file:///2", "file:///4"]
    # Whoever changes version, model or settings asks for another result.
    other = write_todo(images[:1], manifest.ids(), b"other settings", output)
    newer = write_todo([images[0]._replace(version="2")], manifest.ids(), WAY, output)
    assert (other.left, newer.left) == (1, 1)


def test_a_byte_that_a_disk_changed_is_noticed(tmp_path):
    manifest = Manifest(place(str(tmp_path)))
    for name in ("a", "b"):
        manifest.add(rows(*(f"{name}{number}" for number in range(9))))
    manifest.compact()
    (path,) = (tmp_path / "manifest").iterdir()
    whole, right = path.read_bytes(), files_of(manifest)
    for at in range(4, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with contextlib.suppress(ConfigError):  # any other error fails the test
            assert files_of(manifest) == right
