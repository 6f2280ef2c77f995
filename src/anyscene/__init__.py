"""Label every pixel of a scene within whatever time you have, on a CPU.

    import anyscene

    model = anyscene.load("camvid")                     # a model that ships, or a file of your own
    out = model.label("street.jpg", budget="20ms")      # a Labeling, by the deadline
    out.labels, out.classes.names, out.cost             # int16[H, W], what its ids mean, milliseconds

    for out in model.stream("street.jpg"): ...          # ever better labels
    with model.live("5ms") as live: live.label(frame)   # the frames of a camera

Where to go on:

    load        a model, ready to label
    Labeling    what labeling returns: labels, confidence, cost, and ways to save, draw and export them
    Step        one action on the way there
    train       learn a model from labelled images; TrainConfig has its settings
    data        open data sets, read pictures
    metrics     pixel accuracy, class accuracy, mean IoU
    AnysceneError and its kinds: what can go wrong; each message says in one sentence what to do

The command `anyscene` does the same; `anyscene --help` lists what it can do.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from anyscene.errors import AnysceneError, ConfigError, DataError, ImageError, ModelError, StreamError

if TYPE_CHECKING:
    from anyscene import data as data
    from anyscene import metrics as metrics
    from anyscene.labeling import Labeling as Labeling
    from anyscene.labeling import Step as Step
    from anyscene.learning.config import TrainConfig as TrainConfig
    from anyscene.learning.train import train as train
    from anyscene.streams.engine import load as load

# ONNX Runtime reports to its maker unless this is set before it is imported; anyscene makes no network call.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
# Numba keeps compiled code beside the sources or in the user's cache, and fails where it can write neither.
# Said before numba is imported, which may be any time after this.
if "NUMBA_CACHE_DIR" not in os.environ and not os.access(os.path.dirname(__file__), os.W_OK):
    from anyscene.files import room_for_compiled_code

    os.environ["NUMBA_CACHE_DIR"] = str(room_for_compiled_code())

__version__ = "0.2.0"

# Public name -> the module that has it; a name without ":" is the module itself. Imported when first asked
# for, so that `import anyscene`, and with it `anyscene --help`, stays light.
_LAZY = {
    "data": "anyscene.data",
    "Labeling": "anyscene.labeling:Labeling",
    "Step": "anyscene.labeling:Step",
    "load": "anyscene.streams.engine:load",
    "metrics": "anyscene.metrics",
    "train": "anyscene.learning.train:train",
    "TrainConfig": "anyscene.learning.config:TrainConfig",
}

__all__ = ["AnysceneError", "ConfigError", "DataError", "ImageError", "ModelError", "StreamError", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'anyscene' has no attribute {name!r}")
    module, _, attribute = _LAZY[name].partition(":")
    value = importlib.import_module(module)
    return getattr(value, attribute) if attribute else value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
