"""Uvicorn's connections with limits of our own, and with the moment in which a request was complete."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from anyscene.server.config import Limits

ARRIVED, TRANSPORT = "anyscene.arrived", "anyscene.transport"
"""Where a request's scope has the moment of its last byte, and the connection that it came by."""

MOST_HEAD_BYTES = 32 * 1024
"""Uvicorn has no limit for the head of a request."""


FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: 76\r\n"
    b"retry-after: 1\r\nconnection: close\r\n\r\n"
    b'{"error":"the server has too many connections; try again","reason":"busy"}\r\n'
)
"""What a connection beyond the last gets, whatever it asks for."""

LINGER_SECONDS = 1.0
"""So long such a client may read it: closing at once would take it away from one who is still sending."""


class _Sending(asyncio.Protocol):
    """A connection that is cut off if its client does not take what is sent.

    Closing alone would not do: a closed connection stays until all is sent, which may be never.
    """

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    send_seconds: float
    _send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be told of every byte that waits: by default only of more than 64 KiB."""
        cast(asyncio.Transport, transport).set_write_buffer_limits(high=1, low=0)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing waits any more."""
        self._stop_send_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Bytes wait for the client."""
        super().pause_writing()
        self._send_timer = self.loop.call_later(self.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has taken all."""
        self._stop_send_timer()
        super().resume_writing()

    def _stop_send_timer(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None


class LimitedHttp(_Sending, HttpToolsProtocol):
    """A connection that does not wait for ever: for a head, or for a client that takes no answer.

    most_connections : further ones are turned away unread. Uvicorn's own limit would let them pile up, with
    all that they send.
    """

    header_seconds: float
    most_connections: int

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes: int | None = None  # of the head that is being read; None between requests
        self._is_surplus = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first request."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self.connections.discard(self)
            self._is_surplus = True
            transport.write(FULL)
            self.loop.call_later(LINGER_SECONDS, transport.abort)
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._head_arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take more bytes, and close the connection if a head grows too large."""
        if self._is_surplus:
            return
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

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over; what waits to be sent is the other's concern."""
        self._stop_send_timer()
        super().handle_websocket_upgrade()

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


class LimitedLive(_Sending, WebSocketsSansIOProtocol):
    """A live stream whose client is cut off if it takes no labels."""


def live_class(limits: Limits) -> type[LimitedLive]:
    """Return the protocol of live streams with its limit."""
    return type("LimitedLive", (LimitedLive,), {"send_seconds": limits.send_seconds})


def http_class(limits: Limits) -> type[LimitedHttp]:
    """Return the protocol with its limits."""
    chosen = {
        "header_seconds": limits.header_seconds,
        "send_seconds": limits.send_seconds,
        "most_connections": limits.connections,
    }
    return type("LimitedHttp", (LimitedHttp,), chosen)
