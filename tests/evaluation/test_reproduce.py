"""The paper's experiments on a few small generated scenes, from training to the page."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.errors import ConfigError, DataError
from anyscene.evaluation.baselines.classifier import ClassifierSettings
from anyscene.evaluation.baselines.fitted import FULL_SIZE, FittedBaselines
from anyscene.evaluation.baselines.fitting import fit_baselines
from anyscene.evaluation.claims import FAILS, HOLDS, INCOMPARABLE, STATEMENTS
from anyscene.evaluation.report.reproduction import write_reproduction
from anyscene.evaluation.report.treatment import departure, introduction, unlike
from anyscene.evaluation.reproduce import QUICK_DATA, Reproduction, quick_config, reproduce
from anyscene.evaluation.traces import Trace
from anyscene.features.hypercolumn.backbone import installed_backbone
from anyscene.features.sets import PAPER_SETS
from anyscene.learning.config import TrainConfig
from anyscene.learning.paper import paper_config
from anyscene.modelfile import load_model

SPEC = "streets:20?size=120x90"
TINY = {
    "sets": ("color", "position", "lbp"),
    "steps": 6,
    "clusters": 0,
    "pool": 16,
    "explored": 6,
    "samples": 3000,
    "bundles": (5,),
    "thresholds": (0.0, 0.6),
    "prune_images": 2,
    "iterations": 1,
}
"""Settings that learn in seconds."""


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    config = TrainConfig(**{**quick_config(paper_config()).model_dump(), **TINY})
    return Reproduction((SPEC,), tmp_path_factory.mktemp("reproduction"), network=False, config=config)


@pytest.fixture(scope="module")
def made(wanted):
    pytest.importorskip("matplotlib")
    found = reproduce(wanted)
    write_reproduction(found, wanted.report, lambda *_: None)
    return found


@pytest.fixture(scope="module")
def page(made, wanted):
    return (wanted.report / "index.html").read_text()


def test_the_page_has_the_papers_tables_figures_and_claims(made, page):
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert [f"Table {number} of the paper" in page for number in (1, 2, 3)] == [True] * 3
    for text in (*(statement.text.split(",")[0] for statement in STATEMENTS), "areas under the curves"):
        assert text.replace("'", "&#x27;") in page
    assert page.count("data:image/svg+xml") == 5  # accuracy, shares of HIM, gap to S-M, IoU, loss
    (one,) = made
    assert set(one.evaluation.scores) >= {
        "D-NM",
        "D-M",
        "S-M",
        "RS",
        "Oracle",
        "F-SM",
        "DCRF",
        "HIM",
        "H-DCRF",
    }


def test_results_hold_every_claim_with_a_verdict_both_ways(made, wanted):
    (part,) = json.loads((wanted.report / "results.json").read_text())["data"]
    assert part["data"] == "streets"
    for way in ("upfront", "lazy"):
        assert [claim["key"] for claim in part["claims"][way]] == [statement.key for statement in STATEMENTS]
        assert {claim["verdict"] for claim in part["claims"][way]} <= {HOLDS, FAILS, INCOMPARABLE}
        assert any(claim["value"] is not None for claim in part["claims"][way])


def test_results_charge_the_tree_as_the_page_does(made, wanted):
    (part,) = json.loads((wanted.report / "results.json").read_text())["data"]
    (one,) = made
    assert part["segmentation"] == one.segmentation == "upfront"
    told = {system["name"]: system["cost_ms"] for system in part["systems"]}
    assert told == {name: pytest.approx(own.cost_ms, rel=1e-4) for name, own in one.evaluation.scores.items()}


def test_four_images_are_shown_step_by_step_and_s_m_where_it_did_otherwise(made, page):
    (one,) = made
    ours, static = (one.evaluation.traces[name] for name in ("D-NM", "S-M"))
    text = page[page.index(introduction(ours, static)[0]) :]
    pairs = zip(ours, static, strict=True)
    departs = [departure(a.actions.tolist(), b.actions.tolist()) is not None for a, b in pairs]
    assert len(departs) == 4
    assert text.count("the prior") == 4 + sum(departs)
    assert "doubtful, %" in text
    assert all(scene.id in text for scene in one.evaluation.scenes)


def test_images_that_were_treated_alike_are_not_said_to_be_treated_differently():
    alike, other = actions(1, 2, 3), actions(1, 5, 3)
    title, lead = introduction([alike] * 4, [alike] * 4)
    assert title == "How images were treated"
    assert "the same actions on all 4 images, S-M's" in lead
    assert "not S-M's" in introduction([alike] * 4, [other] * 4)[1]
    title, lead = introduction([alike, other], [alike] * 2)
    assert title == "Why these images were treated differently"
    assert "2 different sequences of actions, and S-M's on 1" in lead


def test_charging_the_tree_first_costs_every_anytime_system_more_at_first(made):
    (one,) = made  # by default as in the paper
    first = {
        name: traces[0].cost[0] for name, traces in one.evaluation.traces.items() if traces[0].grown.size
    }
    grown = one.evaluation.trained.model.costs.grow[1:].sum()
    assert len(first) == 5
    assert all(cost > grown for cost in first.values())


def test_the_same_command_goes_on_and_trains_nothing_anew(made, wanted):
    notes = []
    again = reproduce(wanted, lambda stage, done, total, note: notes.append((stage, note)))
    assert ("model", "kept from before") in notes
    assert ("images", "kept from before") in notes
    assert not any(stage.startswith(("static", "policy", "features")) for stage, _ in notes)
    for before, after in zip(made[0].claims["lazy"], again[0].claims["lazy"], strict=True):
        assert (before.value, before.verdict) == pytest.approx((after.value, after.verdict), nan_ok=True)


def test_other_settings_do_not_take_the_model_of_before(made, wanted):
    with pytest.raises(ConfigError, match="another config"):
        reproduce(replace(wanted, config=wanted.config.model_copy(update={"steps": 5})))


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"data": (SPEC, SPEC)}, ConfigError, "streets twice"),
        ({"split": "nowhere"}, DataError, "no split 'nowhere'"),
        ({"split": "train"}, ConfigError, "that they are fitted to"),
        ({"segmentation": "never"}, ConfigError, "--segmentation"),
    ],
)
def test_what_cannot_be_scored_is_said_before_anything_is_trained(wanted, tmp_path, change, kind, words):
    with pytest.raises(kind, match=words):
        reproduce(replace(wanted, report=tmp_path / "report", **change))
    assert not (tmp_path / "report").exists()


def test_a_folder_of_others_is_left_alone(wanted, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not empty"):
        reproduce(replace(wanted, report=tmp_path))


def test_without_data_it_says_what_the_quick_run_is_of(tmp_path):
    done = CliRunner().invoke(app, ["reproduce", "-o", str(tmp_path / "r"), "--split", "nowhere"])
    assert "no split 'nowhere'" in str(done.exception)
    assert QUICK_DATA.startswith("streets:")


def test_baselines_look_at_the_network_that_the_model_looks_at(made, wanted, streets, tmp_path):
    backbone = installed_backbone()
    if backbone is None:
        pytest.skip("anyscene-models is not installed")
    trained = load_model(wanted.report / "streets" / "model.anyscene")
    fast = ClassifierSettings(trees=4, samples=1000)
    fit_baselines(streets, "train", ("dcrf", "data-term"), tmp_path, backbone, trained, lambda *_: None, fast)
    bank = FittedBaselines.load(tmp_path, len(streets.classes)).bank
    assert set(bank) == {*PAPER_SETS, str(FULL_SIZE)}
    kept = wanted.report / "streets" / "evaluation" / "work" / "baselines"
    assert set(FittedBaselines.load(kept, len(streets.classes)).bank) == set(PAPER_SETS)


def actions(*taken, accuracy=0.5):
    steps = len(taken) + 1
    counts = np.zeros((steps, 2, 3), np.int64)
    counts[:, 0, 0], counts[:, 0, 1] = round(100 * accuracy), 100 - round(100 * accuracy)
    cost = np.arange(steps, dtype=float)
    return Trace(cost, cost, counts, np.array(taken, np.int64), np.zeros(steps, np.int64))


def test_images_are_shown_whose_sequences_differ_most():
    static = [actions(1, 2, 3, 4)] * 6
    ours = [
        actions(1, 2, 3, 5),
        actions(1, 2, 3, 4),
        actions(1, 2, 3, 4),
        actions(7, 8, 9, 6),
        actions(1, 2, 3, 5),
        actions(7, 8, 3, 4),
    ]
    chosen = unlike(ours, static, 3)
    assert chosen[:2] == [1, 3]  # S-M's own sequence, and one that shares nothing with it
    assert chosen[2] == 5
    assert len(set(unlike(ours, static, 10))) == 6


def test_where_sequences_are_the_same_images_of_other_accuracy_are_shown():
    ours = [actions(1, 2, accuracy=value) for value in (0.5, 0.52, 0.9, 0.1)]
    assert set(unlike(ours, ours, 3)) == {0, 2, 3}


def test_where_a_sequence_departs():
    assert departure([1, 2, 3], [1, 2, 3]) is None
    assert departure([1, 5, 3], [1, 2, 3]) == 1
    assert departure([1, 2], [1, 2, 3]) == 2
