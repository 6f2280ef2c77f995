import json
import sys
import zipfile

import numpy as np
import pytest

from anyscene.errors import ModelError
from anyscene.features.hypercolumn.backbone import (
    Backbone,
    installed_backbone,
    read_backbone,
    shipped_backbone,
    write_backbone,
)
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.network import Head, Network


def small_backbone() -> Backbone:
    rng = np.random.default_rng(0)
    head = Head(rng.normal(size=(3, 4)).astype(np.float16).astype(np.float32), np.zeros(3, np.float32), 2)
    return Backbone(
        classes={"camvid": ("sky", "road")},
        graphs={"train": b"the whole", "a": b"one half", "b": b"the other"},
        heads={(part, "camvid"): head for part in ("train", "a", "b")},
        seen={
            "train": frozenset({"1", "2", "both"}),
            "a": frozenset({"1", "both"}),
            "b": frozenset({"2", "both"}),
        },
        recipes={part: {"steps": 1} for part in ("train", "a", "b")},
    )


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "small.backbone"
    write_backbone(path, small_backbone())
    return path


def rewrite(path, name, data):
    with zipfile.ZipFile(path) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    members[name] = data
    with zipfile.ZipFile(path, "w") as archive:
        for each, content in members.items():
            archive.writestr(each, content)


def test_what_is_written_is_read(path):
    written, read = small_backbone(), read_backbone(path)
    assert read.classes == written.classes
    assert read.graphs == written.graphs
    assert read.seen == written.seen
    for key, head in written.heads.items():
        assert (read.heads[key].weight == head.weight).all()
        assert read.heads[key].classes == 2


def test_a_data_set_starts_from_its_own_network_and_others_from_the_joint_one():
    assert shipped_backbone("camvid").name == "camvid.backbone"
    assert shipped_backbone("mydata").name == shipped_backbone().name == "joint.backbone"


def test_without_the_package_of_networks_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "anyscene_models", None)  # as if it were not installed
    assert installed_backbone("camvid") is None
    with pytest.raises(ModelError, match=r"pip install 'anyscene\[models\]'") as told:
        shipped_backbone("camvid")
    assert "\n" not in str(told.value)


def test_the_same_backbone_gives_the_same_bytes(path, tmp_path):
    again = tmp_path / "again.backbone"
    write_backbone(again, small_backbone())
    assert again.read_bytes() == path.read_bytes()


def test_an_image_is_scored_by_a_part_that_has_not_seen_it():
    backbone = small_backbone()
    assert backbone.part_for("new") == "train"
    assert backbone.part_for("1") == "b"
    assert backbone.part_for("2") == "a"
    with pytest.raises(ModelError, match="every part of the backbone was fitted to image both"):
        backbone.part_for("both")


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 torn"])
def test_a_file_that_is_no_backbone_is_refused_by_name(tmp_path, content):
    path = tmp_path / "odd.backbone"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"odd\.backbone is not a backbone file"):
        read_backbone(path)


def test_a_truncated_file_is_refused(path):
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ModelError, match="not a backbone file, or was cut short"):
        read_backbone(path)


@pytest.mark.parametrize("member", ["a.onnx", "heads.safetensors"])
def test_an_edited_member_is_named(path, member):
    rewrite(path, member, b"something else")
    with pytest.raises(ModelError, match=f"damaged: {member}"):
        read_backbone(path)


def test_another_version_is_refused(path):
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    rewrite(path, "manifest.json", json.dumps(manifest | {"schema_version": 99}))
    with pytest.raises(ModelError, match="version '99'"):
        read_backbone(path)


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(ModelError, match="cannot read the backbone"):
        read_backbone(tmp_path / "none.backbone")


def test_a_graph_that_is_no_onnx_model_is_refused():
    with pytest.raises(ModelError, match="not one of anyscene's networks"):
        Network(b"not a graph")


def test_keys_tell_pixels_and_shapes_apart():
    image = np.zeros((2, 3, 3), np.uint8)
    assert image_key(image) == image_key(image.copy())
    assert image_key(image) != image_key(image.reshape(3, 2, 3))
    assert image_key(image) != image_key(image + 1)
