"""What the bench of budgets counts as lost."""

import pytest

from anyscene.errors import ConfigError
from benchmarks import budgets
from benchmarks.figures import Request


def test_a_longer_budget_is_held_to_the_best_shorter_one():
    assert budgets.lost_by_more_time({"1": 80.0, "2": 90.0, "5": 89.0, "no limit": 89.5}) == pytest.approx(1)
    assert budgets.lost_by_more_time({"1": 80.0, "2": 90.0, "no limit": 90.0}) == 0


def test_every_budget_is_measured(model_file, monkeypatch):
    monkeypatch.setattr(budgets, "BUDGETS", (2, 5, 3, 7, None))
    monkeypatch.setattr(budgets, "STREETS", "streets:2?size=96x72")
    monkeypatch.setattr(budgets, "STREETS_MODEL", model_file)
    found = {
        figure.name: figure for figure in budgets.run(Request("streets:8?size=96x72", "all", str(model_file)))
    }
    lost = found["accuracy lost by a longer budget"]
    assert lost.parts["images"] == 8
    assert list(lost.parts["points"]) == ["2 ms", "5 ms", "3 ms", "7 ms", "no limit"]
    assert 0 <= lost.value < 100
    assert set(found["calls of 3 to 7 ms that gave the prior"].parts) == {"3 ms", "5 ms", "7 ms"}
    assert found["streets of the demo: accuracy lost by a longer budget"].parts["images"] == 2


def test_a_model_needs_scenes_of_its_classes():
    with pytest.raises(ConfigError, match="--model needs --data"):
        list(budgets.run(Request(model="stanford")))
