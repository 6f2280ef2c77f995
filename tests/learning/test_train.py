"""The whole pipeline on a few small generated scenes: repeatable, resumable, and better than chance."""

import hashlib
import json
import shutil
from inspect import signature

import numpy as np
import pytest
from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.apps.train import train as train_command
from anyscene.costs.steps import CostModel, StepCost
from anyscene.data import DataSet
from anyscene.data import open as open_data
from anyscene.errors import ConfigError, DataError, ModelError
from anyscene.features import RegionFeatures, View, bank_from_arrays
from anyscene.features.cache import FeatureCache
from anyscene.features.hypercolumn.backbone import SeenByAllError, shipped_backbone
from anyscene.features.layers import growth_work
from anyscene.hierarchy import LAYERS, Tree, working_frame
from anyscene.learning.banks import Banks, restrict
from anyscene.learning.config import TrainConfig, read_config
from anyscene.learning.extraction import count_truth, extract
from anyscene.learning.train import train
from anyscene.model.evidence import ArrayEvidence
from anyscene.modelfile import load_model
from anyscene.policy.policies import RandomPolicy
from anyscene.policy.rollout import rollout

SETS = ("color", "position")
CONFIG = TrainConfig(
    sets=SETS,
    bundles=(1, 4),
    lambdas=(0.0,),
    steps=6,
    clusters=0,
    pool=16,
    prune_images=2,
    guide_rounds=2,
    guide_images=2,
    samples=3000,
    screening_samples=1000,
    columns=12,
    depth=3,
    gammas=(0.3,),
    iterations=2,
    explored=6,
    threads=2,
)


@pytest.fixture(scope="module")
def data():
    return open_data("streets:30?size=160x120")


@pytest.fixture(scope="module")
def costs(data, tmp_path_factory):
    """A made-up machine, so that nothing is measured."""
    frame = working_frame(data.split("train").image(0))
    tree = Tree(frame)
    tree.grow(LAYERS)
    bank = bank_from_arrays(SETS, {})
    works = [growth_work(tree, layer) for layer in range(1, LAYERS)]
    for name in SETS:
        for layer in range(LAYERS):
            works += RegionFeatures(bank, View(frame), tree).pending(name, layer)
    steps = {work.step: StepCost(0.05, 1e-6, 1e-4, 1.5) for work in works}
    steps["paint"] = StepCost(0.1, 0.0, 0.0, 1.5)
    overheads = {"start": 0.1, "step": 0.2, "region": 1e-4, "tree": 1e-5, "input": 1e-4}
    path = tmp_path_factory.mktemp("costs") / "costs.json"
    made_up = {"steps": CostModel("made up", steps).to_json(), "overheads": overheads}
    path.write_text(json.dumps({**made_up, "painting": {}, "leaves": 0.1}))
    return path


