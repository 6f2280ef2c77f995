"""The server's own HTTP interface: labels, models, health, counters, and the page."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

import anyscene
from anyscene.server import metrics
from anyscene.server.asks import Refusal, fields_from, form_from, picture_from, wish_from
from anyscene.server.bodies import body_of
from anyscene.server.http_protocol import TRANSPORT
from anyscene.server.page_files import page_files
from anyscene.server.responses import failed_response, label_response, refusal_response
from anyscene.server.service import Answer, Service

Handler = Callable[[Request], Awaitable[Response]]


def routes(service: Service) -> list[BaseRoute]:
    """All routes of the server's own interface."""

    async def models(_: Request) -> Response:
        default = service.settings.default_model
        listed = [
            {"name": name, "default": name == default, "classes": _classes(about)}
            for name, about in service.models.items()
        ]
        return JSONResponse({"models": listed, "version": anyscene.__version__})

    async def ready(_: Request) -> Response:
        is_ready = bool(service.ready_links) and not service.is_stopping
        return PlainTextResponse("ready\n" if is_ready else "not ready\n", 200 if is_ready else 503)

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def counters(_: Request) -> Response:
        return Response(service.metrics.text(), media_type=metrics.MEDIA_TYPE)

    return [
        Route("/v1/label", LabelingEndpoint(service, "/v1/label", _label), methods=["POST"]),
        Route("/v1/models", counted(service, "/v1/models", models)),
        Route("/healthz", healthy),
        Route("/readyz", ready),
        Route("/metrics", counters),
        *(_file_route(path, *file) for path, file in page_files().items()),
    ]


def _classes(about: dict[str, list[object]]) -> list[dict[str, object]]:
    pairs = zip(about["classes"], about["palette"], strict=True)
    return [{"id": index, "name": name, "color": color} for index, (name, color) in enumerate(pairs)]


def _file_route(path: str, file: Path, media: str) -> Route:
    data = file.read_bytes()

    async def serve(_: Request) -> Response:
        return Response(data, media_type=media, headers={"cache-control": "no-cache"})

    return Route(path, serve)


def counted(service: Service, route: str, handler: Handler) -> Handler:
    """Wrap a handler: its requests are counted, and whatever it raises becomes a response."""

    async def handle(request: Request) -> Response:
        try:
            response = await handler(request)
        except Refusal as refusal:
            service.metrics.note_refused(refusal.reason)
            response = refusal_response(refusal)
        except Exception as error:
            service.metrics.note_refused("failed")
            response = failed_response(error)
        service.metrics.requests.labels(route, response.status_code).inc()
        return response

    return handle


def is_gone(request: Request) -> Callable[[], bool]:
    """A function that tells whether the client of a request has left."""
    transport = request.scope.get(TRANSPORT)
    return transport.is_closing if transport else lambda: False


class LabelingEndpoint:
    """An ASGI application that answers with labels: it notes when the last byte was handed over.

    route : what its requests are counted as. answer : labels what a request asks for, and makes the response.
    """

    def __init__(
        self,
        service: Service,
        route: str,
        answer: Callable[[Service, Request], Awaitable[tuple[Answer, Response]]],
    ) -> None:
        self._service = service
        self._route = route
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        handed: list[Answer] = []

        async def handler(request: Request) -> Response:
            answer, response = await self._answer(self._service, request)
            handed.append(answer)
            return response

        response = await counted(self._service, self._route, handler)(Request(scope, receive))
        await response(scope, receive, send)
        for answer in handed:
            self._service.note_handed(answer)


async def _label(service: Service, request: Request) -> tuple[Answer, Response]:
    """Answer `POST /v1/label`."""
    async with body_of(request, service) as body:
        fields = fields_from(request.query_params)
        data, kind = body.data, request.headers.get("content-type", "")
        if kind.startswith("multipart/form-data"):
            data, given = form_from(kind, body.data)
            fields |= given
        wish = wish_from(fields, request.headers, service.models, service.settings.default_model)
        picture = picture_from(data, service.settings.limits.pixels)
        answer = await service.label(wish, picture, body.arrived, is_gone(request))
    return answer, label_response(answer, is_met(answer))


def is_met(answer: Answer) -> bool | None:
    """Tell whether an answer that is sent now keeps its deadline; None if it has none."""
    deadline = answer.job.deadline
    return None if deadline == float("inf") else time.perf_counter() <= deadline
