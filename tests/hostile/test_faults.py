"""A disk that is full at any moment: one sentence, nothing half-written, and the same command goes on."""

import os

import pytest
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.errors import AnysceneError, ConfigError
from anyscene.files import write_atomically
from tests.hostile.faults import failing_disk


def invoke(fails_at, *arguments):
    with failing_disk(fails_at) as disk:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return done, disk.count


def told_in_one_sentence(done):
    """Whether a command ended with an error for its user, and said why."""
    if isinstance(done.exception, AnysceneError):
        return "No space left on device" in str(done.exception)
    return isinstance(done.exception, SystemExit) and "No space left on device" in done.output


def unfinished(folder):
    return [path for path in folder.rglob("*") if path.name.endswith(".partial")]


def whole(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*.png")}


def test_label_survives_a_write_that_fails(model_file, engine, streets, tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(1):
        Image.fromarray(streets.split("val").image(number)).save(photos / f"{number}.png")

    def words(out):
        return ["label", photos, "--model", model_file, "-o", tmp_path / out]

    done, writes = invoke(0, *words("good"))
    assert done.exit_code == 0, done.output
    assert writes >= 3
    for n in sorted({1, 2, 3, writes // 2, writes}):  # `make hostile` tries them all
        done, _ = invoke(n, *words(f"out{n}"))
        assert done.exit_code != 0
        assert told_in_one_sentence(done), (n, done.output, done.exception)
        assert not unfinished(tmp_path)
        done, _ = invoke(0, *words(f"out{n}"))
        assert done.exit_code == 0, (n, done.output)
        assert whole(tmp_path / f"out{n}") == whole(tmp_path / "good")


def write_in_pieces(path):
    with write_atomically(path) as file:
        for _ in range(4):
            file.write(b"after")


@pytest.mark.parametrize("n", range(1, 8))
def test_a_file_is_written_wholly_or_not_at_all(tmp_path, n):
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(ConfigError, match="No space left on device"), failing_disk(n):
        write_in_pieces(path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["file"]
