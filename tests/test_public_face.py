"""`import anyscene`: what is public is small, documented, and its examples run."""

import doctest
import pydoc

import pytest

import anyscene


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
