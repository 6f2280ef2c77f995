import json
import shutil
from dataclasses import replace

import pytest
from PIL import Image
from typer.testing import CliRunner

import anyscene
from anyscene.apps.main import app
from anyscene.apps.models import LICENCES, PAPERS_SETTING, SHOWN_MS
from anyscene.engine import loading
from anyscene.errors import ModelError
from anyscene.modelfile import load_model, save_model


@pytest.fixture
def shipped(model_file, tmp_path, monkeypatch):
    """An installation that ships the small model as `camvid`, with scores, and as the default, without."""
    trained = load_model(model_file)
    record = {**trained.record, "data": "camvid"}
    record["val"] = {
        "pixel": 0.912,
        "class": 0.7,
        "iou": 0.6,
        "curve": [[1.5, 0.5], [9.0, 0.8], [40.0, 0.912]],
    }
    folder = tmp_path / "models"
    folder.mkdir()
    save_model(folder / "camvid.anyscene", replace(trained, record=record))
    shutil.copy(model_file, folder / f"{loading.DEFAULT_MODEL}.anyscene")
    monkeypatch.setattr(loading.resources, "files", lambda package: tmp_path)
    return folder


def test_scores_curve_size_and_terms_of_the_data(shipped):
    done = CliRunner().invoke(app, ["models", "--json", "-"])
    camvid, default = json.loads(done.stdout)["models"]
    assert (camvid["name"], camvid["data"], camvid["default"]) == ("camvid", "camvid", False)
    assert camvid["val"]["pixel"] == 0.912
    assert camvid["bytes"] == (shipped / "camvid.anyscene").stat().st_size
    assert camvid["licence"] == LICENCES["camvid"]
    assert default["default"]
    assert default["val"] is None
    text = CliRunner().invoke(app, ["models"], env={"COLUMNS": "160"}).output
    assert "91.2" in text
    assert f"50.0 in {SHOWN_MS[0]} ms" in text
    assert "camvid labels sky, building" in text


def test_a_model_of_the_papers_setting_is_told_from_the_usual_one(shipped):
    trained = load_model(shipped / "camvid.anyscene")
    config = {**trained.record["config"], "detail": False}
    paper = replace(trained, record={**trained.record, "config": config})
    save_model(shipped / "camvid-paper.anyscene", paper)
    listed = json.loads(CliRunner().invoke(app, ["models", "--json", "-"]).stdout)["models"]
    assert [(one["name"], one["setting"]) for one in listed] == [
        ("camvid", "usual"),
        ("camvid-paper", "paper"),
        (loading.DEFAULT_MODEL, "usual"),
    ]
    assert listed[1]["licence"] == LICENCES["camvid"]
    assert loading.find_model("camvid-paper") == shipped / "camvid-paper.anyscene"
    assert PAPERS_SETTING in CliRunner().invoke(app, ["models"], env={"COLUMNS": "400"}).output


def test_an_installation_without_models_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(loading.resources, "files", lambda package: tmp_path)
    assert "no model ships" in CliRunner().invoke(app, ["models"]).output
    with pytest.raises(ModelError, match="none ships"):
        anyscene.load("camvid")


def test_models_load_by_name_and_without_one(shipped):
    assert loading.find_model("camvid") == shipped / "camvid.anyscene"
    assert loading.find_model(None) == shipped / f"{loading.DEFAULT_MODEL}.anyscene"
    with pytest.raises(ModelError, match=r"'kitti'; those that ship are camvid, "):
        anyscene.load("kitti")


def test_info_knows_models_by_name(shipped):
    assert "labels 11 classes" in CliRunner().invoke(app, ["info", "camvid"]).output


def test_a_photo_is_labelled_without_naming_a_model_or_a_folder(shipped, streets, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(streets.split("val").image(0)).save("photo.jpg")
    done = CliRunner().invoke(app, ["label", "photo.jpg"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "labels" / "photo.png").exists()
