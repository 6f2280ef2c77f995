"""The `.anyscene` file: an uncompressed zip of a manifest, arrays and ONNX graphs; no pickle anywhere."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from anyscene.archives import MANIFEST, read_archive, read_manifest
from anyscene.checks import check_keys, check_names
from anyscene.data import Classes
from anyscene.errors import AnysceneError, ModelError
from anyscene.files import write_atomically
from anyscene.hierarchy import LAYERS
from anyscene.marks import MARK
from anyscene.model import validation
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Action, Pool, Split, Update
from anyscene.model.chain import Chain
from anyscene.named_arrays import Arrays, prefixed, under
from anyscene.policy.model import Model
from anyscene.policy.plans import Plan
from anyscene.policy.policies import LearnedPolicy, LinearQ
from anyscene.policy.storage import StoredPolicy, check_policy, policy_from_arrays, policy_to_arrays
from anyscene.policy.stream_section import StreamSection

SCHEMA = 4
OLDEST_SCHEMA = 2
ARRAYS, GRAPHS = "arrays.safetensors", "graphs"
KIND = "anyscene model"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Files in the zip carry no date, so that equal models are equal bytes."""


@dataclass(frozen=True, repr=False)
class TrainedModel:
    """All that is in a model file.

    model : actions, costs, prior, horizon. policies : by name, `D-NM` the one to label with.
    static : the S-M sequence, as action indices. features : what the feature sets learned, by `set/array`.
    plans : for known deadlines, from cheap to dear.
    graphs : ONNX models by name. record : how it was trained, plain JSON.
    stream : the policy for streams of frames, if one was learned.
    """

    classes: Classes
    model: Model
    policies: Mapping[str, StoredPolicy]
    static: tuple[int, ...]
    features: Mapping[str, NDArray[Any]]
    plans: tuple[Plan, ...] = ()
    graphs: Mapping[str, bytes] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    stream: StreamSection | None = None

    def __repr__(self) -> str:
        actions = len(self.model.pool.actions)
        return f"<TrainedModel {len(self.classes)} classes, {actions} actions, {len(self.plans)} plans>"


_Color = Annotated[int, Field(ge=0, le=255)]
_Index = Annotated[int, Field(ge=0, lt=validation.MOST_ACTIONS)]
_Sequence = Annotated[tuple[_Index, ...], Field(max_length=validation.MOST_STEPS)]
_Costs = Annotated[tuple[float, ...], Field(max_length=validation.MOST_STEPS + 1)]


class _Common(BaseModel):
    """What the manifests of all versions hold."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    schema_version: int
    classes: tuple[str, ...] = Field(min_length=1, max_length=validation.MOST_CLASSES)
    palette: tuple[tuple[_Color, _Color, _Color], ...]
    sets: tuple[str, ...] = Field(min_length=1, max_length=validation.MOST_SETS)
    ladder: tuple[int, ...]
    layers: int = Field(ge=LAYERS, le=LAYERS)
    max_steps: int = Field(ge=1, le=validation.MOST_STEPS)
    actions: tuple[tuple[float, float, float], ...] = Field(min_length=1, max_length=validation.MOST_ACTIONS)
    chains: int = Field(ge=0, le=validation.MOST_ACTIONS)
    static: _Sequence
    plans: tuple[tuple[_Sequence, _Costs], ...] = Field(max_length=validation.MOST_PLANS)
    scalars: dict[str, float]
    checksums: dict[str, str]
    record: dict[str, Any]
    stream: StreamSection | None = None


class _Manifest(_Common):
    """The manifest as it is written now."""

    policies: tuple[str, ...] = Field(min_length=1, max_length=validation.MOST_POLICIES)

    def read_policies(self, arrays: Arrays) -> dict[str, StoredPolicy]:
        """The policies by name."""
        return {name: policy_from_arrays(under(f"policies/{name}", arrays)) for name in self.policies}


class _Version2(_Common):
    """The manifest of version 2: a policy that only followed its guide had a Q too, and a huge margin."""

    stop_below: dict[str, float] = Field(min_length=1, max_length=validation.MOST_POLICIES)
    guides: dict[str, _Sequence]
    loyalty: dict[str, Annotated[float, Field(ge=0)]]

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies' names."""
        return tuple(self.stop_below)

    def read_policies(self, arrays: Arrays) -> dict[str, StoredPolicy]:
        """The policies by name, with infinity where version 2 wrote a large number for it."""
        policies: dict[str, StoredPolicy] = {}
        for name, level in self.stop_below.items():
            q = LinearQ(**under(f"policies/{name}", arrays))
            stop_below = math.copysign(math.inf, level) if abs(level) >= 1e300 else level
            margin = math.inf if self.loyalty[name] >= 1e6 else self.loyalty[name]
            policies[name] = LearnedPolicy(q, stop_below, self.guides[name], margin).simplified()
        return policies


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


def chain_from_arrays(arrays: Arrays) -> Chain:
    """The inverse of `chain_to_arrays`."""
    return Chain(**{part.name: arrays[part.name] for part in fields(Chain)})


def _chain_arrays(arrays: Arrays, index: int) -> Arrays:
    """The arrays of a chain. Before version 4 they do not say what is kept: nothing by blends, else all."""
    own = under(f"chains/{index}", arrays)
    kept = np.full(1, 0.0 if len(own["blend_source"]) else 1.0, np.float32)
    return {"kept": kept, **own}


