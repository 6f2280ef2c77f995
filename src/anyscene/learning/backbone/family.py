"""The networks that a backbone can be: EfficientNet-lite0, lite1 and lite2, or some of their blocks.

They have the same stages and differ in how many blocks and channels each stage has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A run of inverted bottlenecks of which the first may halve the resolution."""

    kernel: int
    stride: int
    expansion: int


STEM_CHANNELS = 32
STAGES = (
    Stage(3, 1, 1),
    Stage(3, 2, 6),
    Stage(5, 2, 6),
    Stage(3, 2, 6),
    Stage(5, 1, 6),
    Stage(5, 2, 6),
    Stage(3, 1, 6),
)


@dataclass(frozen=True)
class Shape:
    """How many channels and how many blocks each stage has."""

    channels: tuple[int, ...]
    blocks: tuple[int, ...]

    def holds(self, other: Shape) -> bool:
        """Whether the other shape is this one with some blocks left out."""
        return self.channels == other.channels and all(
            own >= kept for own, kept in zip(self.blocks, other.blocks, strict=True)
        )


FAMILY = {
    "lite0": Shape((16, 24, 40, 80, 112, 192, 320), (1, 2, 2, 3, 3, 4, 1)),
    "lite1": Shape((16, 24, 40, 80, 112, 192, 320), (1, 3, 3, 4, 4, 5, 1)),
    "lite2": Shape((16, 24, 48, 88, 120, 208, 352), (1, 3, 3, 4, 4, 5, 1)),
}
"""The published networks, by name."""


def shape_by_widths(widths: Sequence[int]) -> Shape:
    """Find a shape by the numbers of output channels of all convolutions of the network.

    A stage's number of channels is no other convolution's, so that it occurs once for each of its blocks.
    """
    channels = next(shape.channels for shape in FAMILY.values() if set(shape.channels) <= set(widths))
    return Shape(channels, tuple(widths.count(number) for number in channels))
