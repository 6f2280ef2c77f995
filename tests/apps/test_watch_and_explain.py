"""`anyscene watch` and `anyscene explain`: a labeling step by step."""

import os
import re

import pytest
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.apps.refining import record


@pytest.fixture
def picture(streets, tmp_path):
    path = tmp_path / "street <1>.png"
    Image.fromarray(streets.split("val")[0].image).save(path)
    return path


def invoke(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_frames_show_every_step(engine, streets):
    image = streets.split("val")[0].image
    run, frames = record(engine, image, None, width=60)
    assert len(frames) == len(run.steps) + 1
    assert all(frame.image.shape == (45, 60, 3) for frame in frames)
    assert len(set(frames[0].leaf.ravel())) == 1
    assert frames[0].active.all()
    assert all(frame.outlined().shape == frame.image.shape for frame in frames)


def test_watch_tells_the_steps_and_keeps_a_gif(engine, model_file, picture, tmp_path):
    gif = tmp_path / "kept" / "steps.gif"
    output = invoke("watch", picture, "--model", model_file, "--gif", gif, "--pause", 0)
    assert "the prior" in output
    assert "split where entropy" in output
    assert Image.open(gif).n_frames > 2


def test_explain_writes_one_page_that_needs_nothing_else(engine, model_file, picture, tmp_path):
    output = invoke("explain", picture, "--model", model_file, "--budget", "1s", "-o", tmp_path / "page")
    assert "index.html" in output
    assert [path.name for path in (tmp_path / "page").iterdir()] == ["index.html"]
    page = (tmp_path / "page" / "index.html").read_text()
    assert "street &lt;1&gt;.png" in page
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert page.count("data:image/webp") == 3 * page.count("<h3")


def test_explain_shows_a_picture_whose_name_is_no_text(engine, model_file, picture, tmp_path):
    odd = picture.rename(tmp_path / os.fsdecode(b"caf\xe9.png"))
    invoke("explain", odd, "--model", model_file, "-o", tmp_path / "page")
    assert "caf\\udce9" in (tmp_path / "page" / "index.html").read_text()
