"""anyscene labels every pixel of a scene within whatever time you have."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from anyscene.errors import AnysceneError, ConfigError, DataError, ImageError, ModelError

if TYPE_CHECKING:
    from anyscene import data as data
    from anyscene import metrics as metrics
    from anyscene.engine import load as load
    from anyscene.labeling import Labeling as Labeling
    from anyscene.labeling import Step as Step
    from anyscene.learning.train import train as train

__version__ = "0.1.0.dev0"

# Public name -> the module that has it; a name without ":" is the module itself. Imported when first asked
# for, so that `import anyscene`, and with it `anyscene --help`, stays light.
_LAZY = {
    "data": "anyscene.data",
    "Labeling": "anyscene.labeling:Labeling",
    "Step": "anyscene.labeling:Step",
    "load": "anyscene.engine:load",
    "metrics": "anyscene.metrics",
    "train": "anyscene.learning.train:train",
}

__all__ = ["AnysceneError", "ConfigError", "DataError", "ImageError", "ModelError", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'anyscene' has no attribute {name!r}")
    module, _, attribute = _LAZY[name].partition(":")
    value = importlib.import_module(module)
    return getattr(value, attribute) if attribute else value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
