"""Locks and threads around a fork: a child has none of the threads, and nobody who would free the locks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from threading import Condition, RLock
from typing import Any, Protocol
from weakref import WeakSet

PATIENCE_SECONDS = 5.0
"""A fork waits at most so long for libraries to leave calls in which they hold locks."""


class Renewable(Protocol):
    """What holds locks or threads, and can make them anew."""

    def _renew(self) -> None: ...


_renewable: WeakSet[Renewable] = WeakSet()


def renew_after_fork(owner: Renewable) -> None:
    """Let an object make its locks and threads anew in every child that this process forks."""
    _renewable.add(owner)


class _Gate:
    """Keeps forks and calls into libraries apart, whose locks we cannot make anew."""

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._forks = 0

    @contextmanager
    def passed(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._forks)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                if self._forks:
                    self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._forks += 1
            self._changed.wait_for(lambda: not self._inside, PATIENCE_SECONDS)

    def open(self) -> None:
        with self._changed:
            self._forks -= 1
            self._changed.notify_all()


_gate = _Gate()


def never_forked() -> AbstractContextManager[None]:
    """Let no fork happen inside the block, which calls a library that holds locks while it works."""
    return _gate.passed()


def _renew_all() -> None:
    _gate._renew()
    for owner in list(_renewable):
        owner._renew()
    for cached in _our_cached_properties():
        if hasattr(cached, "lock"):  # up to Python 3.11, one for all objects of a class
            cached.lock = RLock()


def _our_cached_properties() -> Iterator[Any]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "anyscene":
            for kind in vars(module).values():
                if isinstance(kind, type):
                    yield from (part for part in vars(kind).values() if isinstance(part, cached_property))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_gate.close, after_in_parent=_gate.open, after_in_child=_renew_all)
