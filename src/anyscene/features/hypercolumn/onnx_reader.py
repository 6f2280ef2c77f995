"""Reads ONNX graphs without running them: only as much of the format as our own networks use.

The format is Protocol Buffers; numbers of fields are those of onnx.proto. A field that no network of ours has
is an error: so nothing in a graph can name a file, a library or a graph within it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

MODEL = {1: "ir_version", 2: "producer_name", 3: "producer_version", 7: "graph", 8: "opset_import"}
OPSET = {1: "domain", 2: "version"}
GRAPH = {1: "node", 2: "name", 5: "initializer", 11: "input", 12: "output"}
NODE = {1: "input", 2: "output", 3: "name", 4: "op_type", 5: "attribute"}
ATTRIBUTE = {1: "name", 3: "i", 4: "s", 8: "ints", 20: "type"}
TENSOR = {1: "dims", 2: "data_type", 8: "name", 9: "raw_data"}
VALUE = {1: "name", 2: "type"}

KINDS = {2: "i", 3: "s", 7: "ints"}
"""Types of attributes, and the fields that hold them."""

DTYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<f4"), 7: np.dtype("<i8"), 10: np.dtype("<f2")}
"""What constants may hold: single and half precision, and 64-bit integers."""


@dataclass(frozen=True)
class Node:
    """One operation. attributes : integers, lists of integers, and bytes, by name."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Graph:
    """A network: its operations in order, its constants, and the names of what goes in and comes out."""

    nodes: tuple[Node, ...]
    constants: dict[str, NDArray[Any]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass
class _Message:
    """Fields of a message, each as often as it was given."""

    values: dict[str, list[Any]] = field(default_factory=dict)

    def all(self, name: str) -> list[Any]:
        return self.values.get(name, [])

    def text(self, name: str) -> str:
        return str(self.one(name, b""), "utf-8")

    def one(self, name: str, default: Any = None) -> Any:
        found = self.all(name)
        if len(found) > 1 or (not found and default is None):
            raise ValueError(f"'{name}' is there {len(found)} times")
        return found[0] if found else default

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of integers; its parts may be packed."""
        parts = ([part] if isinstance(part, int) else _varints(part) for part in self.all(name))
        return tuple(_signed(value) for part in parts for value in part)


def read_graph(data: bytes) -> Graph:
    """Read a serialised ONNX model; a ValueError says what no network of ours has."""
    model = _read(memoryview(data), MODEL)
    for raw in model.all("opset_import"):
        if _read(raw, OPSET).text("domain"):
            raise ValueError("it needs operators of others")
    graph = _read(model.one("graph"), GRAPH)
    constants = [_read_constant(raw) for raw in graph.all("initializer")]
    inputs, outputs = (
        tuple(_read(raw, VALUE).text("name") for raw in graph.all(side)) for side in ("input", "output")
    )
    names = [*inputs, *(name for name, _ in constants)]
    if len(set(names)) < len(names):
        raise ValueError("two of its inputs and constants have the same name")
    return Graph(tuple(_read_node(raw) for raw in graph.all("node")), dict(constants), inputs, outputs)


def _read_node(raw: memoryview) -> Node:
    node = _read(raw, NODE)
    attributes: dict[str, Any] = {}
    for part in node.all("attribute"):
        attribute = _read(part, ATTRIBUTE)
        name, kind = attribute.text("name"), KINDS.get(attribute.one("type"), "")
        if name in attributes or attribute.values.keys() != {"name", "type", kind}:
            raise ValueError("a setting of an operation is not what it says")
        values = attribute.integers(kind) if kind != "s" else bytes(attribute.one("s"))
        attributes[name] = values[0] if kind == "i" else values
    inputs, outputs = (tuple(str(name, "utf-8") for name in node.all(side)) for side in ("input", "output"))
    return Node(node.text("op_type"), inputs, outputs, attributes)


def _read_constant(raw: memoryview) -> tuple[str, NDArray[Any]]:
    tensor = _read(raw, TENSOR)
    kind, shape = DTYPES.get(tensor.one("data_type")), tensor.integers("dims")
    values = tensor.one("raw_data", b"")
    if kind is None or min(shape, default=1) < 0 or prod(shape) * kind.itemsize != len(values):
        raise ValueError("the size of a constant is not that of its values")
    return tensor.text("name"), np.frombuffer(values, kind).reshape(shape)


def _read(data: memoryview, names: dict[int, str]) -> _Message:
    message = _Message()
    for number, value in _fields(data):
        if number not in names:
            raise ValueError(f"it has a field {number} where our networks have {', '.join(names.values())}")
        message.values.setdefault(names[number], []).append(value)
    return message


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message: integers as they are, anything longer as bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise ValueError("it was cut short")
            yield number, data[at : at + size]
            at += size
        else:
            raise ValueError("it has numbers of a kind that our networks do not have")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("it was cut short")
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value & (2**64 - 1), at
    raise ValueError("it has an endless number")


def _varints(data: memoryview) -> list[int]:
    values, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value
