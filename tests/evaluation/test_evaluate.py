"""A whole evaluation of a small model on generated scenes."""

import csv
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from anyscene import metrics
from anyscene.apps.main import app
from anyscene.data import open as open_data
from anyscene.engine.loading import bank_of
from anyscene.errors import AnysceneError, ConfigError, DataError, ModelError
from anyscene.evaluation.anytime_traces import loss_weight, oracle_for, trace_by_costs
from anyscene.evaluation.baselines.classifier import ClassifierSettings
from anyscene.evaluation.baselines.fitted import FittedBaselines
from anyscene.evaluation.baselines.fitting import fit_baselines
from anyscene.evaluation.evaluate import evaluate
from anyscene.evaluation.network_alone import SIZES
from anyscene.evaluation.request import Request
from anyscene.evaluation.results_file import read_results
from anyscene.evaluation.scored_image import prepare_image
from anyscene.features.cache import FeatureCache
from anyscene.features.hypercolumn.backbone import read_backbone, shipped_backbone, write_backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.modelfile import load_model
from anyscene.policy.curves import budget_grid
from anyscene.policy.policies import StaticPolicy
from anyscene.policy.rollout import rollout
from tests.data.trees import folder

SPEC = "streets:20?size=120x90"
POINT = {"cost_ms", "pixel", "class", "iou", "loss"}


@pytest.fixture(scope="module")
def report(model_file, tmp_path_factory):
    pytest.importorskip("matplotlib")
    place = tmp_path_factory.mktemp("report")
    command = ["evaluate", "--data", SPEC, "--split", "val", "--model", str(model_file), "-o", str(place)]
    result = CliRunner().invoke(app, [*command, "--systems", "dnm,dm,sm,rs,oracle", "--jobs", "1"])
    assert result.exit_code == 0, result.output
    return place, result.output


@pytest.fixture(scope="module")
def results(report):
    return read_results(report[0])


def test_results_have_the_documented_form(results, model_file):
    assert {"data", "split", "model", "machine", "clock", "systems", "headline"} <= results.keys()
    assert (results["data"], results["split"], results["clock"]) == ("streets", "val", "model")
    assert results["model"] == str(model_file)
    assert [system["name"] for system in results["systems"]] == ["D-NM", "D-M", "S-M", "RS", "Oracle"]
    for system in results["systems"]:
        assert system.keys() == {"name", "curve"} | POINT
        costs = [point["cost_ms"] for point in system["curve"]]
        assert costs == sorted(costs)
        for point in (*system["curve"], {key: system[key] for key in POINT}):
            assert point.keys() == POINT
            assert all(0 <= point[key] <= 1 for key in ("pixel", "class", "iou"))
            assert point["loss"] >= 0
        last = system["curve"][-1]
        assert all(last[key] == pytest.approx(system[key]) for key in ("pixel", "class", "iou", "loss"))
    oracle = {"oracle_gain", "oracle_gain_share", "oracle_sm_cost_ratio"}
    assert results["headline"].keys() == {"sm_cost_ratio", *oracle}


def test_scores_are_those_of_the_painted_labels(results, engine, streets):
    """Counting by region gives what painting every pixel and comparing would give."""
    counts = sum(
        metrics.count(scene.truth, engine.label(scene.image).labels, len(streets.classes))
        for scene in streets.split("val")
    )
    assert results["systems"][0]["pixel"] == pytest.approx(metrics.pixel_accuracy(counts), abs=1e-6)
    assert results["systems"][0]["iou"] == pytest.approx(metrics.mean_iou(counts), abs=1e-6)


def test_the_oracle_is_no_worse_than_the_learned_policy_on_any_image(model_file, streets, tmp_path):
    trained = load_model(model_file)
    bank, cache = bank_of(trained), FeatureCache(tmp_path)
    model, ours, alpha = trained.model, trained.policies["D-NM"], loss_weight(trained)
    for scene in streets.split("val"):
        image = prepare_image(scene, bank, len(streets.classes), cache)
        both = (ours, StaticPolicy(trained.static))
        budgets = budget_grid([[rollout(model, p, image.evidence, image.truth, alpha) for p in both]])
        traces = [
            trace_by_costs(model, policy, image, bank, alpha)
            for policy in (oracle_for(trained, image, bank), ours)
        ]
        oracle, learned = (t.pixel_accuracy()[t.last_within(budgets)].mean() for t in traces)
        assert oracle >= learned


