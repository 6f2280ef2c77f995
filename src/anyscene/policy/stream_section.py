"""What a model file holds of its stream policy: plain numbers, checked when it is read."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

FEATURES = ("age", "moved", "lacking", "lacking by entropy", "moved by entropy")
"""What a stream policy's Q̂ is a linear function of; all are 0 where nothing moves and nothing is doubted."""

MOST_LOOKS, MOST_PRICES = 16, 64

_Row = Annotated[tuple[float, ...], Field(min_length=len(FEATURES), max_length=len(FEATURES))]


class StreamSection(BaseModel):
    """A stream policy as numbers.

    pool : the looks that it chooses among, by their place from the coarsest, which is 1. coefficients : of Q̂,
    a row a look. prices : from low to high, the loss that a millisecond must save. spends : what it spends a
    frame at each price, in milliseconds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    pool: tuple[Annotated[int, Field(ge=1, le=MOST_LOOKS)], ...] = Field(min_length=1, max_length=MOST_LOOKS)
    coefficients: tuple[_Row, ...]
    prices: tuple[Annotated[float, Field(gt=0)], ...] = Field(min_length=1, max_length=MOST_PRICES)
    spends: tuple[Annotated[float, Field(ge=0)], ...]

    @model_validator(mode="after")
    def _agree(self) -> StreamSection:
        if len(self.coefficients) != len(self.pool) or len(set(self.pool)) != len(self.pool):
            raise ValueError("every look of a stream policy needs one row of coefficients")
        if len(self.spends) != len(self.prices) or list(self.prices) != sorted(self.prices):
            raise ValueError("prices of a stream policy must rise, and each needs what is spent at it")
        return self
