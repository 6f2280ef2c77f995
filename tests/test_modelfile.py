"""Model files: what goes in comes out; whatever is wrong with one is one clear sentence."""

import hashlib
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load, save

from anyscene.apps.info import describe_model
from anyscene.data import Classes
from anyscene.errors import ModelError
from anyscene.hierarchy import LAYERS
from anyscene.modelfile import TrainedModel, load_model, save_model
from anyscene.policy.plans import Plan
from anyscene.policy.policies import StaticPolicy
from anyscene.policy.rollout import rollout
from tests.policy.test_policies import learned
from tests.worlds import CLASSES, random_model, random_world

SETS = ("color", "hypercolumn@250")


def head(random, network):
    return {
        f"{network}/weight": random.random((CLASSES, 2), dtype=np.float32),
        f"{network}/bias": random.random(CLASSES, dtype=np.float32),
    }


@pytest.fixture
def trained():
    random = np.random.default_rng(0)
    model = random_model(random, layers=LAYERS, sets=SETS)
    names = tuple(f"class {k}" for k in range(CLASSES))
    return TrainedModel(
        classes=Classes(names, np.arange(3 * CLASSES, dtype=np.uint8).reshape(-1, 3)),
        model=model,
        policies={"D-NM": learned(random, model), "D-M": learned(random, model)},
        static=(0, 5),
        plans=(Plan((5,), (0.1, 2.0)), Plan((5, 0), (0.1, 2.0, 3.5))),
        features=head(random, "hypercolumn"),
        graphs={"hypercolumn": b"a network"},
        record={"data": "worlds", "images fitted": 3, "held out": {"D-NM": {"final accuracy": 0.5}}},
    )


@pytest.fixture
def path(trained, tmp_path):
    path = tmp_path / "m.anyscene"
    save_model(path, trained)
    return path


@pytest.fixture
def with_two_networks(trained):
    random = np.random.default_rng(1)
    model = random_model(random, layers=LAYERS, sets=("hypercolumn@250", "large@500"))
    return replace(
        trained,
        model=model,
        policies={"D-NM": learned(random, model)},
        features={**trained.features, **head(random, "large")},
        graphs={"hypercolumn": b"a network", "large": b"a larger network"},
    )


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, changed):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in changed.items():
            archive.writestr(name, data)


def edit_manifest(path, **changes):
    parts = members(path)
    parts["manifest.json"] = json.dumps(json.loads(parts["manifest.json"]) | changes)
    rewrite(path, parts)


def test_a_loaded_model_does_exactly_what_the_saved_one_did(trained, path):
    loaded = load_model(path)
    world = random_world(np.random.default_rng(5), LAYERS, 2, SETS)
    for name, policy in trained.policies.items():
        before = rollout(trained.model, policy, world.evidence, world.truth, 0.5)
        after = rollout(loaded.model, loaded.policies[name], world.evidence, world.truth, 0.5)
        np.testing.assert_array_equal(before.actions, after.actions)
        np.testing.assert_array_equal(before.loss, after.loss)
        np.testing.assert_array_equal(before.cost, after.cost)
    assert loaded.static == trained.static
    assert loaded.classes.names == trained.classes.names
    assert loaded.graphs == trained.graphs
    assert loaded.record == trained.record
    np.testing.assert_array_equal(
        loaded.features["hypercolumn/weight"], trained.features["hypercolumn/weight"]
    )
    assert rollout(
        loaded.model, StaticPolicy(loaded.static), world.evidence, world.truth, 0.5
    ).actions.tolist() == [0, 5]


def test_a_model_holds_all_its_networks(with_two_networks, tmp_path):
    path = tmp_path / "m.anyscene"
    save_model(path, with_two_networks)
    loaded = load_model(path)
    assert loaded.graphs == with_two_networks.graphs
    assert loaded.model.pool.sets == with_two_networks.model.pool.sets
    for name, array in with_two_networks.features.items():
        np.testing.assert_array_equal(loaded.features[name], array)


@pytest.mark.parametrize(
    ("graphs", "features", "words"),
    [
        ({"hypercolumn": b"x"}, {}, "large"),
        ({"hypercolumn": b"x", "large": b"x", "third": b"x"}, {}, "third"),
        ({}, {"large/weight": None}, "weight"),
        ({}, {"large/weight": np.zeros((CLASSES, 2))}, "float64"),
        ({}, {"large/weight": np.zeros((CLASSES - 1, 2), np.float32)}, "bias"),
        ({}, {"third/weight": np.zeros((CLASSES, 2), np.float32)}, "third"),
    ],
)
def test_each_network_needs_its_graph_and_its_head_and_nothing_else_is_there(
    with_two_networks, tmp_path, graphs, features, words
):
    path = tmp_path / "m.anyscene"
    changed = {**with_two_networks.features, **features}
    kept = {name: array for name, array in changed.items() if array is not None}
    save_model(path, replace(with_two_networks, features=kept, graphs=graphs or with_two_networks.graphs))
    check_refused(path, "contradicts itself", words)


