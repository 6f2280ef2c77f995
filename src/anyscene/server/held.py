"""The bytes of all bodies and frames in hand, which are bounded together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Gauge

from anyscene.server.asks import Refusal


class Held:
    """Bytes that are being read, wait or are served. most : how many there may be. shown : tells of them."""

    def __init__(self, most: int, shown: Gauge) -> None:
        self._most, self._shown = most, shown
        self._bytes = 0

    def add(self, count: int) -> None:
        """Take more bytes in hand; raise a Refusal if they are too many."""
        if self._bytes + count > self._most:
            raise Refusal(429, "busy", "the server holds too many large requests; try again", 1)
        self._set(self._bytes + count)

    def remove(self, count: int) -> None:
        """So many bytes are not in hand any more."""
        self._set(self._bytes - count)

    @contextmanager
    def holding(self, data: bytes) -> Iterator[None]:
        """Have bytes in hand until the block ends."""
        self.add(len(data))
        try:
            yield
        finally:
            self.remove(len(data))

    def _set(self, count: int) -> None:
        self._bytes = count
        self._shown.set(count)
