"""Make the pictures of README.md and the guides from generated streets; run it on a quiet machine.

python docs/scripts/pictures.py     # writes docs/images/street.gif, quickstart.png and stream.gif
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

import anyscene
from anyscene.data.streets.drive import street_drive

IMAGES = Path(__file__).parents[1] / "images"
BUDGETS_MS = (1, 5, 20)
DRIVE, FRAMES, STEP = 17, 24, 2
"""Which street the pictures show, how many of its frames, and every how many-th is shown."""

PANEL = (280, 210)
CAPTION = 22
COLORS = 64
MOST_BYTES = 800_000

Picture = NDArray[np.uint8]


def main() -> None:
    """Make all of them."""
    model = anyscene.load("camvid")
    frames = [scene.image for scene in street_drive(DRIVE, FRAMES).frames]
    shown = frames[::STEP]
    for frame in shown[:3]:  # the first calls find cold caches
        for budget in BUDGETS_MS:
            model.label(frame, budget)
    labelled = [
        (frame, *(model.label(frame, budget).overlay(frame, 0.7) for budget in BUDGETS_MS)) for frame in shown
    ]
    names = ("the street", *(f"labelled within {budget} ms" for budget in BUDGETS_MS))
    save_gif(IMAGES / "street.gif", [grid(row, names) for row in labelled], 1000 * STEP // 15)
    first = labelled[0]
    Image.fromarray(grid((first[0], first[-1]), ("street.png", "out/street.overlay.png"))).save(
        IMAGES / "quickstart.png", optimize=True
    )
    live = [
        out.overlay(frame, 0.7) for out, frame in zip(model.video(frames, "5ms", 1, 15), frames, strict=True)
    ]
    rows = [grid(pair, ("the camera", "live labels")) for pair in zip(frames, live, strict=True)]
    save_gif(IMAGES / "stream.gif", rows[::STEP], 1000 * STEP // 15)


def grid(pictures: Sequence[Picture], names: Sequence[str]) -> Picture:
    """Pictures two in a row, each with its name below."""
    rows = []
    for start in range(0, len(pictures), 2):
        rows.append(
            np.hstack([captioned(p, n) for p, n in zip(pictures[start:], names[start:], strict=True)][:2])
        )
    return np.vstack(rows)


def captioned(picture: Picture, name: str) -> Picture:
    """A picture at the size of a panel, with its name below."""
    width, height = PANEL
    canvas = Image.new("RGB", (width + 4, height + CAPTION), "white")
    smooth = cv2.bilateralFilter(picture, 9, 30, 5)  # noise would take most of the room in a file
    canvas.paste(Image.fromarray(cv2.resize(smooth, PANEL, interpolation=cv2.INTER_AREA)), (2, 0))
    font = ImageFont.load_default(14)
    ImageDraw.Draw(canvas).text((width // 2, height + 3), name, fill="black", font=font, anchor="ma")
    return np.asarray(canvas)


def save_gif(path: Path, frames: Sequence[Picture], pause_ms: int) -> None:
    """Write frames with one palette for all, so that what stands still takes no room."""
    palette = Image.fromarray(np.vstack([frames[0], frames[-1]])).quantize(COLORS)
    drawn = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    drawn[0].save(path, save_all=True, append_images=drawn[1:], duration=pause_ms, loop=0, optimize=True)
    if (size := path.stat().st_size) > MOST_BYTES:
        raise SystemExit(f"{path} has {size:,} bytes, more than {MOST_BYTES:,}; show fewer frames")


if __name__ == "__main__":
    main()
