"""The settings of the paper's own experiments, which come with the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from anyscene.learning.config import TrainConfig, read_config


def paper_config() -> TrainConfig:
    """Settings for the paper's nine feature sets; `train(..., network=False)` learns with eight of them."""
    return read_config(Path(str(resources.files("anyscene.learning"))) / "paper.toml")
