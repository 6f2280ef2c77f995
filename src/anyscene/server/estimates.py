"""What each stage of a request takes of late: means and deviations that follow the machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

WEIGHT = 0.15
"""Of the latest value among those before it."""

DEVIATIONS = 2.0
"""A high estimate lies so many mean deviations above the mean: about one value in twenty exceeds it."""

SURE_DEVIATIONS = 3.0
"""Of what is kept back from labeling, so that the answer is there by its deadline: once in fifty is too often
to be late, and all of the time that is left is used when nobody else asks."""

FORGETTING = 0.05
"""Where nothing seems to fit, nothing shows that it would: estimates go back a bit to where they began."""


class Running:
    """The mean of the latest values, and how far they typically lie from it."""

    def __init__(self, mean: float = 0.0, deviation: float | None = None) -> None:
        self.mean = mean
        self.deviation = mean / 10 if deviation is None else deviation
        self._first = self.mean, self.deviation

    def note(self, value: float) -> None:
        """Take another value into account; a wild one counts as three high ones at most."""
        value = min(value, 3 * self.high + 1.0)
        self.deviation += WEIGHT * (abs(value - self.mean) - self.deviation)
        self.mean += WEIGHT * (value - self.mean)

    @property
    def high(self) -> float:
        """Hardly exceeded."""
        return self.mean + DEVIATIONS * self.deviation

    @property
    def highest(self) -> float:
        """Exceeded more rarely still."""
        return self.mean + SURE_DEVIATIONS * self.deviation

    def forget(self) -> None:
        """Go back a bit to the first value if the latest are larger."""
        mean, deviation = self._first
        self.mean += FORGETTING * min(0.0, mean - self.mean)
        self.deviation += FORGETTING * min(0.0, deviation - self.deviation)

    def scaled(self, factor: float) -> Running:
        """The same for so many times the work."""
        return Running(self.mean * factor, self.deviation * factor)


def high_of_sum(parts: Iterable[Running], deviations: float = DEVIATIONS) -> float:
    """What several stages together hardly exceed; their deviations are independent."""
    parts = list(parts)
    spread = math.sqrt(sum(part.deviation**2 for part in parts))
    return sum(part.mean for part in parts) + deviations * spread


class Estimates:
    """Milliseconds of stages ("decode", "first", "encode", ...) by what they work on and by its size.

    Sizes are sorted into powers of two of pixels. A size that was not seen yet is taken from the nearest that
    was, in proportion to the pixels if it is larger.
    """

    def __init__(self, measured: Iterable[Sequence[object]] = ()) -> None:
        self._known: dict[tuple[str, str], dict[int, Running]] = {}
        for stage, kind, pixels, ms in measured:
            self.note(str(stage), str(kind), int(str(pixels)), float(str(ms)))

    def note(self, stage: str, kind: str, pixels: int, ms: float) -> None:
        """A stage took so long."""
        sizes = self._known.setdefault((stage, kind), {})
        size = _size(pixels)
        if size in sizes:
            sizes[size].note(ms)
        else:
            sizes[size] = Running(ms)

    def note_sooner(self, stage: str, kind: str, pixels: int, ms: float) -> None:
        """A stage can be done in so long; that counts only where it is known to take twice as long.

        For what is measured once: it takes too long if the machine was busy at that moment.
        """
        if 2 * ms < self.of(stage, kind, pixels).mean:
            self.note(stage, kind, pixels, ms)

    def of(self, stage: str, kind: str, pixels: int = 1) -> Running:
        """What a stage takes; nothing where nothing like it was seen."""
        sizes = self._known.get((stage, kind))
        if not sizes:
            return Running()
        size = _size(pixels)
        nearest = min(sizes, key=lambda other: abs(other - size))
        return sizes[nearest].scaled(2.0 ** max(0, size - nearest))

    def forget(self) -> None:
        """Let all estimates go back a bit to what was measured first."""
        for sizes in self._known.values():
            for running in sizes.values():
                running.forget()


def _size(pixels: int) -> int:
    return round(math.log2(max(1, pixels)))
