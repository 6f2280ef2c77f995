"""`import anyscene`: what is public is small, documented, and its examples run."""

import doctest
import os
import pydoc
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import anyscene
from anyscene.engine import Engine
from anyscene.modelfile import load_model
from anyscene.streams.live import Live


def examples_of(name):
    """The examples in the docstring of a public name."""
    thing = getattr(anyscene, name)
    return doctest.DocTestParser().get_doctest(thing.__doc__ or "", {"anyscene": anyscene}, name, None, 0)


def test_what_is_public():
    errors = {"AnysceneError", "ConfigError", "DataError", "ImageError", "ModelError", "StreamError"}
    assert set(anyscene.__all__) == errors | {
        "Labeling",
        "Step",
        "TrainConfig",
        "data",
        "load",
        "metrics",
        "train",
    }


@pytest.mark.parametrize("name", anyscene.__all__)
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = examples_of(name)
    assert examples.examples, f"anyscene.{name} shows no example"
    told = []
    doctest.DocTestRunner(verbose=False).run(examples, out=told.append)
    assert not told, "".join(told)


def test_help_begins_with_what_to_do_and_names_all_that_is_public():
    shown = pydoc.plain(pydoc.render_doc(anyscene))
    assert 'model = anyscene.load("camvid")' in shown[:1000]
    start = shown.split("PACKAGE CONTENTS")[0]
    for name in anyscene.__all__:
        assert name in start or name.endswith("Error"), name


def test_whatever_a_user_holds_is_told_in_one_short_line(engine, streets, model_file):
    scene = streets.split("val")[0]
    many = anyscene.data.Classes(
        tuple(f"class {number}" for number in range(200)), np.zeros((200, 3), np.uint8)
    )
    held = [engine, streets, streets.split("val"), scene, streets.classes, many, engine.label(scene.image)]
    held += [load_model(model_file), anyscene.TrainConfig(), anyscene.TrainConfig(steps=3)]
    told = [repr(one) for one in held]
    assert [one for one in told if len(one) > 120 or "\n" in one] == []
    assert repr(engine).endswith("(11 classes, 2 feature sets, threads=1)")
    assert repr(engine.live("5ms", cpu=0.5)) == "Live(5 ms, cpu=0.5)"
    assert told[-2:] == ["TrainConfig()", "TrainConfig(steps=3)"]
    assert "with its truth" in repr(scene)
    assert "without a truth" in repr(replace(scene, truth=None))
    assert "sky, building" in repr(streets.classes)
    assert "200: class 0, class 1, " in repr(many)


LABELS = """
import logging, sys
import anyscene
if sys.argv[2:]:
    logging.basicConfig(level=sys.argv[2])
model = anyscene.load(sys.argv[1])
model.label(anyscene.data.open("streets:5?size=96x72").split("val")[0].image, budget="50ms")
"""


def test_the_library_logs_and_is_quiet_by_default(engine, model_file):
    def said(*arguments):
        command = [sys.executable, "-c", LABELS, str(model_file), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
        return done.stdout + done.stderr

    assert said() == ""
    all_of_it = said("DEBUG")
    assert f"INFO:anyscene.engine.loading:loaded {model_file}: 11 classes" in all_of_it
    assert "DEBUG:anyscene.engine.engine:<Labeling 96x72, 11 classes" in all_of_it


@pytest.mark.parametrize("place", ["README", "label", "live"])
def test_that_opencv_has_another_order_of_colours_is_said(place):
    if place == "README":
        told = (Path(__file__).parent.parent / "README.md").read_text()
    else:
        told = {"label": Engine.label, "live": Live.label}[place].__doc__
    assert "bgr" in told


def test_that_an_engine_takes_rgb_is_said():
    assert 'the order of an array\'s colours: "rgb"' in Engine.label.__doc__
