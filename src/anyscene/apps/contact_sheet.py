"""Contact sheets: many scenes in one picture, each beside its truth, with a legend of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from anyscene.data.classes import Classes
from anyscene.data.scenes import Scene
from anyscene.errors import ConfigError
from anyscene.files import write_atomically
from anyscene.labeling import Labeling
from anyscene.marks import picture_mark

TILE = (240, 180)
GAP = 8
LINE = 18
COLUMNS = 3
LEGEND_CELL = 150
CAPTION_LETTERS = 30
BACKGROUND, INK = (255, 255, 255), (30, 30, 30)


def draw_sheet(scenes: Sequence[Scene], classes: Classes) -> NDArray[np.uint8]:
    """Draw scenes in a grid, uint8[H, W, 3]: image, then the truth laid over it, and the id below.

    Scenes without truth show their image alone, and without any truth there is no legend.
    """
    with_truth = any(scene.truth is not None for scene in scenes)
    tiles = 2 if with_truth else 1
    cell = (tiles * TILE[0] + (tiles - 1) * 2, TILE[1] + LINE)
    columns = min(len(scenes), COLUMNS if with_truth else 2 * COLUMNS)
    rows = -(-len(scenes) // columns)
    width = GAP + columns * (cell[0] + GAP)
    legend_columns = max(1, (width - GAP) // LEGEND_CELL)
    legend_rows = -(-len(classes) // legend_columns) if with_truth else 0
    height = GAP + rows * (cell[1] + GAP) + legend_rows * LINE + (GAP if legend_rows else 0)

    sheet = Image.new("RGB", (width, height), BACKGROUND)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=12)
    for index, scene in enumerate(scenes):
        row, column = divmod(index, columns)
        left, top = GAP + column * (cell[0] + GAP), GAP + row * (cell[1] + GAP)
        sheet.paste(_fit(scene.image), (left, top))
        if scene.truth is not None:
            sheet.paste(_fit(_overlay(scene.image, scene.truth, classes)), (left + TILE[0] + 2, top))
        draw.text(
            (left, top + TILE[1] + 2), scene.id.rpartition("/")[2][-CAPTION_LETTERS * tiles :], INK, font
        )
    for index, (name, color) in enumerate(zip(classes.names, classes.palette.tolist(), strict=True)):
        row, column = divmod(index, legend_columns)
        if row >= legend_rows:
            break
        left, top = GAP + column * LEGEND_CELL, height - GAP - (legend_rows - row) * LINE
        draw.rectangle((left, top + 2, left + 20, top + LINE - 4), tuple(color), INK)
        draw.text((left + 26, top + 1), name, INK, font)
    return np.array(sheet)


def save_picture(picture: NDArray[np.uint8], path: Path) -> None:
    """Write an RGB or grey picture in the format that the suffix names."""
    formats = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
    if path.suffix.lower() not in formats:
        raise ConfigError(
            f"{path}: pictures are written as {', '.join(formats)}; choose one of these suffixes"
        )
    format = formats[path.suffix.lower()]
    with write_atomically(path) as file:
        Image.fromarray(picture).save(file, format, **picture_mark(format))


def _overlay(image: NDArray[np.uint8], truth: NDArray[np.int16], classes: Classes) -> NDArray[np.uint8]:
    return Labeling(truth, classes).overlay(image, opacity=0.7)


def _fit(image: NDArray[np.uint8]) -> Image.Image:
    """Scale an image into a tile, centred; its proportions stay."""
    tile = Image.new("RGB", TILE, BACKGROUND)
    scale = min(TILE[0] / image.shape[1], TILE[1] / image.shape[0])
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    tile.paste(Image.fromarray(image).resize(size), ((TILE[0] - size[0]) // 2, (TILE[1] - size[1]) // 2))
    return tile
