"""`anyscene watch` and `anyscene explain`: a labeling step by step."""

import os
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.apps.refining import record
from anyscene.engine import Engine
from anyscene.engine.loading import bank_of
from anyscene.model.actions import Split, Update
from anyscene.modelfile import load_model
from anyscene.policy.policies import StaticPolicy


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


def test_the_tree_is_seen_to_grow_where_it_is_doubtful(engine, model_file, streets):
    image = streets.split("val")[0].image
    actions = engine.learned.model.pool.actions
    everywhere, where_doubtful = (actions.index(Split(threshold)) for threshold in (0.0, 0.6))
    update = next(index for index, action in enumerate(actions) if isinstance(action, Update))
    policy = StaticPolicy((everywhere, everywhere, update, where_doubtful))
    taught = Engine(replace(engine.learned, policy=policy), engine.local, bank_of(load_model(model_file)))
    _, (*_, before, after) = record(taught, image, None, width=120)
    opened = np.zeros(after.leaf.shape, bool)
    for leaf in np.unique(before.leaf):
        inside = before.leaf == leaf
        opened[inside] = len(np.unique(after.leaf[inside])) > 1
    assert opened.any()
    assert not opened.all()
    sure = before.labeling.require_confidence()
    assert sure[opened].mean() < sure[~opened].mean()
    np.testing.assert_array_equal(after.active | opened, after.active)  # what was opened is active
    dark = after.outlined()[~after.active]
    assert dark.mean() < image[~after.active].mean() or not len(dark)


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
