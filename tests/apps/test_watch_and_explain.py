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


def test_a_caption_counts_leaves_in_plain_english(engine, streets):
    _, (_, frame, *_) = record(engine, streets.split("val")[0].image, None, width=60)
    told = [replace(frame, step=replace(frame.step, leaves=count)).caption() for count in (1, 2)]
    assert "; 1 leaf," in told[0]
    assert "; 2 leaves," in told[1]


def test_the_tree_is_seen_to_grow_where_it_is_doubtful(engine, model_file, streets):
    image, learned = streets.split("val")[0].image, engine.learned
    pool, bank = learned.model.pool, bank_of(load_model(model_file))
    everywhere, doubtful = (pool.actions.index(Split(threshold)) for threshold in (0.0, 0.6))
    update = next(index for index, action in enumerate(pool.actions) if isinstance(action, Update))
    to_doubt = (everywhere, everywhere, update)
    first = Engine(replace(learned, policy=StaticPolicy(to_doubt)), engine.local, bank)
    doubt = record(first, image, None, width=120)[0].state.entropy
    threshold = float(np.median(doubt))  # half of the leaves are more doubtful than this
    actions = tuple(Split(threshold) if i == doubtful else own for i, own in enumerate(pool.actions))
    model = replace(learned.model, pool=replace(pool, actions=actions))
    policy = StaticPolicy((*to_doubt, doubtful))
    taught = Engine(replace(learned, model=model, policy=policy), engine.local, bank)
    _, (*_, before, after) = record(taught, image, None, width=120)
    np.testing.assert_array_equal(after.active, doubt[before.leaf] > threshold)
    assert len(np.unique(after.leaf[after.active])) > len(np.unique(before.leaf[after.active]))
    assert len(np.unique(after.leaf[~after.active])) == len(np.unique(before.leaf[~after.active]))
    dark = after.outlined()[~after.active]
    assert dark.mean() < 0.9 * image[~after.active].mean()


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