def test_the_curves_are_also_a_table(report, results):
    rows = list(csv.DictReader((report[0] / "curves.csv").open()))
    assert len(rows) == sum(len(system["curve"]) for system in results["systems"])
    assert float(rows[0]["pixel"]) == results["systems"][0]["curve"][0]["pixel"]


def test_the_page_stands_by_itself_and_figures_lie_beside_it(report):
    place, output = report
    page = (place / "index.html").read_text()
    assert "data:image/svg+xml;base64" in page
    assert "data:image/jpeg;base64" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    for text in ("The paper", "published", "Where it fails", "D-NM"):
        assert text in page
    for name in ("accuracy", "gap", "miou", "loss"):
        assert (place / "figures" / f"{name}.png").stat().st_size > 1000
        assert (place / "figures" / f"{name}.svg").stat().st_size > 1000
    assert "D-NM" in output


def test_a_second_run_takes_what_is_kept(report, model_file, results):
    notes = []
    request = Request(SPEC, "val", str(model_file), report[0], ("dnm", "sm"))
    again = evaluate(request, lambda stage, done, total, note: notes.append(note))
    assert "kept from before" in notes
    before = {system["name"]: system for system in results["systems"]}
    for system in again.document["systems"]:
        assert all(system[key] == before[system["name"]][key] for key in POINT)


def test_charging_the_tree_first_moves_costs_and_nothing_else(report, model_file, tmp_path):
    requests = (
        Request(SPEC, "val", str(model_file), report[0], ("sm",), segmentation=way)
        for way in ("lazy", "upfront")
    )
    lazy, upfront = (evaluate(request).traces["S-M"] for request in requests)
    for first, second in zip(lazy, upfront, strict=True):
        np.testing.assert_array_equal(first.counts, second.counts)
        assert second.cost[0] > first.cost[0]
        assert second.cost[-1] >= first.cost[-1] - 1e-9


def test_by_the_wall_clock(model_file, tmp_path):
    request = Request(SPEC, "val", str(model_file), tmp_path, ("dnm", "sm", "oracle"), clock="wall", images=2)
    found = evaluate(request)
    assert found.document["images"] == 2
    for traces in found.traces.values():
        for trace in traces:
            assert (np.diff(trace.cost) > 0).all()
            assert len(trace.actions) == len(trace.cost) - 1


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"split": "nowhere"}, DataError, "no split 'nowhere'"),
        ({"data": "streets:20?size=0x1"}, DataError, "is not a size"),
        ({"model": "none.anyscene"}, ModelError, "no model"),
        ({"clock": "sun"}, ConfigError, "--clock"),
        ({"segmentation": "never"}, ConfigError, "--segmentation"),
        ({"systems": ("cnn",)}, ConfigError, "no network"),
        ({"systems": ("him",), "split": "train"}, ConfigError, "that they are fitted to"),
    ],
)
def test_what_cannot_be_gets_one_clear_sentence(model_file, tmp_path, change, kind, words):
    plain = {"data": SPEC, "split": "val", "model": str(model_file), "report": tmp_path, "systems": ("sm",)}
    with pytest.raises(kind, match=words) as caught:
        evaluate(Request(**(plain | change)))
    assert "\n" not in str(caught.value)


def test_each_network_of_a_model_is_a_rival_alone(two_networks_file, tmp_path):
    request = Request(SPEC, "val", str(two_networks_file), tmp_path, ("dnmd", "cnn"), images=2)
    systems = {one["name"]: one for one in evaluate(request).document["systems"]}
    assert systems.keys() == {"D-NM by deadline", "CNN", "CNN others"}
    assert len(systems["CNN"]["curve"]) == len(systems["CNN others"]["curve"]) == len(SIZES)
    # Here the other network is the same one.
    assert systems["CNN others"]["pixel"] == pytest.approx(systems["CNN"]["pixel"], abs=0.01)


def test_a_report_that_cannot_be_written_is_found_out_at_once(model_file, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AnysceneError, match="cannot write"):
        evaluate(Request(SPEC, "val", str(model_file), tmp_path / "file", ("sm",)))


def test_a_model_of_other_classes(model_file, tmp_path):
    folder(tmp_path / "data", ["one", "two"])
    with pytest.raises(ModelError, match=r"labels 11 classes, .* has 3") as caught:
        evaluate(Request(f"folder:{tmp_path / 'data'}", "all", str(model_file), tmp_path / "report", ("sm",)))
    assert "\n" not in str(caught.value)


