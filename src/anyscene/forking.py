"""Locks and threads after a fork: a child has none of the threads, and nobody who would free the locks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cached_property
from threading import RLock
from typing import Any, Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """What holds locks or threads, and can make them anew."""

    def _renew(self) -> None: ...


_renewable: WeakSet[Renewable] = WeakSet()


def renew_after_fork(owner: Renewable) -> None:
    """Let an object make its locks and threads anew in every child that this process forks."""
    _renewable.add(owner)


def _renew_all() -> None:
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
    os.register_at_fork(after_in_child=_renew_all)
