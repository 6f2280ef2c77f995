"""How a backbone is trained: every choice, with its default; recipes are TOML files of these."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from anyscene.errors import ConfigError, what_is_wrong
from anyscene.learning.backbone.family import FAMILY, Shape


class Recipe(BaseModel):
    """Settings of one training run; a checkpoint fits only the recipe that it was made with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: int = Field(6000, ge=1, description="optimiser steps in all")
    backbone: Literal["lite0", "lite1", "lite2"] = Field(
        "lite0", description="which EfficientNet: a later one labels better and takes longer"
    )
    blocks: tuple[int, ...] | None = Field(
        None, description="how many of its first blocks each stage keeps: fewer are quicker (None: all)"
    )
    batch: int = Field(
        8, ge=1, description="images a step at full size; smaller inputs take up to twice as many"
    )
    learning_rate: float = Field(1e-3, gt=0, description="of the decoder and the heads at its highest")
    backbone_rate: float = Field(0.3, gt=0, description="the backbone's learning rate as a share of that")
    warm_up: int = Field(200, ge=0, description="steps over which the learning rate rises")
    weight_decay: float = Field(0.01, ge=0)
    average: float = Field(0.998, gt=0, lt=1, description="decay of the moving average of the weights (EMA)")
    long_side: int = Field(480, ge=32, description="the working frame: long side of a full-size input")
    smallest: float = Field(1 / 7, gt=0, le=1, description="smallest input, relative to the working frame")
    largest: float = Field(1.15, ge=1, description="largest input, relative to the working frame")
    full_share: float = Field(0.35, ge=0, le=1, description="share of steps at about full size")
    small_share: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of the other steps at less than half the size, where they are quick",
    )
    native: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of steps on pixels as they are: resampling, which all others do, softens them",
    )
    crop: float = Field(0.55, gt=0, le=1, description="smallest side of a random crop, relative to the image")
    aspect: float = Field(0.15, ge=0, lt=1, description="random change of the aspect ratio")
    jitter: float = Field(
        0.3, ge=0, lt=1, description="random change of brightness, contrast, saturation, tint"
    )
    squeeze: float = Field(
        1.0, gt=0, le=1, description="least share of its height that an input keeps; rungs are squeezed, too"
    )
    gamma: float = Field(
        0.0, ge=0, le=2, description="random light: exponents from 2 to minus this up to 2 to this"
    )
    haze: float = Field(0.0, ge=0, lt=1, description="largest share of grey mixed into every second image")
    blur: float = Field(0.0, ge=0, description="largest Gaussian blur of every second image, in input pixels")
    noise: float = Field(
        0.0,
        ge=0,
        description="largest noise in every second image, as a share of half the range of a channel",
    )
    rare_power: float = Field(0.3, ge=0, le=1, description="weight of a class: its share to minus this power")
    rare_images: float = Field(
        0.0, ge=0, le=1, description="share of images drawn by class first: rare ones more often"
    )
    drop: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of the deepest branches left out; fewer of those before",
    )
    dropout: float = Field(0.0, ge=0, lt=1, description="share of the decoder's channels hidden from heads")
    overlap: float = Field(0.0, ge=0, description="weight of lost overlap (Lovász) beside the cross-entropy")
    kin: float = Field(
        0.0, ge=0, description="weight of what a truth says to the heads of other data sets (kinship.py)"
    )
    distill: float = Field(
        0.0, ge=0, description="weight of what a teacher says (--teacher) beside the truths (lessons.py)"
    )
    shares: dict[str, float] = Field(
        default_factory=lambda: {"camvid": 2.0, "siftflow": 2.0, "stanford": 1.0},
        description="how often each data set is drawn, relative to the others (1 when not named)",
    )

    @field_validator("blocks")
    @classmethod
    def _known(cls, blocks: tuple[int, ...] | None, info: ValidationInfo) -> tuple[int, ...] | None:
        most = FAMILY[info.data.get("backbone", "lite0")].blocks
        if blocks is None:
            return None
        if len(blocks) != len(most) or any(not 1 <= b <= m for b, m in zip(blocks, most, strict=True)):
            raise ValueError(f"it must be {len(most)} numbers, each from 1 to that of {list(most)}")
        return blocks

    @property
    def shape(self) -> Shape:
        """The shape of the network that it trains."""
        published = FAMILY[self.backbone]
        return Shape(published.channels, self.blocks or published.blocks)


def read_recipe(path: Path) -> Recipe:
    """Read a recipe file; anything wrong in it is one sentence."""
    try:
        return Recipe.model_validate(tomllib.loads(path.read_text()))
    except OSError as error:
        raise ConfigError(f"cannot read the recipe {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the recipe {path} is not valid TOML: {error}") from error
    except ValidationError as error:
        raise ConfigError(f"the recipe {path}: {what_is_wrong(error, Recipe.model_fields)}") from error