@pytest.fixture(scope="module")
def trained(data, costs, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.anyscene"
    stages = []
    train(data, path, CONFIG, 3, network=False, costs=costs, report=lambda stage, *rest: stages.append(stage))
    return path, stages


def test_every_stage_reports(trained):
    for stage in ("feature sets", "features", "static sequence", "pool", "policy, gamma 0.3", "model"):
        assert stage in trained[1]


def test_the_learned_policy_beats_the_prior_and_chance_on_new_scenes(trained, data, tmp_path):
    model = load_model(trained[0])
    bank, cache = bank_from_arrays(SETS, {}), FeatureCache(tmp_path)
    ends = {"D-NM": [], "RS": [], "prior": []}
    random = np.random.default_rng(0)
    for scene in data.split("val"):
        made = extract(scene, bank, len(data.classes), cache)
        for name, policy in (("D-NM", model.policies["D-NM"]), ("RS", RandomPolicy(random))):
            run = rollout(model.model, policy, ArrayEvidence(made.tree, made.features), made.truth, 0.5)
            ends[name].append(run.accuracy.mean())
        ends["prior"].append(run.accuracy[0])
    means = {name: np.mean(values) for name, values in ends.items()}
    assert means["D-NM"] > means["RS"]
    assert means["D-NM"] > means["prior"] + 0.1


def test_same_seed_same_bytes_also_after_a_kill_at_any_stage(trained, data, costs, tmp_path):
    path = tmp_path / "again.anyscene"
    run = tmp_path / "again.anyscene.run"
    train(data, path, CONFIG, 3, network=False, costs=costs)
    first = path.read_bytes()
    assert first == trained[0].read_bytes()
    for lost in (
        ("policies.safetensors",),
        ("pool.json", "policies.safetensors"),
        ("sequence-0.safetensors",),
    ):
        path.unlink()
        for name in lost:
            (run / name).unlink()
        train(data, path, CONFIG, 3, costs=costs, network=False)
        assert path.read_bytes() == first


def test_another_seed_gives_another_model(trained, data, costs, tmp_path):
    config = CONFIG.model_copy(update={"iterations": 1, "steps": 3})
    train(data, tmp_path / "a.anyscene", config, 1, network=False, costs=costs)
    train(data, tmp_path / "b.anyscene", config, 2, network=False, costs=costs)
    assert (tmp_path / "a.anyscene").read_bytes() != (tmp_path / "b.anyscene").read_bytes()


def test_info_says_what_is_in_a_model(trained):
    result = CliRunner().invoke(app, ["info", str(trained[0])])
    assert result.exit_code == 0
    assert "labels 11 classes: sky" in result.output
    assert "of streets" in result.output


def test_python_and_the_command_line_begin_with_the_same_network_and_go_on_by_default(data, costs, tmp_path):
    """The run folder says what a run depends on; a run of two stages is enough to see it."""
    config = tmp_path / "c.toml"
    config.write_text('sets = ["color"]\n')
    bad = tmp_path / "costs.json"
    bad.write_text("what ends a run early")
    with pytest.raises(ConfigError, match="cost file"):
        train(data, tmp_path / "python.anyscene", read_config(config), costs=bad)
    spec = "streets:40?size=96x72"
    given = ["train", "--data", spec, "-o", tmp_path / "cli.anyscene", "--config", config, "--costs", bad]
    CliRunner().invoke(app, [str(one) for one in given])
    runs = [
        json.loads((tmp_path / f"{name}.anyscene.run/run.json").read_text()) for name in ("python", "cli")
    ]
    for run in runs:
        digest = hashlib.sha256(shipped_backbone("streets").read_bytes()).hexdigest()
        assert run["backbone"] == {"hypercolumn": digest}
    bank = tmp_path / "cli.anyscene.run/bank.safetensors"
    made = bank.stat().st_mtime_ns
    CliRunner().invoke(app, [str(one) for one in given])
    assert bank.stat().st_mtime_ns == made
    CliRunner().invoke(app, [*(str(one) for one in given), "--restart"])
    assert bank.stat().st_mtime_ns > made


def test_a_run_with_two_networks_depends_on_both(data, costs, tmp_path):
    small, large = tmp_path / "small.backbone", tmp_path / "large.backbone"
    shutil.copy(shipped_backbone("streets"), small)
    shutil.copy(shipped_backbone("camvid"), large)
    config = tmp_path / "c.toml"
    config.write_text('sets = ["color"]\nrungs = ["500", "large@1000"]\n')
    bad = tmp_path / "costs.json"
    bad.write_text("what ends a run early")
    out = tmp_path / "m.anyscene"
    given = ["train", "--data", "streets:40?size=96x72", "-o", out, "--config", config, "--costs", bad]
    given += ["--backbone", small, "--backbone", f"large={large}"]
    CliRunner().invoke(app, [str(one) for one in given])
    found = json.loads((tmp_path / "m.anyscene.run/run.json").read_text())["backbone"]
    assert list(found) == ["hypercolumn", "large"]
    assert found["large"] == hashlib.sha256(large.read_bytes()).hexdigest()
    shutil.copy(small, large)
    again = CliRunner().invoke(app, [str(one) for one in given])
    assert "another backbone" in str(again.exception)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--backbone", "x", "--backbone", "y"], "gives the network 'hypercolumn' twice"),
        (["--backbone", "large=x"], "names the network 'hypercolumn', which has no backbone"),
        (["--backbone", "x", "--backbone", "large=y"], "names no input of the network 'large'"),
    ],
)
def test_networks_that_settings_and_backbones_do_not_share_are_named(options, words, tmp_path):
    command = ["train", "--data", "streets:40?size=96x72", "-o", str(tmp_path / "m.anyscene"), *options]
    assert words in str(CliRunner().invoke(app, command).exception)


def test_python_and_the_command_line_have_the_same_defaults():
    python, command = (
        {name: one.default for name, one in signature(function).parameters.items()}
        for function in (train, train_command)
    )
    shared = {"config", "seed", "split", "restart", "run", "backbone", "costs"}
    assert {name: python[name] for name in shared} == {name: command[name] for name in shared}
    assert python["network"] is not command["without_network"]


