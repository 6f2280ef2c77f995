"""Training and evaluation with the help of a cluster: what comes out is that of one machine."""

import json

import pytest

from anyscene.evaluation.evaluate import evaluate
from anyscene.evaluation.request import Request
from anyscene.learning.config import TrainConfig
from anyscene.learning.train import train

pytest.importorskip("ray", reason="Ray is not installed: pip install 'anyscene[ray]'")

CONFIG = TrainConfig(
    sets=("color", "position"),
    thresholds=(0.0, 0.6),
    lambdas=(0.0,),
    bundles=(1, 5),
    steps=6,
    clusters=0,
    samples=4000,
    screening_samples=2000,
    iterations=1,
    prune_images=2,
    guide_rounds=2,
    guide_images=2,
    threads=1,
)


@pytest.fixture
def joined(ray_cluster):
    from anyscene.cluster.ray_executor import connected

    with connected(ray_cluster.address) as cores:
        yield cores


def test_a_model_is_byte_for_byte_that_of_one_machine(joined, streets, model_file, tmp_path, monkeypatch):
    from anyscene.cluster.extraction import spread_over

    alone, spread = tmp_path / "alone.anyscene", tmp_path / "spread.anyscene"
    costs = model_file.with_name(f"{model_file.name}.run") / "costs.json"
    train(streets, alone, CONFIG, network=False, costs=costs)
    # An own cache, so that no feature is found but those that the nodes computed.
    cache = tmp_path / "cache spread"
    monkeypatch.setenv("ANYSCENE_CACHE", str(cache))
    kept = []

    def report(stage, done, total, note):
        if stage == "features" and done == 1:
            kept.append(len(list((cache / "features").rglob("*.npy"))))

    train(streets, spread, CONFIG, network=False, costs=costs, report=report, spread=spread_over(joined))
    assert spread.read_bytes() == alone.read_bytes()
    assert kept == [12 * len(CONFIG.sets)]  # all were there before this machine looked at the first image


def test_scores_are_those_of_one_machine(joined, model_file, tmp_path):
    from anyscene.cluster.ray_executor import run_on_ray

    documents = []
    for name, more in {"alone": {}, "spread": {"processes": 2, "runner": run_on_ray}}.items():
        report = tmp_path / name
        evaluate(
            Request("streets:20?size=120x90", "test", str(model_file), report, ("dnm", "sm"), **more),
            lambda stage, done, total, note: None,
        )
        documents.append(json.loads((report / "results.json").read_text()))
    assert documents[0]["systems"] == documents[1]["systems"]
