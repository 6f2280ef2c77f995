"""Which networks and heads are learned with, and what a model file keeps of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anyscene.errors import ConfigError
from anyscene.features.hypercolumn.backbone import (
    Backbone,
    SeenByAllError,
    read_backbone,
    shipped_backbone,
    write_backbone,
)
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.network import Head, head_from_arrays, head_to_arrays
from anyscene.features.hypercolumn.rung import NETWORK, Rung
from anyscene.learning.banks import check_networks, choose_head, load_banks, named_backbones, usual_sets

HEAD = Head(np.ones((5, 4), np.float32), np.zeros(5, np.float32), 3)


@pytest.fixture
def backbone():
    return Backbone({"few": ("a", "b"), "many": ("a", "b", "c")}, {}, {}, {}, {})


def test_a_head_with_the_same_classes_speaks_of_them(backbone):
    assert choose_head(backbone, ["a", "b"]) == ("few", True)


@pytest.mark.parametrize("names", [["b", "a"], ["lawn", "pond", "path", "shed"]])
def test_other_classes_read_the_head_that_tells_most_apart(backbone, names):
    assert choose_head(backbone, names) == ("many", False)


@pytest.mark.parametrize("network", [NETWORK, "large"])
@pytest.mark.parametrize(("speaks", "classes"), [(True, 3), (False, 7)])
def test_a_model_file_tells_whose_classes_the_head_scores(speaks, classes, network):
    head, spoke = head_from_arrays(head_to_arrays(HEAD, speaks, network), classes, network)
    assert (head.classes, spoke) == (3, speaks)
    assert head.weight is HEAD.weight


def test_the_usual_network_comes_first_however_backbones_are_given():
    given = {"large": "large.backbone", "hypercolumn": "small.backbone"}
    named = named_backbones(given, "camvid")
    assert list(named.items()) == [("hypercolumn", Path("small.backbone")), ("large", Path("large.backbone"))]
    assert named_backbones("own.backbone", "camvid") == {"hypercolumn": Path("own.backbone")}
    assert named_backbones(None, "camvid") == {"hypercolumn": shipped_backbone("camvid")}


@pytest.mark.parametrize(
    ("networks", "rungs", "words"),
    [
        (["hypercolumn"], ["500", "large@500"], "names the network 'large', which has no backbone"),
        (["hypercolumn", "large"], ["500"], "names no input of the network 'large'"),
        (["hypercolumn", "color"], ["500", "color@500"], "cannot be called 'color'"),
        (["hypercolumn", "familiarity"], ["500", "familiarity@500"], "cannot be called 'familiarity'"),
    ],
)
def test_networks_need_a_backbone_inputs_and_a_name_of_their_own(networks, rungs, words):
    backbones = {name: Path(f"{name}.backbone") for name in networks}
    with pytest.raises(ConfigError, match=words) as caught:
        check_networks(backbones, map(Rung.parse, rungs), ["place", "color"])
    assert "\n" not in str(caught.value)


def test_an_image_is_described_by_parts_of_all_networks_that_have_not_seen_it(streets, tmp_path):
    scene, known = streets.split("train")[0], read_backbone(shipped_backbone())
    key = image_key(scene.image)

    def banks(seen_by_large):
        seen = {part: known.seen[part] | ({key} if part in seen_by_large else set()) for part in known.seen}
        write_backbone(tmp_path / "large.backbone", replace(known, seen=seen))
        backbones = {NETWORK: shipped_backbone(), "large": tmp_path / "large.backbone"}
        return load_banks(streets, (), {}, backbones, 1, rungs=map(Rung.parse, ("250", "large@250")))

    of_main, of_half = banks([]), banks(["train"])
    name = "large@250"
    assert of_main.for_scene(scene)[name].fingerprint() == of_main.whole[name].fingerprint()
    assert of_half.for_scene(scene)[name].fingerprint() != of_half.whole[name].fingerprint()
    assert of_half.for_scene(scene).keys() == {"hypercolumn@250", name}
    assert of_half.networks()[1] == {NETWORK: known.graphs["train"], "large": known.graphs["train"]}
    with pytest.raises(SeenByAllError):
        banks(["train", "a", "b"]).for_scene(scene)


def test_places_are_learned_with_only_beside_a_network_that_speaks_of_the_classes():
    names, ships = read_backbone(shipped_backbone()).classes["camvid"], named_backbones(None, "")
    assert "place" in usual_sets(names, ships)
    assert "place" not in usual_sets(names, {})
    assert "place" not in usual_sets(names[::-1], ships)
