"""What was spent on one image, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Work:
    """A step and its size: what a cost model needs to say what it will cost.

    step: one of those below. pixels: what it visits. regions: rows that it makes.

    | step | what it is |
    |---|---|
    | `grow:<layer>` | growing that layer of the tree |
    | `shared:<map>` | a map that several sets share |
    | `extract:<set>` | a set's own map, without the shared ones |
    | `grid` | drawing a layer's regions on its grid |
    | `taps` | weights from regions to a map coarser than the grid |
    | `pool:<set>` | summing a map over regions, and up the layers of the same grid |
    | `finish:<set>` | making one layer's sums into features |
    | `shapes` | where a layer's regions lie and what they look like |
    | `paint` | from a label a region to a label a pixel |
    """

    step: str
    pixels: int = 0
    regions: int = 0


@dataclass(frozen=True)
class Charge:
    """Work that was done and what it cost, without the work that it caused in other steps."""

    work: Work
    ms: float


@dataclass
class Ledger:
    """The charges on one image, in the order in which the work ended.

    clock : gives seconds. CPU time is fair where charges are compared, but takes a call into the kernel.
    """

    clock: Callable[[], float] = time.thread_time
    charges: list[Charge] = field(default_factory=list)
    _inner_ms: list[float] = field(default_factory=list)

    @contextmanager
    def charge(self, work: Work) -> Iterator[None]:
        """Charge what runs in the block to `work`; blocks inside it are charged to their own work only."""
        self._inner_ms.append(0.0)
        start = self.clock()
        try:
            yield
        finally:
            whole = (self.clock() - start) * 1e3
            self.charges.append(Charge(work, whole - self._inner_ms.pop()))
            if self._inner_ms:
                self._inner_ms[-1] += whole

    @property
    def total_ms(self) -> float:
        """All that was charged so far."""
        return sum(charge.ms for charge in self.charges)
