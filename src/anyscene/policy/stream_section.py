"""What is kept of a stream policy: plain numbers, in a model file or in a small file beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from anyscene.checks import check_names
from anyscene.files import write_atomically
from anyscene.marks import marked

FEATURES = ("lacking", "lacking squared", "lacking by entropy", "moved", "age")
"""What a stream policy's Q̂ is a linear function of; all are 0 where nothing moves and nothing is doubted."""

SUFFIX = ".stream-policy"
"""Of the file beside a model that was made without a stream policy."""

MOST_LOOKS, MOST_PRICES = 16, 64

LARGEST_FILE = 2**16
"""Bytes; a policy of the most looks and prices takes less."""

_Row = Annotated[tuple[float, ...], Field(min_length=len(FEATURES), max_length=len(FEATURES))]


class StreamSection(BaseModel):
    """A stream policy as numbers.

    Costs are in units of the finest look, so that they hold on any machine.

    looks : names of the looks that the policy knows, from the coarsest to the finest. pool : those that it
    chooses among, by their place; 1 is the coarsest. coefficients : of Q̂, a row a look of the pool. prices :
    from low to high, the loss that the cost of a finest look must save. spends : what the policy spends a
    frame at each price.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    looks: tuple[str, ...] = Field(min_length=1, max_length=MOST_LOOKS)
    pool: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1, max_length=MOST_LOOKS)
    coefficients: tuple[_Row, ...]
    prices: tuple[Annotated[float, Field(gt=0)], ...] = Field(min_length=1, max_length=MOST_PRICES)
    spends: tuple[Annotated[float, Field(ge=0)], ...]

    @model_validator(mode="after")
    def _agree(self) -> StreamSection:
        check_names("looks", self.looks)
        if max(self.pool) > len(self.looks) or len(set(self.pool)) < len(self.pool):
            raise ValueError("the pool of a stream policy must hold some of its looks, each once")
        if len(self.coefficients) != len(self.pool):
            raise ValueError("every look in the pool of a stream policy needs one row of coefficients")
        if len(self.spends) != len(self.prices) or list(self.prices) != sorted(self.prices):
            raise ValueError("prices of a stream policy must rise, and each needs what is spent at it")
        return self


def write_section(path: Path, section: StreamSection) -> None:
    """Write a stream policy beside a model, as JSON."""
    with write_atomically(path) as file:
        file.write(json.dumps(marked(section.model_dump()), indent=1).encode() + b"\n")


def read_section(path: Path) -> StreamSection:
    """Read what `write_section` wrote; raises ValueError where it is something else."""
    with open(path, "rb") as file:
        text = file.read(LARGEST_FILE + 1)
    if len(text) > LARGEST_FILE:
        raise ValueError(f"{path.name} has more than {LARGEST_FILE} bytes, and no stream policy has")
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError(f"{path.name} holds no stream policy")
    return StreamSection.model_validate({name: part for name, part in document.items() if name != "comment"})
