"""The disk cache: never stale, never broken, whoever writes and whoever is killed."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyscene.features import bank_from_arrays, bank_to_arrays, cache
from anyscene.features.cache import FeatureCache
from anyscene.files import _HOST
from anyscene.hierarchy import Tree

NAMES = ("color", "lbp", "sift")

WRITER = """
import sys
import numpy as np
from anyscene.features.cache import FeatureCache
from anyscene.features.random_bank import random_bank
from anyscene.hierarchy import Tree
bank = random_bank(np.random.default_rng(0))
store = FeatureCache(sys.argv[1])
print("ready", flush=True)
for seed in range(int(sys.argv[2])):
    frame = np.random.default_rng(seed).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    store.features(frame, Tree(frame), bank, ("color", "lbp"))
"""


@pytest.fixture
def store(tmp_path):
    return FeatureCache(tmp_path / "features")


def files(store):
    return sorted(store.folder.rglob("*.npy"))


def test_what_was_extracted_once_is_read_back(store, bank, street, monkeypatch):
    first = store.features(street, Tree(street), bank, NAMES)
    monkeypatch.setattr(cache, "compute_features", None)  # would fail if it were called
    again = store.features(street, Tree(street), bank, NAMES)
    for name in NAMES:
        np.testing.assert_array_equal(first[name], again[name])
        assert isinstance(again[name], np.memmap)
        assert again[name].shape[1] == bank[name].dimensions


def test_rows_are_the_regions_of_all_layers(store, bank, street):
    tree = Tree(street)
    found = store.features(street, tree, bank, ["position"])["position"]
    assert len(found) == sum(len(areas) for areas in tree.areas)


def test_another_image_or_another_codebook_is_another_entry(store, bank, street):
    store.features(street, Tree(street), bank, ["sift"])
    darker = street // 2
    store.features(darker, Tree(darker), bank, ["sift"])
    arrays = bank_to_arrays(bank)
    other = bank_from_arrays(["sift"], arrays | {"sift/words": arrays["sift/words"][::-1].copy()})
    store.features(street, Tree(street), other, ["sift"])
    assert len(files(store)) == 3


def test_a_file_cut_short_is_made_anew(store, bank, street):
    store.features(street, Tree(street), bank, ["lbp"])
    (path,) = files(store)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    store.features(street, Tree(street), bank, ["lbp"])
    assert path.read_bytes() == whole


def test_two_processes_and_a_kill_leave_only_whole_files(tmp_path):
    folder = tmp_path / "shared"
    command = [sys.executable, "-c", WRITER, str(folder)]
    victim = subprocess.Popen([*command, "100000"], stdout=subprocess.PIPE)
    worker = subprocess.Popen([*command, "6"], stdout=subprocess.PIPE)
    victim.stdout.readline()
    worker.stdout.readline()
    time.sleep(0.5)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    assert worker.wait() == 0
    found = sorted(folder.rglob("*.npy"))
    assert len(found) >= 12
    for path in found:
        assert np.isfinite(np.load(path)).all()


@settings(max_examples=30)
@given(st.data())
def test_a_changed_byte_anywhere_is_noticed(tmp_path, bank, street, data):
    store = FeatureCache(tmp_path / "features")
    tree = Tree(street)
    right = {name: np.array(array) for name, array in store.features(street, tree, bank, ["lbp"]).items()}
    (path,) = files(store)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    np.testing.assert_array_equal(store.features(street, tree, bank, ["lbp"])["lbp"], right["lbp"])
    assert path.read_bytes() != content


def test_a_file_of_another_shape_is_made_anew(store, bank, street):
    right = np.array(store.features(street, Tree(street), bank, ["lbp"])["lbp"])
    (path,) = files(store)
    cache._keep(path, right[:-1])
    np.testing.assert_array_equal(store.features(street, Tree(street), bank, ["lbp"])["lbp"], right)


def test_what_a_killed_process_left_is_removed(store, bank, street):
    store.features(street, Tree(street), bank, ["lbp"])
    (path,) = files(store)
    dead = subprocess.Popen(["true"])
    dead.wait()
    left, theirs = unfinished(path.parent, dead.pid), unfinished(path.parent, os.getppid())
    command = [
        sys.executable,
        "-c",
        "import sys; from anyscene.features.cache import *; FeatureCache(sys.argv[1])",
    ]
    subprocess.run([*command, store.folder], check=True)
    assert not left.exists()
    assert theirs.exists()


def unfinished(folder, process):
    partial = folder / f".{_HOST}-{process}-{'0' * 16}.partial"
    partial.write_bytes(b"half")
    return partial


def test_features_stay_in_memory_where_nothing_can_be_kept(tmp_path, bank, street, caplog):
    (tmp_path / "file").write_text("")
    store = FeatureCache(tmp_path / "file" / "features")
    found = store.features(street, Tree(street), bank, ["lbp"])
    assert "features are not kept: cannot write" in caplog.text
    assert np.isfinite(found["lbp"]).all()


def test_a_cache_that_is_deleted_meanwhile_is_made_anew(store, bank, street):
    right = np.array(store.features(street, Tree(street), bank, ["lbp"])["lbp"])
    shutil.rmtree(store.folder)
    np.testing.assert_array_equal(store.features(street, Tree(street), bank, ["lbp"])["lbp"], right)
    assert files(store)
