"""`anyscene watch`: a labeling that grows better before your eyes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.style import Style
from rich.text import Text

from anyscene.apps.console import busy, check_outputs, console
from anyscene.apps.label import BudgetOption, ModelOption

if TYPE_CHECKING:
    from anyscene.apps.refining import Frame, Picture

GIF_WIDTH = 480
LAST_FRAME_MS = 2500


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(watch)


def watch(
    image: Annotated[Path, typer.Argument(help="The picture to label.")],
    model: ModelOption = None,
    budget: BudgetOption = None,
    gif: Annotated[Path | None, typer.Option(metavar="FILE", help="Also keep it as an animated GIF.")] = None,
    pause: Annotated[float, typer.Option(min=0, help="Seconds that each step is shown.")] = 0.7,
) -> None:
    """Show in the terminal how the labels of a picture become better, step by step."""
    import anyscene
    from anyscene.apps.refining import record
    from anyscene.data import read_image
    from anyscene.engine.loading import find_model

    check_outputs(None, gif, inputs=[image, find_model(model)])
    picture = read_image(image)
    with busy("getting ready"):
        engine = anyscene.load(model)
    screen = console()
    width = screen.width // 2 - 1
    _, frames = record(engine, picture, budget, GIF_WIDTH)
    if screen.is_terminal:
        with Live(console=screen, auto_refresh=False) as live:
            for frame in frames:
                live.update(_screen(frame, width, screen.height - 4), refresh=True)
                time.sleep(pause)
    else:
        for frame in frames:
            screen.print(frame.caption(), markup=False, soft_wrap=True)
    if gif is not None:
        _save_gif(gif, frames, pause)
        screen.print(f"kept in {gif}", markup=False, soft_wrap=True)


def _screen(frame: Frame, width: int, height: int) -> Group:
    """The leaves beside the labels, and below them what was done."""
    import numpy as np

    side_by_side = np.hstack([frame.outlined(), frame.labeling.overlay(frame.image, 0.7)])
    return Group(_blocks(side_by_side, 2 * width, 2 * height), Text(frame.caption()), _legend(frame))


def _blocks(picture: Picture, width: int, height: int) -> Text:
    """A picture in half blocks: each character is two pixels, one above the other."""
    import cv2

    scale = min(width / picture.shape[1], height / picture.shape[0])
    size = max(1, round(picture.shape[1] * scale)), max(2, round(picture.shape[0] * scale) // 2 * 2)
    pixels = cv2.resize(picture, size, interpolation=cv2.INTER_AREA).tolist()
    text = Text(no_wrap=True)
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        for above, below in zip(upper, lower, strict=True):
            style = Style(
                color=f"rgb{tuple(above)}".replace(" ", ""), bgcolor=f"rgb{tuple(below)}".replace(" ", "")
            )
            text.append("▀", style)
        text.append("\n")
    return text


def _legend(frame: Frame) -> Text:
    """The classes that are seen, in their colours."""
    import numpy as np

    labeling = frame.labeling
    text = Text()
    for index in np.unique(labeling.labels).tolist():
        red, green, blue = labeling.classes.palette[index].tolist()
        text.append("■ ", Style(color=f"rgb({red},{green},{blue})"))
        text.append(f"{labeling.classes.names[index]}  ")
    return text


def _save_gif(path: Path, frames: list[Frame], pause: float) -> None:
    """Write the labels over the picture, one frame a step, each with its caption."""
    from PIL import Image, ImageDraw

    from anyscene.files import write_atomically
    from anyscene.marks import picture_mark

    pictures = []
    for frame in frames:
        overlay = frame.labeling.overlay(frame.image, 0.6)
        picture = Image.new("RGB", (overlay.shape[1], overlay.shape[0] + 16))
        picture.paste(Image.fromarray(overlay))
        ImageDraw.Draw(picture).text((3, overlay.shape[0] + 2), frame.caption(), fill=(255, 255, 255))
        pictures.append(picture)
    durations = [max(20, round(pause * 1000))] * (len(pictures) - 1) + [LAST_FRAME_MS]
    with write_atomically(path) as file:
        options = {"append_images": pictures[1:], "duration": durations, "loop": 0, **picture_mark("GIF")}
        pictures[0].save(file, "GIF", save_all=True, **options)
