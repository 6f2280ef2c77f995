"""A rung of the ladder: the size at which a network reads the frame, and how that is written down."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from anyscene.errors import ConfigError

NETWORK = "hypercolumn"
"""The usual network. A model file calls a network's graph and its head's arrays as rungs call the network."""

INPUT_MULTIPLE = 32
"""Sides of what the network reads are multiples of this many pixels: its strides halve them five times."""

SQUEEZED_ASPECT = 3 / 4
"""Height over width of the lowest frames that are squeezed in full; squeezing was measured on such frames."""

_NAME = re.compile(r"(?:([a-z]{1,32})@)?([0-9]{3}|1000)(?:s([0-9]{3}))?(m?)")


@dataclass(frozen=True)
class Rung:
    """How a network reads the frame. Its text is its feature set's name, such as `hypercolumn@533s667m`.

    scale: width of the input over that of the working frame, in whole thousandths.
    squeeze: share of its height that a frame of 4:3 keeps, in whole thousandths; 1 keeps the aspect.
    mirrored: whether the network sees the frame mirrored, and so errs elsewhere.
    network: its name, a lower-case word.
    """

    scale: float
    squeeze: float = 1.0
    mirrored: bool = False
    network: str = NETWORK

    @classmethod
    def parse(cls, name: str) -> Rung:
        """The rung of that name, of the usual network if it names none; an error if it is no rung."""
        found = _NAME.fullmatch(name)
        if not found or not int(found[2]) or not int(found[3] or 1):
            raise ConfigError(
                f"'{name}' is no rung: it must be a scale in thousandths of the frame, from 001 to 1000, "
                "with s667 after it to keep 0.667 of its height, and m to mirror it; and before it large@ if "
                "'large' is the network that reads it"
            )
        return cls(int(found[2]) / 1000, int(found[3] or 1000) / 1000, bool(found[4]), found[1] or NETWORK)

    def __str__(self) -> str:
        squeeze = "" if self.squeeze == 1 else f"s{round(1000 * self.squeeze):03d}"
        size = f"{round(1000 * self.scale):03d}{squeeze}{'m' if self.mirrored else ''}"
        return f"{self.network}@{size}"

    @property
    def short(self) -> str:
        """The name without the usual network, such as `533s667m`: how settings of training call a rung."""
        return str(self).removeprefix(f"{NETWORK}@")

    @property
    def area(self) -> float:
        """Pixels of the input over those of a frame of 4:3, before sides are rounded."""
        return self.scale**2 * self.squeeze

    @property
    def unmirrored(self) -> Rung:
        """The rung of the same size that sees the frame as it is."""
        return replace(self, mirrored=False)

    def input_size(self, frame: tuple[int, int]) -> tuple[int, int]:
        """Height and width of the network's input for a working frame of (height, width)."""
        return input_size(*frame, self.scale, self.squeeze)


RUNGS = tuple(map(Rung.parse, ("140", "200", "250", "375", "500", "625", "750", "875", "1000", "1000m")))
"""The usual ladder. Its sizes are all different after rounding to multiples of 32 at 480x360."""


def rungs_among(names: Iterable[str]) -> dict[str, Rung]:
    """The rungs among the names of feature sets, by name."""
    return {name: Rung.parse(name) for name in names if "@" in name}


def networks_among(names: Iterable[str]) -> tuple[str, ...]:
    """The networks that some feature sets run; the first of them glances (`ladder.glance_at`)."""
    return tuple(dict.fromkeys(rung.network for rung in rungs_among(names).values()))


def input_size(height: int, width: int, scale: float, squeeze: float = 1.0) -> tuple[int, int]:
    """The network's input for a frame at a scale: the nearest multiples of 32, as (height, width).

    squeeze: share of its height that a frame of 4:3 keeps; 1 keeps the aspect. A wider frame, which is lower
        already, keeps more.
    """
    kept = min(height, squeeze * max(height, width * SQUEEZED_ASPECT))
    return _multiple(kept * scale), _multiple(width * scale)


def _multiple(side: float) -> int:
    return max(1, round(side / INPUT_MULTIPLE)) * INPUT_MULTIPLE
