"""`anyscene serve`: label over HTTP, by the deadline, with a page to try it on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anyscene.apps.stopping import leave_signals_to_others
from anyscene.errors import ConfigError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME|FILE",
            help="One that ships (`anyscene models`) or a .anyscene file; may be given several times.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; the default is this machine only.")] = (
        "127.0.0.1"
    ),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any that is free.")
    ] = 8000,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that label; default: one less than there are cores.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="ANYSCENE_TOKEN", show_envvar=True, help="What requests must present."),
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Let anyone in who reaches an address beyond this machine.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name that requests may address this server by, as a proxy's."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A web site whose pages may use this server (CORS)."),
    ] = None,
    certfile: Annotated[Path | None, typer.Option(help="Certificate for TLS, as PEM.")] = None,
    keyfile: Annotated[Path | None, typer.Option(help="Private key for TLS, as PEM.")] = None,
) -> None:
    """Label pictures over HTTP: each request gets the best labels that are there by its deadline.

    There is a page to try it on at /, and the interface is described at /docs. Ctrl-C or SIGTERM ends the
    server when it has finished what it took.
    """
    try:
        from anyscene.server import config, running
    except ModuleNotFoundError as error:
        raise ConfigError(f"the server needs {error.name}; pip install 'anyscene[server]'") from None

    settings = config.Settings(
        models=_models(model or []),
        host=host,
        port=port,
        workers=workers or max(1, len(os.sched_getaffinity(0)) - 1),
        token=token,
        hosts=tuple(name.lower() for name in allow_host or ()),
        origins=tuple(allow_origin or ()),
        certfile=certfile,
        keyfile=keyfile,
    )
    config.check(settings, no_auth)
    leave_signals_to_others()  # the server finishes what it took, however long that takes
    with Console(stderr=True).status("loading models; a first use measures this machine") as spinner:

        def announce(address: str) -> None:
            spinner.stop()
            typer.echo(f"listening on {address} (Ctrl-C ends it)")

        running.run(settings, announce)


def _models(given: list[str]) -> dict[str, Path]:
    """The files of models, by the names that requests use."""
    from anyscene.engine.loading import DEFAULT_MODEL, find_model

    found: dict[str, Path] = {}
    for text in given or [DEFAULT_MODEL]:
        path = find_model(text).resolve()
        if path.stem in found:
            raise ConfigError(f"two models would be called '{path.stem}'; rename one of the files")
        found[path.stem] = path
    return found
