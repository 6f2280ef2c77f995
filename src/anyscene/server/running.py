"""Running a server: from its settings to a listening socket, and from a signal to an orderly end."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import ssl
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import WebSocketRoute

from anyscene.errors import ConfigError
from anyscene.server import inference_v2, routes
from anyscene.server.asks import Refusal
from anyscene.server.config import Settings
from anyscene.server.http_protocol import http_class, live_class
from anyscene.server.live import LiveEndpoint
from anyscene.server.page_files import page_files
from anyscene.server.responses import failed_response, refusal_response
from anyscene.server.security import Security
from anyscene.server.service import Service
from anyscene.server.turns import take_short_turns

GRACE_SECONDS = 30
"""What was taken is finished within this time when the server stops."""


def make_app(service: Service) -> Starlette:
    """Put the routes of a server together."""
    return Starlette(
        routes=[
            *routes.routes(service),
            *inference_v2.routes(service),
            WebSocketRoute("/v1/live", LiveEndpoint(service).serve),
        ],
        middleware=[Middleware(Security, service.settings, page_files(), service.metrics.note_refused)],
        exception_handlers={HTTPException: _plain, Exception: _failed},
    )


async def _plain(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refusal_response(Refusal(error.status_code, "wrong", error.detail))


async def _failed(_: Request, error: Exception) -> Response:
    return failed_response(error)


def bind(settings: Settings) -> socket.socket:
    """Take the address before anything else: loading models takes seconds, a taken port shows at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named, or asyncio does not switch off Nagle's algorithm: the end of an answer would wait for 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((settings.host, settings.port))
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; choose another --port"
        ) from None
    return bound


def address_of(settings: Settings, bound: socket.socket) -> str:
    """The URL that a server answers at."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{settings.scheme}://{host}:{bound.getsockname()[1]}"


def run(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until a signal ends it. announce : is told the address when models are loaded."""
    bound = bind(settings)
    try:
        asyncio.run(_serve(settings, bound, announce))
    finally:
        bound.close()


async def _serve(settings: Settings, bound: socket.socket, announce: Callable[[str], None]) -> None:
    service = Service(settings)
    server = _Server(_uvicorn_config(settings, service), service)
    with server.capture_signals():
        try:
            starting = asyncio.create_task(service.start())
            while not starting.done() and not server.should_exit:
                await asyncio.wait([starting], timeout=0.1)
            if server.should_exit:
                starting.cancel()
                return
            await starting
            take_short_turns()
            gc.collect()
            gc.freeze()  # collections then need not look at what stays anyway
            serving = asyncio.create_task(server._serve([bound]))
            while not server.started and not serving.done():
                await asyncio.sleep(0.01)
            announce(address_of(settings, bound))
            await serving
        finally:
            await service.stop()
            server._captured_signals.clear()  # they were heeded: Uvicorn would raise them once more


def _uvicorn_config(settings: Settings, service: Service) -> uvicorn.Config:
    limits = settings.limits
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # hostile requests must not fill the disk
    config = uvicorn.Config(
        make_app(service),
        http=http_class(limits),
        ws=live_class(limits),
        ws_max_size=limits.frame_bytes,
        ws_max_queue=2,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=settings.certfile,
        ssl_keyfile=settings.keyfile,
    )
    try:
        config.load()
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(
            f"{settings.certfile} and {settings.keyfile} are not a certificate and its key: {error}"
        ) from None
    return config


class _Server(uvicorn.Server):
    """Uvicorn's server, which tells the service about signals."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen as Uvicorn does, with a limit for TLS handshakes, which it has no setting for."""
        config, loop = self.config, asyncio.get_running_loop()
        await self.lifespan.startup()
        tls: dict[str, Any] = {}
        if config.ssl is not None:
            seconds = self._service.settings.limits.header_seconds
            tls = {"ssl": config.ssl, "ssl_handshake_timeout": seconds}

        def protocol() -> asyncio.Protocol:
            return config.http_protocol_class(  # type: ignore[call-arg]
                config=config, server_state=self.server_state, app_state=self.lifespan.state
            )

        self.servers = [
            await loop.create_server(protocol, sock=bound, backlog=config.backlog, **tls)
            for bound in sockets or ()
        ]
        self.started = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish what was taken and refuse the rest; a second signal ends at once."""
        self._service.is_stopping = True
        super().handle_exit(sig, frame)
