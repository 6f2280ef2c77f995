"""The disk cache: never stale, never broken, whoever writes and whoever is killed."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from anyscene.errors import ConfigError
from anyscene.features import Rect, bank_from_arrays, bank_to_arrays, cache
from anyscene.features.cache import FeatureCache
from anyscene.hierarchy import Tree

NAMES = ("color", "lbp", "sift")

WRITER = """
import sys
import numpy as np
from anyscene.features.cache import FeatureCache
from anyscene.features.standins import stand_in_bank
from anyscene.hierarchy import Tree
bank = stand_in_bank(np.random.default_rng(0))
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


def test_a_crop_is_an_entry_of_its_own_with_nan_outside(store, bank, street):
    whole = store.features(street, Tree(street), bank, ["lbp"])["lbp"]
    crop = store.features(street, Tree(street), bank, ["lbp"], Rect(0, 0, 64, 64))["lbp"]
    inside = ~np.isnan(crop).any(axis=1)
    assert 0 < inside.sum() < len(crop)
    np.testing.assert_allclose(crop[inside], whole[inside], atol=1e-6)


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


def test_what_a_killed_process_left_is_removed_when_it_is_old(store, bank, street):
    store.features(street, Tree(street), bank, ["lbp"])
    (path,) = files(store)
    fresh, old = path.parent / ".fresh.partial", path.parent / ".old.partial"
    for partial in (fresh, old):
        partial.write_bytes(b"half")
    os.utime(old, (0, 0))
    FeatureCache(store.folder)
    assert fresh.exists()
    assert not old.exists()


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="choose another"):
        FeatureCache(tmp_path / "file" / "features")