def test_unknown_systems_are_named(model_file, tmp_path):
    result = CliRunner().invoke(
        app,
        [
            "evaluate",
            "--data",
            SPEC,
            "--model",
            str(model_file),
            "-o",
            str(tmp_path),
            "--systems",
            "dnm,dcfr",
        ],
    )
    assert result.exit_code
    assert "there is no system 'dcfr'" in str(result.exception)
    assert str(result.exception).endswith("did you mean 'dcrf'?")


def test_scores_on_training_images_come_with_a_warning(model_file, tmp_path):
    found = evaluate(Request(SPEC, "train", str(model_file), tmp_path, ("sm",), images=2))
    assert "training images" in found.notes[0]


def test_a_copy_of_an_image_that_the_network_was_fitted_to_comes_with_a_warning(model_file, tmp_path):
    scenes = open_data(SPEC).split("val")
    shipped = read_backbone(shipped_backbone())
    backbone = replace(
        shipped,
        classes={"streets": shipped.classes["camvid"]},
        heads={(part, "streets"): shipped.heads[part, "camvid"] for part in shipped.graphs},
        seen={part: frozenset({image_key(scenes.image(1))}) for part in shipped.graphs},
    )
    write_backbone(tmp_path / "copy.backbone", backbone)
    request = Request(SPEC, "val", str(model_file), tmp_path / "report", ("sm",))
    assert not evaluate(request).notes
    found = evaluate(replace(request, backbone=tmp_path / "copy.backbone"))
    assert found.notes[0].startswith(f"1 of the {len(scenes)} images of 'val' are training images, or copies")


@pytest.fixture(scope="module")
def fitted(streets, model_file, tmp_path_factory):
    """Baselines that were fitted quickly, with all eight feature sets."""
    folder = tmp_path_factory.mktemp("baselines")
    fast = ClassifierSettings(trees=8, samples=1500)
    systems = ("fsm", "dcrf", "him", "data-term")
    fit_baselines(streets, "train", systems, folder, None, load_model(model_file), lambda *_: None, fast)
    return folder


def test_fitted_baselines_beside_the_model(fitted, model_file, tmp_path):
    systems = ("dnm", "sm", "fsm", "dcrf", "him")
    request = Request(SPEC, "val", str(model_file), tmp_path, systems, baselines=fitted)
    found = evaluate(request)
    assert list(found.scores) == ["D-NM", "S-M", "F-SM", "DCRF", "HIM", "Data term"]
    costs = {name: own.cost_ms for name, own in found.scores.items()}
    assert costs["Data term"] < costs["DCRF"]
    for name in ("DCRF", "HIM"):
        assert found.scores[name].final.pixel[0] > 0.4  # the prior's is below 0.3
    stages = found.scores["F-SM"].curve.cost
    assert (np.diff(stages) >= 0).all()
    assert found.document["headline"].keys() == {"him_cost_share", "sm_cost_ratio"}


def test_prices_are_divided_by_the_pace_at_which_they_were_measured(fitted, streets, tmp_path):
    slow = shutil.copytree(fitted, tmp_path / "slow")
    document = json.loads((slow / "costs.json").read_text())
    (slow / "costs.json").write_text(json.dumps({**document, "pace": 2 * document["pace"]}))
    usual, halved = (FittedBaselines.load(folder, len(streets.classes)).costs for folder in (fitted, slow))
    assert document["systems"]["him"]["total_ms"] == pytest.approx([usual["him"][0] * document["pace"]])
    assert halved["him"] == pytest.approx([usual["him"][0] / 2])


def test_baselines_of_other_data_are_refused(fitted, model_file, tmp_path):
    other = "streets:24?size=120x90"
    with pytest.raises(ConfigError, match="another 'images'"):
        evaluate(Request(other, "val", str(model_file), tmp_path, ("him",), baselines=fitted))


def test_compare_puts_reports_side_by_side(report, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    document = json.loads((report[0] / "results.json").read_text())
    document["systems"][0]["pixel"] = 0.123456
    (other / "results.json").write_text(json.dumps(document))
    page = tmp_path / "side.html"
    result = CliRunner().invoke(app, ["compare", str(report[0]), str(other), "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert "12.35" in result.output
    assert "12.35" in page.read_text()
    missing = CliRunner().invoke(app, ["compare", str(tmp_path)])
    assert "is no result" in str(missing.exception)
