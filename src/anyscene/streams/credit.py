"""`Credit`: the CPU time that a stream may spend; `Spent`: what it spent."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Credit:
    """An account of CPU milliseconds that fills as time passes and is spent by calls and by looks between
    them.

    share : of one core, 0 for no looks between frames. most_ms : what can be saved up for later.
    balance_ms : what is there at the start, and then.
    """

    share: float
    most_ms: float
    balance_ms: float
    _counted_ms: float | None = field(default=None, init=False)

    def earn(self, now_ms: float) -> None:
        """Add what the time since the last call of this is worth."""
        if self._counted_ms is not None:
            passed = max(0.0, now_ms - self._counted_ms)
            self.balance_ms = min(self.most_ms, self.balance_ms + self.share * passed)
        self._counted_ms = now_ms

    def spend(self, cpu_ms: float) -> None:
        """Take off what was used; calls are never refused, so the balance may become negative."""
        self.balance_ms -= cpu_ms

    @property
    def filled(self) -> float:
        """How full the account is, from 0 to 1."""
        return min(max(self.balance_ms / self.most_ms, 0.0), 1.0)

    def pays_for(self, cpu_ms: float) -> bool:
        """Tell whether something may be begun that takes so long."""
        return self.share > 0 and self.balance_ms >= min(cpu_ms, self.most_ms)


@dataclass
class Spent:
    """What a stream spent so far: CPU milliseconds of calls and of looks between them.

    looks : that were taken between calls and came in time. restarts : new scenes.
    """

    frames: int = 0
    looks: int = 0
    restarts: int = 0
    calls_ms: float = 0.0
    looks_ms: float = 0.0
