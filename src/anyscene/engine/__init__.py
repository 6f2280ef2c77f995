"""Labeling under a clock: the best label map by the deadline."""

from anyscene.engine.engine import Engine
from anyscene.engine.learned import Learned
from anyscene.engine.loading import load
from anyscene.engine.ready import prepare
from anyscene.engine.run import Run

__all__ = ["Engine", "Learned", "Run", "load", "prepare"]
