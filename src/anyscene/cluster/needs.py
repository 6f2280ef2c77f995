"""What jobs over many images need beside anyscene itself, and what to say where it is not installed."""

from __future__ import annotations

from importlib.util import find_spec

from anyscene.errors import ConfigError

WHAT_FOR = {"ray": "labeling on a cluster", "pyarrow": "labeling by URI"}


def require(package: str) -> None:
    """Raise unless an optional package is installed."""
    if find_spec(package) is None:
        raise ConfigError(
            f"{WHAT_FOR[package]} needs {package}, which is not installed; pip install 'anyscene[ray]'"
        )
