"""Just enough of Protocol Buffers to write ONNX graphs that no exporter would write."""

import struct


def varint(value: int) -> bytes:
    """Return an integer as the format writes it."""
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes | str) -> bytes:
    """Return a field of a message: an integer, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(kind: str, inputs: list[str], output: str, *more: bytes) -> bytes:
    """Return an operation, as a field of a graph."""
    body = b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind)
    return field(1, body + b"".join(more))


def floats(name: str, shape: list[int], values: list[float]) -> bytes:
    """Return a constant, as a field of a graph."""
    dims = b"".join(field(1, side) for side in shape)
    raw = struct.pack(f"<{len(values)}f", *values)
    return field(5, dims + field(2, 1) + field(8, name) + field(9, raw))


def value(number: int, name: str, kind: int, shape: list[int | str]) -> bytes:
    """Return the type of an input (11) or an output (12), as a field of a graph."""
    dims = b"".join(field(1, field(1 if isinstance(side, int) else 2, side)) for side in shape)
    return field(number, field(1, name) + field(2, field(1, field(1, kind) + field(2, dims))))


def model(*parts: bytes, more: bytes = b"") -> bytes:
    """Return a model whose graph has the inputs and the output of ours, and these parts."""
    sides = [
        value(11, "image", 2, ["h", "w", 3]),
        value(11, "head", 1, ["k", 96, 1, 1]),
        value(11, "bias", 1, ["k"]),
        value(12, "scores", 1, ["a", "b", "c"]),
    ]
    return field(1, 8) + field(7, b"".join([*parts, field(2, "g"), *sides])) + field(8, field(2, 17)) + more
