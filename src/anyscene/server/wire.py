"""Messages between the listening process and a worker: a small JSON head and a body of bytes.

Both ends are ours and run on one machine, so numbers are in the machine's own order.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable
from typing import Any

_LENGTHS = struct.Struct("=II")

NUMBER = struct.Struct("=Q")
"""What tells a worker which request is to give way."""

BUFFER_BYTES = 2**20
"""Of the sockets: a usual picture then passes without waiting for the other side."""


def pack(head: dict[str, Any], body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    text = json.dumps(head).encode()
    return b"".join((_LENGTHS.pack(len(text), len(body)), text, body))


def connected_pair() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a connection."""
    ends = socket.socketpair()
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    return ends


def receive(end: socket.socket) -> tuple[dict[str, Any], bytearray]:
    """Wait for the next message; raise an EOFError when the other side is gone."""
    head_length, body_length = _LENGTHS.unpack(_exactly(end, _LENGTHS.size))
    head = json.loads(_exactly(end, head_length))
    return head, _exactly(end, body_length)


def _exactly(end: socket.socket, length: int) -> bytearray:
    data = bytearray(length)
    rest = memoryview(data)
    while rest:
        count = end.recv_into(rest)
        if not count:
            raise EOFError
        rest = rest[count:]
    return data


class Reader:
    """Takes messages out of bytes as they come."""

    def __init__(self, on_message: Callable[[dict[str, Any], bytes], None]) -> None:
        self._on_message = on_message
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Take more bytes; hand over each message that they complete."""
        self._data += data
        while len(self._data) >= _LENGTHS.size:
            head_length, body_length = _LENGTHS.unpack_from(self._data)
            middle = _LENGTHS.size + head_length
            end = middle + body_length
            if len(self._data) < end:
                return
            head, body = json.loads(self._data[_LENGTHS.size : middle]), bytes(self._data[middle:end])
            del self._data[:end]
            self._on_message(head, body)