def test_a_network_has_no_name_that_something_else_has(with_two_networks, path, tmp_path):
    clash = random_model(np.random.default_rng(1), layers=LAYERS, sets=("color", "color@500"))
    parts = {**head(np.random.default_rng(1), "color")}
    save_model(path, replace(with_two_networks, model=clash, features=parts, graphs={"color": b"x"}))
    check_refused(path, "both called 'color'")


def test_equal_models_are_equal_bytes(trained, path, tmp_path):
    save_model(tmp_path / "again.anyscene", load_model(path))
    assert path.read_bytes() == (tmp_path / "again.anyscene").read_bytes()


def test_the_file_is_a_plain_zip_that_other_tools_read(path):
    with zipfile.ZipFile(path) as archive:
        assert {item.compress_type for item in archive.infolist()} == {zipfile.ZIP_STORED}
    assert {"manifest.json", "arrays.safetensors", "graphs/hypercolumn"} == set(members(path))


def test_a_model_is_described_in_plain_words(trained):
    text = "\n".join(describe_model(trained))
    assert "labels 4 classes" in text
    assert "8 actions" in text
    assert "trained on 3 images of worlds" in text


def check_refused(path, *words):
    with pytest.raises(ModelError) as caught:
        load_model(path)
    message = str(caught.value)
    assert "\n" not in message
    for word in (str(path), *words):
        assert word in message


def test_missing_file(tmp_path):
    check_refused(tmp_path / "none.anyscene", "No such file")


def test_not_a_model(tmp_path):
    path = tmp_path / "x.anyscene"
    path.write_bytes(b"hello")
    check_refused(path, "not an anyscene model")
    rewrite(path, {"readme": b""})
    check_refused(path, "manifest.json")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_truncated(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    check_refused(path, "cut short")


def test_flipped_bits(path):
    data = bytearray(path.read_bytes())
    for at in range(len(data) // 4, len(data) - 200, 997):
        data[at] ^= 0xFF
    path.write_bytes(bytes(data))
    check_refused(path)


def test_edited_member(path):
    parts = members(path)
    parts["graphs/hypercolumn"] = b"another network"
    rewrite(path, parts)
    check_refused(path, "graphs/hypercolumn", "edited")


def test_missing_member(path):
    parts = members(path)
    del parts["graphs/hypercolumn"]
    rewrite(path, parts)
    check_refused(path, "graphs/hypercolumn", "missing")


def test_a_model_of_version_3_keeps_nothing_before_blends_and_all_before_trees(trained, path):
    parts = members(path)
    arrays = load(parts["arrays.safetensors"])
    kept = [name for name in arrays if name.endswith("/kept")]
    assert len(kept) == len(trained.model.pool.chains)
    parts["arrays.safetensors"] = save({name: a for name, a in arrays.items() if name not in kept})
    rewrite(path, parts)
    checksums = json.loads(parts["manifest.json"])["checksums"]
    checksums["arrays.safetensors"] = hashlib.sha256(parts["arrays.safetensors"]).hexdigest()
    edit_manifest(path, schema_version=3, checksums=checksums)
    for chain in load_model(path).model.pool.chains:
        assert chain.kept == (0 if chain.has_blend else 1)


def test_another_version(path):
    edit_manifest(path, schema_version=99)
    check_refused(path, "version '99'", "versions 2 to 4")


def test_wrong_value_in_the_manifest(path):
    edit_manifest(path, max_steps="many")
    check_refused(path, "max_steps")


@pytest.mark.parametrize(
    "changes",
    [
        {"static": [99]},
        {"chains": 7},
        {"actions": [[1, 0, 50]]},
        {"classes": ["a", "b"], "palette": [[0, 0, 0], [1, 1, 1]]},
        {"sets": ["color"]},
    ],
)
def test_manifest_that_contradicts_the_arrays(path, changes):
    edit_manifest(path, **changes)
    check_refused(path, "contradicts itself")


def test_a_model_of_data_whose_name_is_no_utf_8_is_written_and_read(trained, tmp_path):
    path = tmp_path / "m.anyscene"
    save_model(path, replace(trained, record={"data": "folder:\udcff\udcfe"}))
    assert load_model(path).record == {"data": "folder:??"}
