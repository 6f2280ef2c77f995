"""A disk that is full at any moment: one sentence, nothing half-written, and the same command goes on."""

import os
import subprocess
import sys

import pytest
from PIL import Image

from anyscene.errors import ConfigError
from anyscene.files import write_atomically
from tests.hostile.faults import failing_disk
from tests.hostile.faulty import judge, run


@pytest.mark.parametrize(("kind", "tried"), [("label", 6), ("evaluate", 3)])
def test_a_command_survives_a_write_that_fails(model_file, engine, streets, tmp_path, kind, tried):
    source = tmp_path / "photos"
    source.mkdir()
    Image.fromarray(streets.split("val").image(0)).save(source / "0.png")
    done, actions = run(0, kind, tmp_path / "whole", model_file, source)
    assert done.exit_code == 0, done.output
    assert actions >= 10
    for n in sorted({round(1 + part * (actions - 1) / (tried - 1)) for part in range(tried)}):
        # `make hostile` tries them all
        found = judge(tmp_path / str(n), kind, n, tmp_path / "whole", model_file, source)
        assert found["verdict"] in ("refused", "equal"), found


def write_in_pieces(path):
    with write_atomically(path) as file:
        for _ in range(4):
            file.write(b"after")


@pytest.mark.parametrize("n", range(1, 8))
def test_a_file_is_written_wholly_or_not_at_all(tmp_path, n):
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(ConfigError, match="No space left on device"), failing_disk(n, tmp_path):
        write_in_pieces(path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["file"]


FULL = """
import errno, typer
from anyscene.apps.console import run_commands
app = typer.Typer()
@app.command()
def compile():
    raise OSError(errno.ENOSPC, "No space left on device", "/cache")
run_commands(app)
"""


def test_a_full_disk_that_only_a_library_meets_is_one_sentence():
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: a file cannot be written at /cache: No space left on device")
    assert done.stderr.count("\n") == 1
