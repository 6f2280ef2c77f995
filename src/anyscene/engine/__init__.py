"""Labeling under a clock: the best label map by the deadline."""

from anyscene.engine.engine import Engine, Run
from anyscene.engine.learned import Learned
from anyscene.engine.loading import load
from anyscene.engine.preparing import prepare

__all__ = ["Engine", "Learned", "Run", "load", "prepare"]
