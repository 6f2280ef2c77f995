"""What all tests share: no deadlines while kernels compile, a cache of their own, the real data if any."""

import importlib.util
import logging
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import anyscene

# A first call compiles kernels; and a suite that finds other examples each time cannot be trusted to gate.
settings.register_profile(
    "anyscene", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("anyscene")


def pytest_configure():
    """Heed signals that a background shell ignores: commands that tests start would ignore them, too."""
    for one in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(one) is signal.SIG_IGN:
            signal.signal(one, signal.SIG_DFL)


def pytest_collection_modifyitems(items):
    """Skip what this machine has no data or no torch for."""
    no_data = pytest.mark.skip(reason="ANYSCENE_DATA does not name the folder of the unpacked data sets")
    no_torch = pytest.mark.skip(reason="torch is not installed (make test-train)")
    for item in items:
        if item.get_closest_marker("real_data") and not os.environ.get("ANYSCENE_DATA"):
            item.add_marker(no_data)
        if item.get_closest_marker("train") and importlib.util.find_spec("torch") is None:
            item.add_marker(no_torch)


@pytest.fixture(autouse=True)
def loggers_that_speak():
    """Switch our loggers on: some libraries switch off all but their own, and examples set levels."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("anyscene") and isinstance(logger, logging.Logger):
            logger.disabled, logger.propagate = False, True
            logger.setLevel(logging.NOTSET)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Keep tests, and the commands that they start, out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYSCENE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def streets():
    """Small generated street scenes: 12 in train, 4 each in val and test."""
    return anyscene.data.open("streets:20?size=120x90")


@pytest.fixture(scope="session")
def data_root():
    """The folder of the unpacked data sets; for tests marked `real_data`."""
    return Path(os.environ["ANYSCENE_DATA"])


@pytest.fixture(scope="session")
def model_file(streets, tmp_path_factory):
    """A small model that was learned on `streets` in seconds: colours and positions, few actions."""
    from anyscene.learning.config import TrainConfig
    from anyscene.learning.train import train

    config = TrainConfig(
        sets=("color", "position"),
        thresholds=(0.0, 0.6),
        lambdas=(0.0,),
        bundles=(1, 5),
        steps=8,
        clusters=0,
        samples=4000,
        screening_samples=2000,
        iterations=1,
        prune_images=2,
        guide_rounds=2,
        guide_images=2,
        threads=1,
    )
    path = tmp_path_factory.mktemp("models") / "small.anyscene"
    train(streets, path, config, network=False)
    return path


@pytest.fixture(scope="session")
def two_networks_file(streets, tmp_path_factory):
    """A small model with two networks: the shipped one, under two names."""
    from anyscene.features.hypercolumn.backbone import shipped_backbone
    from anyscene.learning.config import TrainConfig
    from anyscene.learning.train import train

    config = TrainConfig(
        sets=("place",),
        rungs=("250", "375", "large@500", "large@625m"),
        thresholds=(0.0,),
        lambdas=(0.0,),
        bundles=(1,),
        steps=4,
        clusters=0,
        samples=4000,
        screening_samples=2000,
        iterations=1,
        explored=6,
        prune_images=2,
        guide_rounds=1,
        guide_images=2,
        threads=1,
    )
    backbones = dict.fromkeys(("large", "hypercolumn"), shipped_backbone("camvid"))
    path = tmp_path_factory.mktemp("models") / "two.anyscene"
    train(streets, path, config, backbone=backbones)
    return path


@pytest.fixture(scope="session")
def engine(model_file):
    """The small model, ready to label."""
    return anyscene.load(model_file)
