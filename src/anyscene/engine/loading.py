"""From a model's name or file to an engine that is ready to label."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from anyscene.engine.engine import Engine
from anyscene.engine.learned import Learned
from anyscene.engine.preparing import prepare
from anyscene.errors import ModelError
from anyscene.features import Bank, bank_from_arrays
from anyscene.features.hypercolumn.network import Network
from anyscene.features.hypercolumn.rungs import NETWORK, head_from_arrays, rung_of_name
from anyscene.model.actions import Pool
from anyscene.model.modelfile import TrainedModel, load_model

SUFFIX = ".anyscene"
POLICY = "D-NM"

DEFAULT_MODEL = "stanford"
"""The shipped model that labels when none is named: its scenes are the most varied."""


def load(model: str | Path | None = None, threads: int = 1) -> Engine:
    """Load a model, `load("camvid")` or `load("my.anyscene")`, ready to label within any deadline.

    The first time on a machine, what every step costs there is measured, which takes ten seconds or more;
    `anyscene calibrate` does it again and more thoroughly. model : None for the default one, for outdoor
    photos. threads : CPU threads to use.
    """
    return prepare(learned_from(load_model(find_model(model))), threads)


def shipped_models() -> dict[str, Path]:
    """The models that come with anyscene, by name."""
    folder = Path(str(resources.files("anyscene"))) / "models"
    return {path.stem: path for path in sorted(folder.glob(f"*{SUFFIX}"))}


def find_model(model: str | Path | None) -> Path:
    """Return the file of a model that is given by its name or by its path; None: of the default one."""
    model = DEFAULT_MODEL if model is None else model
    shipped = shipped_models()
    if str(model) in shipped:
        return shipped[str(model)]
    path = Path(model).expanduser()
    if path.is_file():
        return path
    known = f"those that ship are {', '.join(shipped)}" if shipped else "none ships with this installation"
    raise ModelError(f"there is no model and no file '{model}'; {known}; `anyscene train` makes your own")


def learned_from(trained: TrainedModel) -> Learned:
    """Take from a model file what labeling needs."""

    def make_bank(threads: int) -> Bank:
        return bank_of(trained, threads)

    temperature = float(trained.record.get("temperature", 1.0))
    policy = trained.policies[POLICY]
    return Learned(trained.model, policy, make_bank, trained.classes, temperature, trained.plans)


def bank_of(trained: TrainedModel, threads: int = 1) -> Bank:
    """Return the feature sets of a model, its network's sessions on so many threads."""
    names = trained.model.pool.sets
    plain = [name for name in names if not name.startswith(f"{NETWORK}@")]
    bank = dict(bank_from_arrays(plain, trained.features))
    if len(plain) < len(names):
        head, speaks = head_from_arrays(trained.features, len(trained.classes))
        network = Network(trained.graphs[NETWORK], threads)
        for name in names:
            if name not in plain:
                rows = head.first_rows(columns_read(trained.model.pool, name))
                bank[name] = rung_of_name(name, network, rows, speaks)
    return {name: bank[name] for name in names}


def columns_read(pool: Pool, name: str) -> int:
    """How many of the first columns of a feature set hold all that weak learners look at."""
    inputs = [chain.column[chain.source == pool.sets.index(name)] for chain in pool.chains]
    return 1 + max((int(columns.max()) for columns in inputs if len(columns)), default=-1)
