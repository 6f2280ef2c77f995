"""`WS /v1/live`: frames in, labels out, all frames of a connection by one worker.

The client sends each frame as a binary message. For each it gets a text message (JSON: the frame's number,
what was done, or why there are no labels) and, if there are labels, a binary message after it. While a frame
is on its way only the latest of those that follow is kept: labels of old frames help nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from dataclasses import dataclass
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from anyscene.server.asks import Refusal, Wish, fields_from, picture_from, wish_from
from anyscene.server.routes import is_met
from anyscene.server.security import TOKEN_PROTOCOL
from anyscene.server.service import Answer, Service


@dataclass(frozen=True)
class Frame:
    """A frame that came. number : how many came before it."""

    number: int
    data: bytes
    arrived: float


class LiveEndpoint:
    """The WebSocket's handler."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open = 0

    async def serve(self, socket: WebSocket) -> None:
        """Serve one connection until it closes."""
        service = self._service
        try:
            fields = fields_from(socket.query_params)
            wish = wish_from(fields, socket.headers, service.models, service.settings.default_model)
            if wish.until is not None:
                raise Refusal(400, "wrong", "until is for single pictures; a live stream has a budget only")
            if self._open >= service.settings.limits.live:
                raise Refusal(429, "busy", f"there are {self._open} live streams already; try again")
            if service.is_stopping or not service.ready_links:
                raise Refusal(503, "no worker", "no worker is ready; try again")
        except Refusal as refusal:
            await socket.accept(subprotocol=_subprotocol(socket))
            await socket.send_json({"error": refusal.message, "reason": refusal.reason})
            await socket.close(1013 if refusal.status in (429, 503) else 1008)
            return
        await socket.accept(subprotocol=_subprotocol(socket))
        self._open += 1
        service.metrics.live.inc()
        session = secrets.token_hex(8)
        places = [place for place, link in enumerate(service.links) if link.is_ready]
        place = places[self._open % len(places)]
        try:
            await self._stream(socket, wish, session, place)
        finally:
            self._open -= 1
            service.metrics.live.dec()
            service.close_session(session, place)

    async def _stream(self, socket: WebSocket, wish: Wish, session: str, place: int) -> None:
        latest: asyncio.Queue[Frame | None] = asyncio.Queue(1)
        reading = asyncio.create_task(_read(socket, latest))
        try:
            while (frame := await latest.get()) is not None:
                answer = await self._label(wish, frame, session, place)
                if isinstance(answer, Refusal):
                    self._service.metrics.note_refused(answer.reason)
                    await socket.send_json(
                        {"frame": frame.number, "error": answer.message, "reason": answer.reason}
                    )
                else:
                    await socket.send_json({"frame": frame.number, **_told(answer)})
                    await socket.send_bytes(answer.body)
                    self._service.note_handed(answer)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client has left, or took no answers and was cut off
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                await reading
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await socket.close()

    async def _label(self, wish: Wish, frame: Frame, session: str, place: int) -> Answer | Refusal:
        service = self._service
        try:
            picture = picture_from(frame.data, service.settings.limits.pixels)
            is_there = service.links[place].is_ready
            bound = (session, place) if is_there else None
            with service.held.holding(frame.data):
                return await service.label(wish, picture, frame.arrived, lambda: False, bound)
        except Refusal as refusal:
            return refusal


async def _read(socket: WebSocket, latest: asyncio.Queue[Frame | None]) -> None:
    """Keep the latest frame that came; None when the client has left."""
    number = 0
    with contextlib.suppress(WebSocketDisconnect, KeyError, RuntimeError):
        while True:
            data = await socket.receive_bytes()
            _put(latest, Frame(number, data, time.perf_counter()))
            number += 1
    _put(latest, None)


def _put(latest: asyncio.Queue[Frame | None], frame: Frame | None) -> None:
    if latest.full():
        latest.get_nowait()
    latest.put_nowait(frame)


def _subprotocol(socket: WebSocket) -> str | None:
    """Browsers close a connection whose server picks none of the protocols that they offered."""
    offered = socket.scope.get("subprotocols", [])
    return next((word for word in offered if word.startswith(TOKEN_PROTOCOL)), None)


def _told(answer: Answer) -> dict[str, Any]:
    head = answer.head
    return {
        "stages_ms": {name: round(ms, 3) for name, ms in answer.stages.items()},
        "size": head["size"],
        "plan": head["plan"],
        "steps_ms": head["steps"],
        "confidence": head["confidence"],
        "is_prior": head["is_prior"],
        "label_budget_ms": head["budget_ms"],
        "age_ms": head["age_ms"],
        "deadline_met": is_met(answer),
    }
