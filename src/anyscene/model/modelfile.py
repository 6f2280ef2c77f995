"""The `.anyscene` file: an uncompressed zip of a manifest, arrays and ONNX graphs; no pickle anywhere."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from anyscene.data import Classes
from anyscene.errors import DataError, ModelError
from anyscene.files import write_atomically
from anyscene.model.actions import Action, Pool, Split, Update
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.costs import ActionCosts
from anyscene.model.plans import Plan
from anyscene.model.policies import HIGHEST, LearnedPolicy, LinearQ
from anyscene.model.rollout import Model

SCHEMA = 2
MANIFEST, ARRAYS, GRAPHS = "manifest.json", "arrays.safetensors", "graphs/"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Files in the zip carry no date, so that equal models are equal bytes."""


@dataclass(frozen=True)
class TrainedModel:
    """All that is in a model file.

    model : actions, costs, prior, horizon. policies : by name, `D-NM` the one to label with.
    static : the S-M sequence, as action indices. features : what the feature sets learned, by `set/array`.
    plans : for known deadlines, from cheap to dear.
    graphs : ONNX models by name. record : how it was trained, plain JSON.
    """

    classes: Classes
    model: Model
    policies: Mapping[str, LearnedPolicy]
    static: tuple[int, ...]
    features: Mapping[str, NDArray[Any]]
    plans: tuple[Plan, ...] = ()
    graphs: Mapping[str, bytes] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)


class _Manifest(BaseModel):
    """The manifest as it must be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int
    classes: tuple[str, ...]
    palette: tuple[tuple[int, int, int], ...]
    sets: tuple[str, ...]
    ladder: tuple[int, ...]
    layers: int
    max_steps: int
    actions: tuple[tuple[float, float, float], ...]
    chains: int
    static: tuple[int, ...]
    plans: tuple[tuple[tuple[int, ...], tuple[float, ...]], ...]
    stop_below: dict[str, float]
    guides: dict[str, tuple[int, ...]]
    loyalty: dict[str, float]
    scalars: dict[str, float]
    checksums: dict[str, str]
    record: dict[str, Any]


def action_to_json(action: Action) -> tuple[float, float, float]:
    """An action as three numbers: (0, threshold, 0) or (1, chain, size)."""
    if isinstance(action, Split):
        return 0.0, action.threshold, 0.0
    return 1.0, float(action.chain), float(action.size)


def action_from_json(row: Sequence[float]) -> Action:
    """The inverse of `action_to_json`."""
    kind, first, second = row
    return Update(int(first), int(second)) if kind else Split(float(first))


def chain_to_arrays(chain: Chain) -> dict[str, NDArray[Any]]:
    """A chain's arrays by name."""
    return {part.name: getattr(chain, part.name) for part in fields(Chain)}


