"""What every request passes first: who it addresses, where it comes from, whether it has the token.

Any web page can make a browser send requests to loopback, so `Host` and `Origin` are checked there, too.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable, Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anyscene.server.asks import Refusal
from anyscene.server.config import Settings, is_loopback
from anyscene.server.responses import refusal_response

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"})
"""What may be asked without a token, beside the page's own files: whether the server is well."""

TOKEN_PROTOCOL = "anyscene.token."
"""Browsers cannot set headers of WebSockets; a subprotocol that begins so carries the token."""

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "media-src 'self' blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(self), microphone=(), geolocation=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Security:
    """ASGI middleware.

    open_files : paths of the page's files, which hold no secrets and need no token. on_refused : is told the
    reason whenever somebody is turned away.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, open_files: Iterable[str], on_refused: Callable[[str], None]
    ) -> None:
        self._app = app
        self._on_refused = on_refused
        self._settings = settings
        self._open = OPEN_PATHS | set(open_files)
        self._names = {"localhost", *settings.hosts}
        secure = {"strict-transport-security": "max-age=86400"} if settings.certfile else {}
        self._raw = [(name.encode(), value.encode()) for name, value in (HEADERS | secure).items()]
        if not is_loopback(settings.host):
            self._names.add(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        is_friend = origin in self._settings.origins
        try:
            self._check_host(headers)
            self._check_origin(headers, scope, is_friend)
            if scope["type"] == "http" and scope["method"] == "OPTIONS" and is_friend:
                await _preflight()(scope, receive, self._sending(send, origin))
                return
            self._check_token(headers, scope)
        except Refusal as refusal:
            self._on_refused(refusal.reason)
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008})  # before it was accepted: HTTP 403
            else:
                await refusal_response(refusal)(
                    scope, receive, self._sending(send, origin if is_friend else None)
                )
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, self._sending(send, origin if is_friend else None))

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        name = _host_name(hosts[0]) if len(hosts) == 1 else None
        if name is None or not self._is_ours(name):
            raise Refusal(
                421, "forbidden", "the Host header does not name this server; --allow-host adds names to it"
            )

    def _is_ours(self, name: str) -> bool:
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # A page from elsewhere cannot pretend to be an address: only names can be pointed at others.
        return address.is_loopback or not is_loopback(self._settings.host)

    def _check_origin(self, headers: Headers, scope: Scope, is_friend: bool) -> None:
        origin = headers.get("origin")
        if is_friend:
            return
        scheme = {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])
        forwarded = headers.get("x-forwarded-proto") if self._settings.hosts else None
        own = {f"{scheme}://{headers['host']}", f"{forwarded or scheme}://{headers['host']}"}
        is_foreign = origin is not None and origin.lower() not in {one.lower() for one in own}
        is_cross = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if is_foreign or (is_cross and scope.get("method") not in ("GET", "HEAD")):
            raise Refusal(
                403, "forbidden", "web pages from elsewhere may not use this server; --allow-origin adds some"
            )

    def _check_token(self, headers: Headers, scope: Scope) -> None:
        token = self._settings.token
        if token is None or scope["path"] in self._open:
            return
        given = headers.get("authorization", "").partition(" ")[2].strip()
        if scope["type"] == "websocket" and not given:
            offered = [word.strip() for word in headers.get("sec-websocket-protocol", "").split(",")]
            given = next((word for word in offered if word.startswith(TOKEN_PROTOCOL)), "")
            given = given.removeprefix(TOKEN_PROTOCOL)
        if not hmac.compare_digest(given.encode(), token.encode()):
            raise Refusal(401, "forbidden", "this server needs its token: Authorization: Bearer TOKEN")

    def _sending(self, send: Send, friend: str | None) -> Send:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._raw]
                if friend:
                    headers = MutableHeaders(scope=message)
                    headers["access-control-allow-origin"] = friend
                    headers["cross-origin-resource-policy"] = "cross-origin"
                    headers["access-control-expose-headers"] = "*, Server-Timing, Retry-After"
                    headers.append("vary", "Origin")
            await send(message)

        return with_headers


def _preflight() -> ASGIApp:
    return Response(
        status_code=204,
        headers={
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": "Authorization, Content-Type, Accept, X-Request-Deadline-Ms",
            "access-control-max-age": "600",
        },
    )


def _host_name(host: str) -> str | None:
    """The name in a Host header, without its port; None if it is none."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        return name if bracket and (not port or port[1:].isdigit()) else None
    name, _, port = host.partition(":")
    return name.lower() if name and (not port or port.isdigit()) else None
