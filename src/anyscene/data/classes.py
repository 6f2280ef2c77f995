"""The classes of a data set: what they are called and how they are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import shorten

import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_names
from anyscene.errors import DataError

VOID = -1
"""The label of a pixel whose class is unknown; it never counts, neither in training nor in a score."""

VOID_COLOR = (0, 0, 0)


@dataclass(frozen=True, eq=False)
class Classes:
    """Class names and colours; the index of a name is its id.

    names: one for each class, all different.
    palette: uint8[classes, 3], the RGB colour of each class. Void is drawn black.
    """

    names: tuple[str, ...]
    palette: NDArray[np.uint8]

    def __post_init__(self) -> None:
        try:
            check_names("classes", self.names)
        except ValueError as error:
            raise DataError(f"{error}; rename them in: {', '.join(map(ascii, self.names))}") from None
        if self.palette.shape != (len(self.names), 3):
            raise DataError(f"{len(self.names)} classes need as many colours, found {len(self.palette)}")

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Classes {len(self)}: {shorten(', '.join(self.names), 80, placeholder=' …')}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Classes) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)
