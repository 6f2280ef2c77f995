"""Work shared among threads; the compiled loops let go of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_threads(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Apply `work` to every item; results come in the order of the items, whatever the threads did."""
    if threads <= 1 or len(items) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