def chain_from_arrays(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Chain:
    """The inverse of `chain_to_arrays`, each name after a prefix."""
    return Chain(**{part.name: arrays[prefix + part.name] for part in fields(Chain)})


def save_model(path: Path, trained: TrainedModel) -> None:
    """Write a model file, wholly or not at all; equal models give equal bytes."""
    pool, costs = trained.model.pool, trained.model.costs
    arrays: dict[str, NDArray[Any]] = {"prior": trained.model.prior}
    arrays |= {f"features/{name}": array for name, array in trained.features.items()}
    for i, chain in enumerate(pool.chains):
        arrays |= {f"chains/{i}/{key}": array for key, array in chain_to_arrays(chain).items()}
    for name, policy in trained.policies.items():
        arrays |= {f"policies/{name}/{part.name}": getattr(policy.q, part.name) for part in fields(LinearQ)}
    values = {part.name: getattr(costs, part.name) for part in fields(ActionCosts)}
    arrays |= {f"costs/{name}": value for name, value in values.items() if isinstance(value, np.ndarray)}
    members = {ARRAYS: save({name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())})}
    members |= {f"{GRAPHS}{name}": graph for name, graph in sorted(trained.graphs.items())}
    manifest = _Manifest(
        schema_version=SCHEMA,
        classes=trained.classes.names,
        palette=tuple((int(r), int(g), int(b)) for r, g, b in trained.classes.palette),
        sets=pool.sets,
        ladder=pool.ladder,
        layers=pool.layer_count,
        max_steps=trained.model.max_steps,
        actions=tuple(action_to_json(action) for action in pool.actions),
        chains=len(pool.chains),
        static=trained.static,
        plans=tuple((plan.actions, plan.cost) for plan in trained.plans),
        stop_below={name: _finite(policy.stop_below) for name, policy in trained.policies.items()},
        guides={name: policy.guide for name, policy in trained.policies.items()},
        loyalty={name: policy.loyalty for name, policy in trained.policies.items()},
        scalars={name: float(v) for name, v in values.items() if not isinstance(v, np.ndarray)},
        checksums={name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
        record=dict(trained.record),
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, data in [(MANIFEST, manifest.model_dump_json(indent=1).encode()), *members.items()]:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data)
    with write_atomically(path) as file:
        file.write(packed.getbuffer())


def load_model(path: Path) -> TrainedModel:
    """Read and check a model file; whatever is wrong with it is one sentence."""
    members = _read_members(path)
    manifest = _read_manifest(path, members)
    for name, checksum in manifest.checksums.items():
        if name not in members:
            raise ModelError(f"the model {path} is damaged: {name} is missing; get or train it anew")
        if hashlib.sha256(members[name]).hexdigest() != checksum:
            raise ModelError(
                f"the model {path} is damaged or was edited: {name} is not what the manifest says"
            )
    try:
        trained = _assemble(manifest, load(members[ARRAYS]), members)
        _check(trained)
    except (KeyError, ValueError, TypeError, IndexError, DataError, SafetensorError) as error:
        raise ModelError(f"the model {path} contradicts itself ({error}); get or train it anew") from error
    return trained


def _finite(level: float) -> float:
    """A level that JSON can hold: no Q̂ is beyond this."""
    return max(-HIGHEST, min(level, HIGHEST))


def _read_members(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except OSError as error:
        raise ModelError(f"cannot read the model {path}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise ModelError(f"{path} is not an anyscene model, or was cut short ({error})") from error


def _read_manifest(path: Path, members: Mapping[str, bytes]) -> _Manifest:
    try:
        document = json.loads(members[MANIFEST])
        version = document["schema_version"]
    except (KeyError, ValueError, TypeError) as error:
        raise ModelError(
            f"{path} is not an anyscene model: its {MANIFEST} is missing or unreadable"
        ) from error
    if version != SCHEMA:
        raise ModelError(
            f"the model {path} is of version {version}, this anyscene reads version {SCHEMA}; "
            "train it anew or use the anyscene that made it"
        )
    try:
        return _Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ModelError(f"the manifest of {path} has a wrong value for '{where}': {first['msg']}") from error


def _assemble(m: _Manifest, arrays: Mapping[str, NDArray[Any]], members: Mapping[str, bytes]) -> TrainedModel:
    chains = tuple(chain_from_arrays(arrays, f"chains/{i}/") for i in range(m.chains))
    actions = tuple(action_from_json(row) for row in m.actions)
    pool = Pool(m.sets, chains, actions, len(m.classes), m.layers, m.ladder)
    parts: dict[str, Any] = {part.name: m.scalars.get(part.name) for part in fields(ActionCosts)}
    parts |= {name: arrays[f"costs/{name}"] for name, value in parts.items() if value is None}
    costs = ActionCosts(**parts)
    policies = {
        name: LearnedPolicy(
            LinearQ(**{part.name: arrays[f"policies/{name}/{part.name}"] for part in fields(LinearQ)}),
            stop,
            m.guides[name],
            m.loyalty[name],
        )
        for name, stop in m.stop_below.items()
    }
    start = "features/"
    return TrainedModel(
        classes=Classes(m.classes, np.array(m.palette, np.uint8).reshape(-1, 3)),
        model=Model(pool, costs, arrays["prior"], m.max_steps),
        policies=policies,
        static=m.static,
        plans=tuple(Plan(actions, cost) for actions, cost in m.plans),
        features={
            name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
        },
        graphs={name.removeprefix(GRAPHS): data for name, data in members.items() if name.startswith(GRAPHS)},
        record=m.record,
    )


def _check(trained: TrainedModel) -> None:
    """Refuse what would only fail, or read out of bounds, when an image is labelled."""
    pool = trained.model.pool
    if trained.model.prior.shape != (pool.classes,):
        raise ValueError("the prior does not fit the classes")
    for chain in pool.chains:
        inner = chain.left >= 0
        nodes = len(chain.left)
        if (
            chain.value.shape != (nodes, pool.classes)
            or len(chain.feature) != nodes
            or len(chain.threshold) != nodes
        ):
            raise ValueError("a chain's arrays differ in length")
        if len(chain.blend_weight) != len(chain.blend_source) or chain.blend_bias.shape != (pool.classes,):
            raise ValueError("a chain's blend differs in length from what it looks at")
        if np.any(chain.left[inner] + 1 >= nodes) or np.any(chain.left[inner] <= np.flatnonzero(inner)):
            raise ValueError("a tree points outside itself")
        if np.any((chain.roots < 0) | (chain.roots >= nodes)):
            raise ValueError("a chain's roots lie outside it")
        if np.any((chain.feature[inner] < 0) | (chain.feature[inner] >= len(chain.source))):
            raise ValueError("a tree looks at an input that is not there")
        sources = np.concatenate([chain.source, chain.blend_source])
        if np.any((sources != PARENT_BELIEF) & ((sources < 0) | (sources >= len(pool.sets)))):
            raise ValueError("a chain looks at a feature set that is not there")
    if any(not 0 <= rung < len(pool.sets) for rung in pool.ladder):
        raise ValueError("the ladder names feature sets that are not there")
    for action in pool.actions:
        if isinstance(action, Update) and not 1 <= action.size <= pool.chains[action.chain].size:
            raise ValueError("a bundle is larger than its chain")
    if any(len(plan.cost) != len(plan.actions) + 1 for plan in trained.plans):
        raise ValueError("a plan's costs are not those of its actions")
    plans = (plan.actions for plan in trained.plans)
    sequences = [trained.static, *plans, *(policy.guide for policy in trained.policies.values())]
    if any(not 0 <= action < len(pool.actions) for sequence in sequences for action in sequence):
        raise ValueError("a sequence names actions that are not there")
    situation = trained.model.situation(trained.model.start())
    for policy in trained.policies.values():
        policy.q.values(situation.phi)


def describe_model(trained: TrainedModel) -> list[str]:
    """What is in a model, in plain sentences."""
    pool, costs, record = trained.model.pool, trained.model.costs, trained.record
    splits = [action for action in pool.actions if isinstance(action, Split)]
    trees = sum(chain.size for chain in pool.chains)
    dear = costs.pooling[:, -1] + np.array([costs.items[needed].sum() for needed in costs.requires[:, -1]])
    prices = ", ".join(f"{name} {ms:.2g} ms" for name, ms in zip(pool.sets, dear, strict=True))
    lines = [
        f"labels {pool.classes} classes: {', '.join(trained.classes.names)}",
        f"looks at {len(pool.sets)} feature sets (cost on the finest layer, alone): {prices}",
        f"chooses among {len(pool.actions)} actions: {len(splits)} ways to split, "
        f"{len(pool.actions) - len(splits)} bundles from {len(pool.chains)} chains of {trees} weak learners",
        f"takes at most {trained.model.max_steps} actions; a step costs at least {costs.step:.2g} ms",
        f"policies: {', '.join(trained.policies)}, and a static sequence of {len(trained.static)} actions",
        f"has {len(trained.plans)} plans for known deadlines",
    ]
    if trained.graphs:
        lines.append(f"holds the networks {', '.join(trained.graphs)}")
    if record:
        lines.append(
            f"trained on {record.get('images fitted')} images of {record.get('data')} "
            f"({record.get('images held out')} held out), seed {record.get('seed')}, "
            f"by anyscene {record.get('anyscene')}"
        )
    for name, figures in dict(record.get("held out", {})).items():
        words = ", ".join(f"{what} {value:.4g}" for what, value in figures.items())
        lines.append(f"on held-out images, {name}: {words}")
    return lines
