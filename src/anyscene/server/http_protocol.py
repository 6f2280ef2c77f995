"""Uvicorn's HTTP connection with limits of our own, and with the moment in which a request was complete."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

ARRIVED, TRANSPORT = "anyscene.arrived", "anyscene.transport"
"""Where a request's scope has the moment of its last byte, and the connection that it came by."""

MOST_HEAD_BYTES = 32 * 1024
"""Uvicorn has no limit for the head of a request."""


class LimitedHttp(HttpToolsProtocol):
    """A connection that does not wait for ever: for a head, or for a client that takes no answer."""

    header_seconds: float
    send_seconds: float

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes: int | None = None  # of the head that is being read; None between requests

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first request."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._head_arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take more bytes, and close the connection if a head grows too large."""
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > MOST_HEAD_BYTES:
            self._head_arrived()
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        if self._head_bytes is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        """The head of a request is complete."""
        self._head_arrived()
        self.scope[TRANSPORT] = self.transport  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The whole request is there."""
        self.scope[ARRIVED] = time.perf_counter()  # type: ignore[literal-required]
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; one whose client takes no answer, too."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(self.send_seconds, self.transport.abort)

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(self.header_seconds, self._head_is_late)

    def _head_arrived(self) -> None:
        self._head_bytes = None
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()


def http_class(header_seconds: float, send_seconds: float) -> type[LimitedHttp]:
    """Return the protocol with its limits."""
    return type(
        "LimitedHttp", (LimitedHttp,), {"header_seconds": header_seconds, "send_seconds": send_seconds}
    )
