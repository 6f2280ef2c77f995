"""Labeling under a clock: the best label map by the deadline."""

from anyscene.engine.engine import Engine, Learned, Run, prepare
from anyscene.engine.loading import load

__all__ = ["Engine", "Learned", "Run", "load", "prepare"]
