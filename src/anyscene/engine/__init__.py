"""Labeling under a clock: the best label map by the deadline."""

from anyscene.engine.engine import Engine, Run, prepare
from anyscene.engine.learned import Learned
from anyscene.engine.loading import load

__all__ = ["Engine", "Learned", "Run", "load", "prepare"]
