"""Small models and folders that the campaign attacks; made once in its folder."""

import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

import anyscene

SETS = ("color", "position", "sift", "geometry", "semantics")
DATA = "streets:20?size=120x90"
CONFIG = {
    "thresholds": (0.0, 0.6),
    "lambdas": (0.0,),
    "bundles": (1, 5),
    "steps": 8,
    "clusters": 0,
    "samples": 4000,
    "screening_samples": 2000,
    "iterations": 1,
    "prune_images": 2,
    "guide_rounds": 2,
    "guide_images": 2,
    "threads": 1,
}


def small_model(folder: Path, sets: tuple[str, ...] = SETS) -> Path:
    """Return a model with trees on learned feature sets, trained on generated streets if it is not there."""
    path = folder / f"{'-'.join(sets)}.anyscene"
    if not path.exists():
        from anyscene.learning.config import TrainConfig
        from anyscene.learning.train import train

        train(anyscene.data.open(DATA), path, TrainConfig(sets=sets, **CONFIG), network=False)
    return path


def config_file(folder: Path) -> Path:
    """Return a file with the settings of a training that takes seconds."""

    def text(value: object) -> str:
        return str(list(value)) if isinstance(value, tuple) else str(value)

    path = folder / "small.toml"
    lines = [f"{name} = {text(value)}" for name, value in CONFIG.items()]
    path.write_text("\n".join(['sets = ["color", "position"]', *lines]))
    return path


@cache
def pictures() -> dict[str, bytes]:
    """Good pictures of every kind that is read, by suffix."""
    image = Image.fromarray(anyscene.data.open(DATA).split("val").image(0))
    made = {}
    for suffix, kind, mode in [
        ("png", "PNG", "RGB"),
        ("rgba.png", "PNG", "RGBA"),
        ("grey.png", "PNG", "L"),
        ("deep.png", "PNG", "I;16"),
        ("jpg", "JPEG", "RGB"),
        ("cmyk.jpg", "JPEG", "CMYK"),
        ("webp", "WEBP", "RGB"),
        ("gif", "GIF", "P"),
        ("bmp", "BMP", "RGB"),
        ("tiff", "TIFF", "RGB"),
        ("float.tiff", "TIFF", "F"),
        ("ppm", "PPM", "RGB"),
    ]:
        content = io.BytesIO()
        made_of = image.convert("L") if mode in ("I;16", "F") else image
        made_of.convert(mode).save(content, kind)
        made[suffix] = content.getvalue()
    return made


@cache
def video() -> bytes:
    """Return a good video of a few frames."""
    import av

    frames = [anyscene.data.open(DATA).split("train").image(number) for number in range(4)]
    with tempfile.NamedTemporaryFile(suffix=".mp4") as file, av.open(file.name, "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = frames[0].shape[1], frames[0].shape[0], "yuv420p"
        for frame in frames:
            made = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
            for packet in stream.encode(made):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
        container.close()
        return file.read()
