"""Training and evaluation with the help of a cluster: what comes out is that of one machine."""

import json
from dataclasses import dataclass, field

import pytest

import anyscene
from anyscene.cluster.helpers import RayHelpers
from anyscene.cluster.training import ClusterSpread
from anyscene.errors import DataError
from anyscene.evaluation.evaluate import evaluate
from anyscene.evaluation.request import Request
from anyscene.learning.config import TrainConfig
from anyscene.learning.train import train

pytest.importorskip("ray", reason="Ray is not installed: pip install 'anyscene[ray]'")

CONFIG = TrainConfig(
    sets=("color",),
    thresholds=(0.0, 0.6),
    lambdas=(0.0,),
    bundles=(1, 5),
    steps=4,
    clusters=2,
    samples=4000,
    screening_samples=2000,
    iterations=2,
    explored=6,
    prune_images=2,
    guide_rounds=2,
    guide_images=2,
    threads=2,
)


@pytest.fixture
def joined(ray_cluster):
    from anyscene.cluster.ray_executor import connected

    with connected(ray_cluster.address) as cores:
        yield cores


@dataclass(frozen=True)
class Counted:
    """Helpers of whom it is written down what they did."""

    helpers: RayHelpers
    done: list[str]

    @property
    def threads(self):
        return self.helpers.threads

    @property
    def report(self):
        return self.helpers.report

    def share(self, inputs):
        do = self.helpers.share(inputs)

        def counted(work, jobs):
            for job, result in do(work, jobs):
                self.done.append(work.__name__)
                yield job, result

        return counted


@dataclass(frozen=True)
class CountedSpread(ClusterSpread):
    done: list[str] = field(default_factory=list)

    @property
    def helpers(self):
        return Counted(super().helpers, self.done)


@pytest.mark.parametrize("detail", [True, False])
def test_a_model_is_byte_for_byte_that_of_one_machine(joined, detail, model_file, tmp_path, monkeypatch):
    streets = anyscene.data.open("streets:40?size=120x90")
    config = CONFIG.model_copy(update={"detail": detail})
    costs = model_file.with_name(f"{model_file.name}.run") / "costs.json"
    alone, spread = tmp_path / "alone.anyscene", tmp_path / "spread.anyscene"
    train(streets, alone, config, network=False, costs=costs)
    # An own cache, so that no feature is found but those that the nodes computed.
    cache = tmp_path / "cache spread"
    monkeypatch.setenv("ANYSCENE_CACHE", str(cache))
    kept = []

    def report(stage, done, total, note):
        if stage == "features" and done == 1:
            kept.append((total, len(list((cache / "features").rglob("*.npy")))))

    helped = CountedSpread(joined)
    train(streets, spread, config, network=False, costs=costs, report=report, spread=helped)
    assert spread.read_bytes() == alone.read_bytes()
    ((images, found),) = kept
    assert found == images * len(CONFIG.sets)  # all were there before this machine looked at the first image
    sequences = len(list(spread.with_name(f"{spread.name}.run").glob("sequence-*.safetensors")))
    assert sequences >= 3  # of all images, and of two clusters
    assert helped.done.count("_propose") == sequences
    assert helped.done.count("_explored") > config.explored  # without a policy, and with the first one


def test_what_is_wrong_with_a_job_is_told_as_one_sentence(joined):
    share = RayHelpers(joined).share("these images")
    with pytest.raises(DataError, match="nothing to learn from these images"):
        list(share(_refuse, [1]))


def _refuse(inputs, job):
    raise DataError(f"nothing to learn from {inputs}")


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