def test_a_corrected_label_makes_another_run(data, costs, tmp_path):
    def with_truth(truth):
        splits = {split: data.split(split).ids for split in ("train", "a", "b")}
        return DataSet(data.name, data.classes, splits, data.load_image, truth)

    bad = tmp_path / "bad.json"
    bad.write_text("what ends a run early")
    with pytest.raises(ConfigError, match="cost file"):
        train(with_truth(data.load_truth), tmp_path / "m.anyscene", CONFIG, network=False, costs=bad)
    corrected = with_truth(lambda id: np.zeros_like(data.load_truth(id)))
    with pytest.raises(ConfigError, match="another set of images and labels"):
        train(corrected, tmp_path / "m.anyscene", CONFIG, network=False, costs=bad)


def test_too_few_images(data, costs, tmp_path):
    config = CONFIG.model_copy(update={"images": 7})
    with pytest.raises(DataError, match="7 labelled images to learn from; training needs at least 8"):
        train(data, tmp_path / "m.anyscene", config, network=False, costs=costs)


def test_a_data_set_may_be_given_by_its_name(costs, tmp_path):
    with pytest.raises(DataError, match="streets has 4 labelled images"):
        train("streets:6?size=32x24", tmp_path / "m.anyscene", CONFIG, network=False, costs=costs)


def test_a_copy_that_every_network_has_seen_is_left_out_but_never_many(data, costs, tmp_path, monkeypatch):
    copy = data.split("train").ids[0]
    honest = Banks.for_scene

    def for_scene(banks, scene):
        if scene.id == copy:
            raise SeenByAllError("every part has seen it")
        return honest(banks, scene)

    monkeypatch.setattr(Banks, "for_scene", for_scene)
    config = CONFIG.model_copy(update={"iterations": 1, "steps": 3})
    with pytest.raises(ModelError, match="every part has seen it"):
        train(data, tmp_path / "m.anyscene", config, network=False, costs=costs)
    monkeypatch.setattr("anyscene.learning.banks.MOST_COPIES", 1 / len(data.split("train")))
    record = train(data, tmp_path / "m.anyscene", config, network=False, costs=costs).record
    assert record["images fitted"] + record["images held out"] == len(data.split("train")) - 1


def test_a_cost_file_that_is_none(data, tmp_path):
    path = tmp_path / "costs.json"
    path.write_text('{"steps": 1}')
    with pytest.raises(ConfigError, match="cost file"):
        train(data, tmp_path / "m.anyscene", CONFIG, network=False, costs=path)
    with pytest.raises(ConfigError, match="cannot read"):
        train(data, tmp_path / "m.anyscene", CONFIG, network=False, costs=tmp_path / "none.json")


def test_a_split_can_take_the_place_of_train(data):
    half = restrict(data, "a")
    assert list(half.split("train").ids) == list(data.split("a").ids)
    assert sorted([*half.split("a").ids, *half.split("b").ids]) == sorted(data.split("a").ids)
    assert restrict(data, "train") is data


def test_truth_is_counted_by_region_and_adds_up(data):
    scene = data.split("train")[0]
    tree = Tree(scene.image)
    tree.grow(LAYERS)
    counts = count_truth(tree, scene.truth, len(data.classes))
    labels, expected = np.unique(scene.truth[scene.truth >= 0], return_counts=True)
    np.testing.assert_array_equal(counts[0][labels], expected)
    finest = len(tree.areas[-1])
    np.testing.assert_array_equal(counts[-finest:].sum(axis=0), counts[0])
    stride = tree.stride
    pixel = tree.pixels[5 // stride, 7 // stride]
    in_region = np.repeat(np.repeat(tree.pixels == pixel, stride, 0), stride, 1)[
        : tree.size[0], : tree.size[1]
    ]
    kept = scene.truth[in_region]
    slow = np.bincount(kept[kept >= 0], minlength=len(data.classes))
    np.testing.assert_array_equal(counts[len(counts) - finest + pixel], slow)


def test_the_papers_setting_learns_trees_and_a_policy_that_keeps_up(data, costs, tmp_path):
    config = CONFIG.model_copy(
        update={"detail": False, "bundles": (5, 10), "clusters": 2, "guide_rounds": 0, "column_share": 0.3}
    )
    trained = train(data, tmp_path / "paper.anyscene", config, network=False, costs=costs)
    pool = trained.model.pool
    assert pool.ladder == ()
    assert not any(chain.has_blend for chain in pool.chains)
    figures = trained.record["held out"]
    assert figures["S-M"]["final accuracy"] > 0.55
    assert figures["D-NM"]["area over log cost"] > 0.95 * figures["S-M"]["area over log cost"]
    assert load_model(tmp_path / "paper.anyscene").static == trained.static
