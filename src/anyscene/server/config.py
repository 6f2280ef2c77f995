"""What a server is told when it starts, and the limits that keep it alive."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from anyscene.errors import ConfigError

MEBI = 2**20


@dataclass(frozen=True)
class Limits:
    """What a request, and all of them together, may take.

    body_bytes : the largest request body.
    frame_bytes : the largest frame of a live stream.
    pixels : the largest picture, judged by its header before it is decoded.
    header_seconds : the time for the head of a request to arrive, and for a TLS handshake.
    body_seconds : the time for a body to arrive.
    send_seconds : the time for a client to take an answer.
    job_seconds : a worker that takes this much longer than its deadline is replaced.
    patience_ms : how long a request without a deadline may wait.
    queue_length, queue_bytes : requests that wait, and bytes of all bodies in hand.
    connections : how many are open at once.
    live : how many of them may be live streams.
    """

    body_bytes: int = 32 * MEBI
    frame_bytes: int = 8 * MEBI
    pixels: int = 50_000_000
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    send_seconds: float = 20.0
    job_seconds: float = 10.0
    patience_ms: float = 2000.0
    queue_length: int = 256
    queue_bytes: int = 256 * MEBI
    connections: int = 512
    live: int = 32


@dataclass(frozen=True)
class Settings:
    """How a server runs.

    models : model files by the names that requests use; the first is the default.
    token : what requests must present, or None if they need not.
    hosts : names that requests may address the server by, beside its own address.
    origins : web pages from elsewhere that may use the server (CORS).
    """

    models: dict[str, Path]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    token: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    certfile: Path | None = None
    keyfile: Path | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def default_model(self) -> str:
        """The name of the model that labels when a request names none."""
        return next(iter(self.models))

    @property
    def scheme(self) -> str:
        """What addresses of this server begin with."""
        return "https" if self.certfile else "http"


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check(settings: Settings, no_auth: bool) -> None:
    """Raise a ConfigError if a server must not run with these settings."""
    if not is_loopback(settings.host) and settings.token is None and not no_auth:
        raise ConfigError(
            f"--host {settings.host} can be reached from other machines; give a --token that requests must "
            "present, or --no-auth if anyone may use this server"
        )
    if settings.token is not None and len(settings.token) < 16:
        raise ConfigError(
            f"the token has {len(settings.token)} characters and could be guessed; use at least 16, such as "
            "the output of `openssl rand -hex 16`"
        )
    if (settings.certfile is None) != (settings.keyfile is None):
        raise ConfigError("TLS needs both --certfile and --keyfile; give the other one, too")
    for file in filter(None, (settings.certfile, settings.keyfile)):
        if not file.is_file():
            raise ConfigError(f"{file}: there is no such file; check the path")
    for origin in settings.origins:
        if not origin.startswith(("http://", "https://")) or origin.count("/") != 2:
            raise ConfigError(f"an origin is written like https://example.org, found '{origin}'")
