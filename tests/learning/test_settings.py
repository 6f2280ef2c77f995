"""Config files and run folders: wrong ones get one clear sentence, right ones are honoured."""

import json

import numpy as np
import pytest

from anyscene.errors import ConfigError
from anyscene.features.sets import PAPER_SETS
from anyscene.learning.backbone.recipe import read_recipe
from anyscene.learning.config import TrainConfig, read_config
from anyscene.learning.paper import paper_config
from anyscene.learning.run_folder import RunFolder
from anyscene.marks import marked


def test_settings_in_a_file_are_honoured(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("alpha = 0.25\nbundles = [1, 3]\n")
    config = read_config(path)
    assert config.alpha == 0.25
    assert config.proposals().learners.sizes == (1, 3)
    assert config.gammas == TrainConfig().gammas


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("alpha = -1", "alpha"),
        ("gammas = [2.0]", "gammas"),
        ("pool = 'many'", "pool"),
        ("bundles = [0]", "bundles"),
        ("rungs = ['500', 'half']", "'half' is no rung"),
        ("rungs = ['1200']", "1200"),
        ("rungs = ['500s000']", "500s000"),
        ("bundles = []", "bundles"),
        ("thresholds = [-1.0]", "thresholds"),
        ("lambdas = [-1.0]", "lambdas"),
        ("colour = 1", "colour"),
        ("alpha = ", "TOML"),
    ],
)
def test_wrong_settings_are_named(tmp_path, text, word):
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=word) as caught:
        read_config(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_config(tmp_path):
    with pytest.raises(ConfigError, match="cannot read"):
        read_config(tmp_path / "none.toml")


def test_every_setting_says_what_it_is():
    assert all(field.description for field in TrainConfig.model_fields.values())


def never():
    raise AssertionError("made again")


def test_a_resumed_run_repeats_no_stage(tmp_path):
    made = {"a": np.arange(3)}
    first = RunFolder(tmp_path / "run", {"seed": 1})
    np.testing.assert_array_equal(first.arrays("stage", lambda: made)["a"], made["a"])
    assert first.document("note", lambda: {"of": [1, 2]})["of"] == [1, 2]
    second = RunFolder(tmp_path / "run", {"seed": 1})
    np.testing.assert_array_equal(second.arrays("stage", never)["a"], made["a"])
    assert second.document("note", never)["of"] == [1, 2]


def test_of_stages_that_are_made_at_once_a_resumed_run_makes_those_that_are_missing(tmp_path):
    def make(missing):
        for index in reversed(missing):
            if index == 1 and not resumed:
                raise KeyboardInterrupt
            asked.append(index)
            yield index, {"a": np.array([index])}

    asked, names = [], ["first", "second", "third"]
    resumed = False
    with pytest.raises(KeyboardInterrupt):
        RunFolder(tmp_path / "run", {"seed": 1}).arrays_of_all(names, make)
    resumed = True
    found = RunFolder(tmp_path / "run", {"seed": 1}).arrays_of_all(names, make)
    assert asked == [2, 1, 0]
    assert [arrays["a"].tolist() for arrays in found] == [[0], [1], [2]]


@pytest.mark.parametrize("name", ["stage.safetensors", "note.json"])
def test_what_a_disk_damaged_is_made_anew(tmp_path, name):
    def results():
        run = RunFolder(tmp_path / "run", {"seed": 1})
        stage = run.arrays("stage", lambda: {"a": np.arange(3)})["a"].tolist()
        return stage, run.document("note", lambda: {"of": [1, 2]})["of"]

    right = results()
    path = tmp_path / "run" / name
    whole = path.read_bytes()
    for content in (
        whole[:-9],
        b"",
        whole.replace(b"\x02\0\0\0\0\0\0\0", b"\x07" * 8).replace(b"2\n", b"3\n"),
    ):
        path.write_bytes(content)
        assert results() == right
        assert sorted(path.read_bytes()) == sorted(whole)  # safetensors writes its notes in any order


def test_beginning_anew_forgets_the_old_run(tmp_path):
    RunFolder(tmp_path / "run", {"seed": 1}).document("note", lambda: {"of": 1})
    anew = RunFolder(tmp_path / "run", {"seed": 2}, restart=True)
    assert anew.document("note", lambda: {"of": 2})["of"] == 2


def test_resuming_with_other_settings_is_refused(tmp_path):
    RunFolder(tmp_path / "run", {"seed": 1})
    with pytest.raises(ConfigError, match="another seed"):
        RunFolder(tmp_path / "run", {"seed": 2})


def test_a_folder_that_is_no_run_is_left_alone(tmp_path):
    (tmp_path / "holiday.jpg").write_text("x")
    with pytest.raises(ConfigError, match="not empty"):
        RunFolder(tmp_path, {"seed": 1})
    assert (tmp_path / "holiday.jpg").exists()


def test_a_stage_that_fails_leaves_nothing_behind(tmp_path):
    run = RunFolder(tmp_path / "run", {"seed": 1})
    with pytest.raises(AssertionError):
        run.arrays("stage", never)
    assert json.loads((tmp_path / "run" / "run.json").read_text()) == marked({"seed": 1})
    assert run.arrays("stage", lambda: {"a": np.ones(1)})["a"] == 1


def test_an_unknown_setting_that_is_nearly_right_is_guessed(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("bundels = [1]\n")
    with pytest.raises(ConfigError, match="unknown setting 'bundels'; did you mean 'bundles'"):
        read_config(path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"stepz = 1\n", "unknown setting 'stepz'; did you mean 'steps'"),
        (b"steps = 0\n", "wrong value for steps"),
        (b"\xff\xfe", "not valid TOML"),
    ],
)
def test_a_wrong_recipe_of_a_network_is_one_sentence(tmp_path, content, told):
    path = tmp_path / "recipe.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"the recipe {path}.*{told}"):
        read_recipe(path)


def test_wrong_settings_in_python_are_one_sentence_too():
    with pytest.raises(ConfigError, match="unknown setting 'steppes'; did you mean 'steps'"):
        TrainConfig(steppes=3)
    with pytest.raises(ConfigError, match="wrong value for steps"):
        TrainConfig(steps="many")


def test_the_papers_settings_come_with_the_package():
    config = paper_config()
    assert sorted(config.sets) == sorted(PAPER_SETS)
    assert config.rungs == ("1000",)  # one whole hypercolumn, no ladder of sizes
    assert not config.detail
    assert (config.thresholds, config.bundles) == ((0.0, 0.3, 0.6, 1.0), (5, 10, 20, 40, 80, 160))