def _writable(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as JSON can hold it: bytes of file names that are no UTF-8 become question marks."""
    text = json.dumps(dict(record), ensure_ascii=False)
    written: dict[str, Any] = json.loads(text.encode(errors="replace"))
    return written


def save_model(path: Path, trained: TrainedModel) -> None:
    """Write a model file, wholly or not at all; equal models give equal bytes."""
    pool, costs = trained.model.pool, trained.model.costs
    arrays: dict[str, NDArray[Any]] = {"prior": trained.model.prior}
    arrays |= prefixed("features", trained.features)
    for i, chain in enumerate(pool.chains):
        arrays |= prefixed(f"chains/{i}", chain_to_arrays(chain))
    for name, policy in trained.policies.items():
        arrays |= prefixed(f"policies/{name}", policy_to_arrays(policy))
    values = {part.name: getattr(costs, part.name) for part in fields(ActionCosts)}
    arrays |= {f"costs/{name}": value for name, value in values.items() if isinstance(value, np.ndarray)}
    members = {ARRAYS: save({name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())})}
    members |= prefixed(GRAPHS, dict(sorted(trained.graphs.items())))
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
        policies=tuple(trained.policies),
        scalars={name: float(v) for name, v in values.items() if not isinstance(v, np.ndarray)},
        checksums={name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
        record=_writable(trained.record),
        stream=trained.stream,
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = MARK.encode()
        for name, data in [(MANIFEST, manifest.model_dump_json(indent=1).encode()), *members.items()]:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data)
    with write_atomically(path) as file:
        file.write(packed.getbuffer())


def load_model(path: Path) -> TrainedModel:
    """Read and check a model file; whatever is wrong with it is one sentence."""
    members = read_archive(path, KIND)
    manifest = _read_manifest(path, members)
    for name, checksum in manifest.checksums.items():
        if name not in members:
            raise ModelError(f"the model {path} is damaged: {name} is missing; get or train it anew")
        if hashlib.sha256(members[name]).hexdigest() != checksum:
            raise ModelError(
                f"the model {path} is damaged or was edited: {name} is not what the manifest says"
            )
    try:
        check_keys("its members", members, (MANIFEST, *manifest.checksums))
        return _assemble(manifest, load(members[ARRAYS]), members)
    except (LookupError, ValueError, TypeError, ArithmeticError, AnysceneError, SafetensorError) as error:
        raise ModelError(f"the model {path} contradicts itself ({error}); get or train it anew") from error


def _read_manifest(path: Path, members: dict[str, bytes]) -> _Manifest | _Version2:
    document = read_manifest(path, members, KIND)
    if (version := document.get("schema_version")) not in range(OLDEST_SCHEMA, SCHEMA + 1):
        raise ModelError(
            f"the model {path} is of version {str(version)[:20]!a}, this anyscene reads versions "
            f"{OLDEST_SCHEMA} to {SCHEMA}; train it anew or use the anyscene that made it"
        )
    try:
        kind = _Version2 if version == OLDEST_SCHEMA else _Manifest
        manifest = kind.model_validate(document)
        validation.check_record(manifest.record)
        return manifest
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise ModelError(
            f"the manifest of {path} has a wrong value for {where!a}: {first['msg']}; get or train it anew"
        ) from error


def _assemble(m: _Manifest | _Version2, arrays: Arrays, members: Mapping[str, bytes]) -> TrainedModel:
    """Make a model of what was read, each part once it was checked: what it holds indexes compiled loops."""
    classes = len(m.classes)
    check_names("classes", m.classes)
    check_names("feature sets", m.sets)
    check_names("policies", m.policies)
    features = under("features", arrays)
    graphs = under(GRAPHS, members)
    sources = validation.sources_of(m.sets, features, graphs, classes)
    validation.check_prior(arrays["prior"], classes)
    validation.check_ladder(m.ladder, sources)
    chains = []
    for i in range(m.chains):
        own = _chain_arrays(arrays, i)
        validation.check_chain(own, classes, sources)
        chains.append(chain_from_arrays(own))
    validation.check_actions(m.actions, [chain.size for chain in chains])
    costs = under("costs", arrays)
    validation.check_costs(costs, m.scalars, len(m.sets))
    actions = tuple(action_from_json(row) for row in m.actions)
    pool = Pool(m.sets, tuple(chains), actions, classes, m.layers, m.ladder)
    parts: dict[str, Any] = {**m.scalars, **costs}
    model = Model(pool, ActionCosts(**parts), arrays["prior"], m.max_steps)
    validation.check_plans(m.plans)
    phi = model.situation(model.start()).phi
    for name in m.policies:
        check_policy(under(f"policies/{name}", arrays), phi, len(actions))
    policies = m.read_policies(arrays)
    sequences = (m.static, *(taken for taken, _ in m.plans), *(policy.guide for policy in policies.values()))
    if any(action >= len(actions) for sequence in sequences for action in sequence):
        raise ValueError("a sequence names actions that are not there")
    return TrainedModel(
        classes=Classes(m.classes, np.array(m.palette, np.uint8).reshape(-1, 3)),
        model=model,
        policies=policies,
        static=m.static,
        plans=tuple(Plan(actions, cost) for actions, cost in m.plans),
        features=features,
        graphs=graphs,
        record=m.record,
        stream=m.stream,
    )
