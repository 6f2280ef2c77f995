"""`Labeler`: what every full-cost baseline is, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines.evidence import ImageEvidence, Images
from anyscene.model.kernels import BELIEF_FLOOR
from anyscene.named_arrays import Arrays

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, eq=False)
class BeliefMap:
    """What a baseline believes about an image: one row for each cell, a cell for each pixel.

    belief : float32[n, C], rows sum to 1. cells : int32[h, w], the row of each pixel: its finest region, or
    the pixel itself.
    """

    belief: NDArray[np.float32]
    cells: NDArray[np.int32]

    def labels(self) -> NDArray[np.int16]:
        """The most likely class of every pixel, int16[h, w]."""
        labels: NDArray[np.int16] = self.belief.argmax(axis=1).astype(np.int16)[self.cells]
        return labels

    def accuracy(self, truth: NDArray[np.int16]) -> float:
        """Share of the pixels of known truth that are labeled right; 0 when there are none."""
        known = truth >= 0
        return float((self.labels()[known] == truth[known]).mean()) if known.any() else 0.0

    def loss(self, truth: NDArray[np.int16]) -> float:
        """Mean cross-entropy over the pixels of known truth; 0 when there are none."""
        known = truth >= 0
        held = self.belief[self.cells[known], truth[known]]
        return float(-np.log(np.maximum(held, BELIEF_FLOOR)).mean()) if len(held) else 0.0


class Labeler(Protocol):
    """A baseline that labels an image at its full cost, in one go.

    What `label` returns depends on the evidence and the arrays alone.
    """

    name: ClassVar[str]

    @classmethod
    def fit(cls, images: Images, classes: int, random: np.random.Generator) -> Self:
        """Learn from labeled images of at least two folds; nothing else is ever looked at."""
        ...

    def label(self, evidence: ImageEvidence) -> BeliefMap:
        """Work out beliefs for an image."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned; `from_arrays` is the inverse."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Make the labeler from what was learned."""
        ...


TEMPERATURES = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
"""What `best_temperature` tries."""


def soften(belief: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    """Beliefs q ∝ q^(1 / temperature), rows float32[n, C]; the most likely labels stay what they are.

    Mean-field is far too sure of itself, which would dominate the loss of a CRF.
    """
    if temperature == 1:
        return belief
    powers = np.maximum(belief, BELIEF_FLOOR) ** np.float32(1 / temperature)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def best_temperature(beliefs: Sequence[BeliefMap], truths: Sequence[NDArray[np.int16]]) -> float:
    """The temperature of the lowest loss on some training images."""

    def loss(temperature: float) -> float:
        maps = [BeliefMap(soften(own.belief, temperature), own.cells) for own in beliefs]
        return sum(own.loss(truth) for own, truth in zip(maps, truths, strict=True))

    return min(TEMPERATURES, key=loss)


def parameters_to_arrays(parameters: DataclassInstance) -> dict[str, NDArray[Any]]:
    """The numbers of a dataclass as arrays of no dimensions."""
    return {name: np.asarray(value, np.float64) for name, value in asdict(parameters).items()}


Parameters = TypeVar("Parameters", bound="DataclassInstance")


def parameters_from_arrays(kind: type[Parameters], arrays: Arrays) -> Parameters:
    """The inverse of `parameters_to_arrays`."""
    values = {part.name: arrays[part.name].item() for part in fields(kind)}
    whole = {part.name for part in fields(kind) if part.type in (int, "int")}
    return kind(**{name: int(value) if name in whole else value for name, value in values.items()})
