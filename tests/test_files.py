import errno
import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from anyscene.errors import ConfigError
from anyscene.files import _HOST, alone, append_lines, cache_dir, remove_stale, unfinished, write_atomically
from tests.hostile.faults import failing_disk


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.delenv("ANYSCENE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir() == tmp_path / "anyscene"
    monkeypatch.setenv("ANYSCENE_CACHE", str(tmp_path / "own"))
    assert cache_dir() == tmp_path / "own"


def test_a_file_appears_whole_and_only_at_the_end(tmp_path):
    path = tmp_path / "new folder" / "result.bin"
    with write_atomically(path) as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert os.listdir(path.parent) == ["result.bin"]


def test_a_failed_write_leaves_the_old_content_and_nothing_else(tmp_path):
    path = tmp_path / "result.bin"
    path.write_bytes(b"old")
    with pytest.raises(TypeError, match="bytes-like"), write_atomically(path) as file:
        file.writelines([b"half", "text"])
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["result.bin"]


def test_links_and_pipes_are_written_through_and_stay_what_they_are(tmp_path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    with write_atomically(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "target").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()

    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with write_atomically(tmp_path / "pipe") as file:
        file.write(b"through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_others_may_read_what_the_umask_lets_them_read(tmp_path):
    before = os.umask(0o022)
    try:
        with write_atomically(tmp_path / "shared"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o644


def test_a_place_that_cannot_be_written_is_one_clear_sentence(tmp_path):
    with pytest.raises(ConfigError, match="it is a folder"), write_atomically(tmp_path):
        pass
    (tmp_path / "file").touch()
    with (
        pytest.raises(ConfigError, match=r"cannot write .*file/below"),
        write_atomically(tmp_path / "file" / "below"),
    ):
        pass


def test_a_cache_folder_that_cannot_be_written_is_replaced_with_its_calibrations(
    tmp_path, monkeypatch, caplog
):
    (tmp_path / "cache/calibration").mkdir(parents=True)
    (tmp_path / "cache/calibration/key.json").write_text("{}")
    monkeypatch.setenv("ANYSCENE_CACHE", str(tmp_path / "cache"))
    # Whoever runs the tests as root may write anywhere but where the kernel says no.
    monkeypatch.setattr("os.access", lambda path, mode: str(tmp_path) not in str(path))
    found = cache_dir()
    assert found != tmp_path / "cache"
    assert (found / "calibration/key.json").read_text() == "{}"
    assert "cannot be written" in caplog.text
    assert cache_dir() == found
    assert len(caplog.records) == 1


def test_a_cache_folder_that_cannot_be_made_is_replaced(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ANYSCENE_CACHE", str(tmp_path / "file/cache"))
    assert cache_dir().is_dir()
    assert "ANYSCENE_CACHE names another" in caplog.text


WHERE_COMPILED_CODE_GOES = """
import os
real, package = os.access, os.path.join("src", "anyscene")
# Whoever runs the tests as root may write anywhere but where the kernel says no.
os.access = lambda path, mode: not str(path).endswith(package) and real(path, mode)
import anyscene
print(os.environ.get("NUMBA_CACHE_DIR"))
"""


def test_compiled_code_goes_to_the_cache_where_the_package_cannot_be_written(tmp_path):
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", WHERE_COMPILED_CODE_GOES],
        env={**kept, "ANYSCENE_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(tmp_path / "compiled")]


def test_a_disk_that_is_full_is_one_clear_sentence_and_costs_nothing(tmp_path):
    path = tmp_path / "result.bin"
    path.write_bytes(b"old")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    sentence = pytest.raises(ConfigError, match=r"cannot write .*result.bin: No space left on device")
    with sentence, write_atomically(path) as file:
        file.write(b"half")
        raise full
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["result.bin"]


def test_what_killed_processes_left_is_removed_by_the_next_write(tmp_path):
    dead = subprocess.Popen(["true"])
    dead.wait()
    ours, theirs, foreign = (
        f".{host}-{process}-{'0' * 16}.partial"
        for host, process in [(_HOST, dead.pid), (_HOST, os.getppid()), ("0" * 8, dead.pid)]
    )
    for name in (ours, theirs, foreign, ".holiday.partial"):
        (tmp_path / name).write_bytes(b"half")
    with write_atomically(tmp_path / "new"):
        pass
    assert set(os.listdir(tmp_path)) == {theirs, foreign, ".holiday.partial", "new"}
    (tmp_path / f"{ours}.mp4").write_bytes(b"half a video")
    os.utime(tmp_path / foreign, (0, 0))
    remove_stale.cache_clear()
    remove_stale(tmp_path)
    assert set(os.listdir(tmp_path)) == {theirs, ".holiday.partial", "new"}


def test_lines_are_added_wholly_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "lines"
    append_lines(path, b"first\n")
    for n in (2, 3):  # opening, writing; the folder, asked for first, is there
        with pytest.raises(ConfigError, match=r"cannot write .*lines: No space"), failing_disk(n, tmp_path):
            append_lines(path, b"second\n")
        assert path.read_bytes() == b"first\n"
    append_lines(path, b"second\n")
    assert path.read_bytes() == b"first\nsecond\n"


def test_a_line_that_was_cut_short_does_not_take_the_next_one_with_it(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"first\nseco")
    append_lines(path, b"third\n")
    assert path.read_bytes() == b"first\nseco\nthird\n"


def test_a_name_that_is_too_long_is_one_clear_sentence(tmp_path):
    with pytest.raises(ConfigError, match="File name too long"), write_atomically(tmp_path / ("x" * 300)):
        pass


def test_what_is_unfinished_may_keep_its_suffix(tmp_path):
    assert unfinished(tmp_path / "a.mp4", ".mp4").suffix == ".mp4"


def test_one_at_a_time_does_a_task():
    inside, most = [], []

    def work(_):
        with alone("task"):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.02)
            inside.pop()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
    assert most == [1] * 8
