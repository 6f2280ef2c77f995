"""Reading a request's body: bounded in bytes and time, and all bodies together in bytes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request

from anyscene.server.asks import Refusal
from anyscene.server.config import MEBI
from anyscene.server.http_protocol import ARRIVED
from anyscene.server.service import Service


@dataclass(frozen=True)
class Body:
    """What a request brought. arrived : when its last byte was there."""

    data: bytes
    arrived: float


@asynccontextmanager
async def body_of(request: Request, service: Service) -> AsyncIterator[Body]:
    """Read the body of a request; its bytes count among those in hand until the block ends."""
    limits = service.settings.limits
    announced = request.headers.get("content-length", "0")
    if not announced.isdigit() or int(announced) > limits.body_bytes:
        raise _too_large(limits.body_bytes)
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refusal(415, "wrong", "bodies are taken as they are, without a Content-Encoding")
    data, held = bytearray(), 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in request.stream():
                if len(data) + len(chunk) > limits.body_bytes:
                    raise _too_large(limits.body_bytes)
                service.held.add(len(chunk))
                held += len(chunk)
                data += chunk
        yield Body(bytes(data), request.scope.get(ARRIVED) or time.perf_counter())
    except TimeoutError:
        raise Refusal(
            408, "slow", f"the body of the request did not arrive within {limits.body_seconds:g} s"
        ) from None
    except ClientDisconnect:
        raise Refusal(400, "gone", "the client left before its request was complete") from None
    finally:
        service.held.remove(held)


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too large", f"the body is too large; at most {most // MEBI} MiB are taken")
