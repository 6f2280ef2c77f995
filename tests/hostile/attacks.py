"""Files that were made to break us, each with what it aims at. All are signed: their checksums are right."""

import zipfile
from collections.abc import Callable

import numpy as np

from anyscene.familiarity import describe
from tests.hostile import protobuf as pb
from tests.hostile.forge import MANIFEST, Parts, put_together, zipped

GRAPH = "graphs/hypercolumn"

Attack = Callable[[Parts], bytes | None]
"""Changes the parts of a model, or returns the bytes of the whole file."""


def with_array(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Attack:
    """Change one of the arrays."""

    def attack(parts: Parts) -> None:
        parts.arrays[name] = change(parts.arrays[name])

    return attack


def with_values(**values: object) -> Attack:
    """Change what the manifest says."""

    def attack(parts: Parts) -> None:
        parts.manifest |= values

    return attack


def with_graph(graph: bytes) -> Attack:
    """Put another network in."""

    def attack(parts: Parts) -> None:
        parts.graphs[GRAPH] = graph

    return attack


def with_added_graph(more: bytes) -> Attack:
    """Add something to the network's own file."""

    def attack(parts: Parts) -> None:
        parts.graphs[GRAPH] += more

    return attack


def with_tree(**changes: np.ndarray) -> Attack:
    """Give the first chain a stump, changed so; splits and updates by it are then taken."""

    def attack(parts: Parts) -> None:
        classes = len(parts.manifest["classes"])
        tree = {
            "source": np.zeros(1, np.int16),
            "column": np.zeros(1, np.int32),
            "feature": np.zeros(3, np.int32),
            "threshold": np.zeros(3, np.float32),
            "left": np.array([1, -1, -1], np.int32),
            "value": np.zeros((3, classes), np.float32),
            "roots": np.zeros(1, np.int32),
        }
        parts.arrays |= {f"chains/0/{name}": array for name, array in (tree | changes).items()}
        parts.manifest["actions"][1] = [1, 0, 2]

    return attack


def deep_tree(parts: Parts) -> None:
    """A tree that is as deep as it has inner nodes."""
    nodes = 20_001
    left = np.arange(1, nodes + 1, dtype=np.int32)
    left[1::2] = left[-1] = -1
    zeros = {"feature": np.zeros(nodes, np.int32), "threshold": np.zeros(nodes, np.float32)}
    values = np.zeros((nodes, len(parts.manifest["classes"])), np.float32)
    with_tree(left=left, value=values, **zeros)(parts)


def odd_familiarity(parts: Parts) -> None:
    """Distances that are a table and no list."""
    size = len(describe(np.zeros((1, 1, 3), np.uint8)))
    arrays = {"mean": np.zeros(size), "precision": np.eye(size), "distances": np.zeros((2, 2))}
    for name, array in arrays.items():
        parts.arrays[f"features/familiarity/{name}"] = array.astype(np.float32)


def double_sets(parts: Parts) -> None:
    """Name the same set twice, with costs for both."""
    parts.manifest["sets"][1] = parts.manifest["sets"][2]


def many_plans(parts: Parts) -> None:
    """A plan whose steps' names would take gigabytes."""
    count = 100_000
    parts.manifest["plans"] = [[[1, 2] * (count // 2), [0.1 * i for i in range(count + 1)]]]


def compressed(parts: Parts) -> bytes:
    """Half a gigabyte in few bytes."""
    return zipped({MANIFEST: bytes(2**28), "arrays.safetensors": bytes(2**28)}, zipfile.ZIP_DEFLATED)


def deep(parts: Parts) -> bytes:
    """A document that nests deeper than a parser follows."""
    return zipped({MANIFEST: b'{"record": ' + b"[" * 200_000})


def foreign_bool(parts: Parts) -> None:
    """Truth values that are neither 0 nor 1 count more than once."""
    requires = parts.arrays["costs/requires"]
    parts.arrays["costs/requires"] = (requires.view(np.uint8) * 200).view(np.bool_)


def few_rows(parts: Parts) -> None:
    """A head of three rows, for more classes."""
    for part in ("weight", "bias"):
        parts.arrays[f"features/hypercolumn/{part}"] = parts.arrays[f"features/hypercolumn/{part}"][:3].copy()


def everywhere(value: float) -> Callable[[np.ndarray], np.ndarray]:
    """Fill an array with a number."""
    return lambda array: np.full_like(array, value)


def _external(path: str) -> bytes:
    """Constants whose values lie in another file."""
    entries = pb.field(13, pb.field(1, "location") + pb.field(2, path))
    return pb.field(5, pb.field(1, 1) + pb.field(2, 1) + pb.field(8, "far") + entries + pb.field(14, 1))


_ONE = pb.floats("one", [1, 1, 1], [1.0])
_BODY = pb.field(5, pb.field(1, "then_branch") + pb.field(20, 5) + pb.field(6, pb.field(2, "inner")))

ATTACKS: dict[str, Attack] = {
    "a head of three rows": few_rows,
    "a head without numbers": with_array("features/hypercolumn/weight", everywhere(np.nan)),
    "a head that overflows": with_array("features/hypercolumn/weight", everywhere(3e38)),
    "a head of double precision": with_array("features/hypercolumn/bias", lambda a: a.astype(np.float64)),
    "a narrow head": with_array("features/hypercolumn/weight", lambda a: a[:, :50].copy()),
    "scores of one cell": with_graph(pb.model(_ONE, pb.node("Identity", ["one"], "scores"))),
    "scores that are text": with_graph(pb.model(pb.node("Cast", ["image"], "scores"))),
    "an endless loop": with_graph(pb.model(_ONE, pb.node("Loop", ["one", "one"], "scores", _BODY))),
    "a graph in a graph": with_graph(pb.model(_ONE, pb.node("If", ["one"], "scores", _BODY))),
    "operators of others": with_graph(
        pb.model(pb.node("Magic", ["image"], "scores", pb.field(7, "com.evil")))
    ),
    "operators of others, declared": with_added_graph(pb.field(8, pb.field(1, "com.evil") + pb.field(2, 1))),
    "values in another file": with_added_graph(pb.field(7, _external("/etc/passwd"))),
    "a network of other files": with_graph(pb.model(_external("../x"), pb.node("Relu", ["far"], "scores"))),
    "functions of its own": with_added_graph(pb.field(25, pb.field(1, "f"))),
    "a network that is cut short": lambda parts: parts.graphs.update({GRAPH: parts.graphs[GRAPH][:-999]}),
    "no network": lambda parts: parts.graphs.clear(),
    "a left child beyond numbers": with_tree(left=np.array([2**31 - 1, -1, -1], np.int32)),
    "a left child without sign": with_tree(left=np.array([1, 2**32 - 1, 2**32 - 1], np.uint32)),
    "a tree that comes back": with_tree(left=np.array([1, 0, -1], np.int32)),
    "a column far outside": with_tree(column=np.array([10**6], np.int32)),
    "a column before the first": with_tree(column=np.array([-(10**6)], np.int32)),
    "a source that is not there": with_tree(source=np.array([30_000], np.int16)),
    "an input that is not there": with_tree(feature=np.full(3, 10**6, np.int32)),
    "a tree without end": deep_tree,
    "inputs without end": with_tree(source=np.zeros(10**6, np.int16), column=np.zeros(10**6, np.int32)),
    "values of few classes": with_tree(value=np.zeros((3, 2), np.float32)),
    "values without numbers": with_array("chains/0/blend_bias", everywhere(np.nan)),
    "a root outside": with_tree(roots=np.array([999], np.int32)),
    "fifty layers": with_values(layers=50),
    "one layer": with_values(layers=1),
    "the same set twice": double_sets,
    "twice the cost items": with_array("costs/items", lambda items: np.tile(items, 2)),
    "costs without numbers": with_array("costs/pooling", everywhere(np.nan)),
    "costs below nothing": with_array("costs/grow", everywhere(-5)),
    "truth beyond one": foreign_bool,
    "a prior without numbers": with_array("prior", everywhere(np.nan)),
    "a prior of nothing": with_array("prior", everywhere(0)),
    "a policy of other lengths": with_array("policies/D-NM/state", lambda a: a[:-1].copy()),
    "a policy without numbers": with_array("policies/D-NM/own", everywhere(np.inf)),
    "a map of few classes": with_array("features/place/chances", lambda a: a[:, :, :3].copy()),
    "a map without cells": with_array("features/place/chances", lambda a: a[:0].copy()),
    "a map without numbers": with_array("features/place/chances", everywhere(np.nan)),
    "a familiarity of other shapes": odd_familiarity,
    "a plan of 100,000 actions": many_plans,
    "a plan that is free": with_values(plans=[[[1], [0.0, 0.0]]]),
    "steps without end": with_values(max_steps=10**18),
    "no palette": with_values(palette=[]),
    "colours beyond 255": with_values(palette=[[0, 0, 10**30]] * 11),
    "a policy that is missing": with_values(stop_below={}, guides={}, loyalty={}),
    "names that command a terminal": with_values(classes=[f"\x1b]52;c;aGk=\x07{k}" for k in range(11)]),
    "a version that commands a terminal": with_values(schema_version="\x1b[2J"),
    "a record of nonsense": with_values(record={"temperature": "hot", "held out": 5}),
    "a record of endless numbers": with_values(record={"config": {"steps": float("inf")}}),
    "a temperature of nothing": with_values(record={"temperature": 0}),
    "held-out figures of nonsense": with_values(record={"held out": {"D-NM": {"x": "y"}}}),
    "actions that are none": with_values(actions=[[7, 0, 0]] * 48),
    "bundles of infinity": with_values(actions=[[1, 0, 1e300]] * 48),
    "chains that are not there": with_values(actions=[[1, 10**9, 1]] * 48),
    "half a gigabyte in a zip": compressed,
    "a document without end": deep,
}


def forged(attack: Attack, parts: Parts) -> bytes:
    """Return the bytes of the file that an attack makes of a model's parts, which it may change."""
    whole = attack(parts)
    return put_together(parts) if whole is None else whole
