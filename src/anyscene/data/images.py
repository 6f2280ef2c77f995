"""Reading image and label files: the only place where anyscene decodes a picture."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError, features

from anyscene.errors import ConfigError, ImageError

MOST_PIXELS = 100_000_000
"""Pictures that claim more are refused before they are decoded, which takes up to 10 bytes a pixel; labeling
takes as many again. `ANYSCENE_MAX_PIXELS` sets another bound, of up to `PILLOWS_BOUND`.
"""

PILLOWS_BOUND = 178_956_970
"""What Pillow itself refuses to open; changing that would change it for the whole process."""

STRIP_PIXELS = 2_000_000
"""Pictures are converted in strips of so many pixels, so that no copy of a whole one is made on the way."""

JPEG_END = b"\xff\xd9"
"""Only JPEGs that end so go to OpenCV. It is quicker than Pillow, but says nothing if the end is missing."""

APPLE_SUFFIXES = frozenset({".heic", ".heif"})
"""Pictures that need a decoder which anyscene does not bring; they are named, and refused with advice."""

IMAGE_SUFFIXES = APPLE_SUFFIXES | {
    *(
        ".png",
        ".jpg",
        ".jpeg",
        ".jpe",
        ".jfif",
        ".webp",
        ".avif",
        ".bmp",
        ".gif",
        ".tif",
        ".tiff",
        ".ppm",
        ".pgm",
    )
}

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "PPM", *(["AVIF"] if features.check("avif") else []))
"""What a file is tried as, whatever its name. Pillow knows more, some of which start other programs."""


def read_image(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read any picture as upright RGB, uint8[H, W, 3].

    EXIF orientation is applied, transparency is laid over white, an animation gives its first frame.
    16-bit grey is scaled to 8 bits; of 16-bit colour Pillow keeps the high byte. Floating-point grey is
    taken as 0-1, 0-255 or 0-65535, whichever is the first that holds its values, else stretched to fit.
    """
    with _opened(Path(path)) as picture:
        ImageOps.exif_transpose(picture, in_place=True)
        return to_rgb(picture)


def decode_image(
    data: bytes, limit: int | None = None, formats: tuple[str, ...] = FORMATS
) -> NDArray[np.uint8]:
    """Read a picture that is in memory as `read_image` reads files.

    limit : pictures that claim more pixels are not decoded; None means `most_pixels`.
    """
    with _opened(Path("the picture"), io.BytesIO(data), limit, formats) as picture:
        if picture.format == "JPEG" and picture.mode in ("L", "RGB") and data.endswith(JPEG_END):
            rgb = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)  # turns it, too
            if rgb is not None:
                return np.asarray(rgb, np.uint8)
        ImageOps.exif_transpose(picture, in_place=True)
        return to_rgb(picture)


def read_size(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Tell the width and height that a picture is stored with, before EXIF turns it; nothing is decoded."""
    with _opened(Path(path)) as picture:
        return picture.size


def read_label(path: str | os.PathLike[str]) -> NDArray[np.integer]:
    """Read a label picture as it was stored: ids as int32[H, W], or colours as uint8[H, W, 3].

    A palette picture gives its indices, never its colours: that is how label tools store ids.
    """
    with _opened(Path(path)) as picture:
        if picture.mode in ("1", "L", "P") or _is_deep(picture):
            return np.asarray(picture).astype(np.int32)
        return to_rgb(picture)


def warm_up_reading() -> None:
    """Load the decoders of all formats: the first picture would wait for them, and miss a short deadline."""
    Image.init()


def require_file(path: Path) -> None:
    """Raise an ImageError unless there is a file that holds something; reading a pipe might never end."""
    if path.is_dir():
        raise ImageError(f"{path}: this is a folder; name a file")
    if not path.exists():
        raise ImageError(f"{path}: there is no such file; check the path")
    if not path.is_file():
        raise ImageError(f"{path}: this is a pipe or a device; name a file")
    if path.stat().st_size == 0:
        raise ImageError(f"{path}: the file is empty; copy or download it again")


def most_pixels() -> int:
    """Return how many pixels a picture may have: `ANYSCENE_MAX_PIXELS`, if that is set."""
    text = os.environ.get("ANYSCENE_MAX_PIXELS", str(MOST_PIXELS))
    if not text.isdecimal() or len(text) > 15:
        raise ConfigError(
            f"ANYSCENE_MAX_PIXELS is {text!a}; it must be a number of pixels, such as 200000000"
        )
    return min(int(text), PILLOWS_BOUND)


@contextmanager
def _opened(
    path: Path, data: io.BytesIO | None = None, limit: int | None = None, formats: tuple[str, ...] = FORMATS
) -> Iterator[Image.Image]:
    """Open a picture; whatever goes wrong, then or while the block decodes it, becomes an ImageError.

    data : what the file holds, if it is in memory already.
    """
    most = most_pixels() if limit is None else limit
    try:
        if data is None:
            require_file(path)
        with warnings.catch_warnings():
            # Pillow warns of sizes that we allow, and of metadata that we do not use.
            warnings.simplefilter("ignore")
            with Image.open(data or path, formats=formats) as picture:
                if picture.width * picture.height > most:
                    raise Image.DecompressionBombError
                yield picture
    except (ImageError, ConfigError):
        raise
    except Image.DecompressionBombError:
        raise ImageError(
            f"{path}: claims more than {most // 10**6} million pixels and was not decoded; scale it "
            "down first, or set ANYSCENE_MAX_PIXELS if there is memory for more"
        ) from None
    except UnidentifiedImageError:
        kind = "HEIC pictures cannot" if path.suffix.lower() in APPLE_SUFFIXES else "not an image that can"
        raise ImageError(f"{path}: {kind} be read; use PNG, JPEG or WebP") from None
    except PermissionError:
        raise ImageError(f"{path}: may not be read; change its permissions") from None
    except MemoryError:
        raise ImageError(f"{path}: too big for the memory of this machine; scale it down first") from None
    except Exception as error:  # damaged files make decoders raise almost anything
        raise ImageError(
            f"{path}: the image is damaged or cut short ({error}); copy or download it again"
        ) from error


def to_rgb(picture: Image.Image) -> NDArray[np.uint8]:
    """Decode an open picture as RGB, uint8[H, W, 3], as it lies in the file: not turned."""
    rgb = np.empty((picture.height, picture.width, 3), np.uint8)
    is_deep = picture.mode == "F" or _is_deep(picture)
    low, white = _grey_range(picture) if is_deep else (0.0, 0.0)
    for top, strip in _strips(picture):
        rows = rgb[top : top + strip.height]
        if is_deep:
            rows[:] = np.rint((_finite(strip) - low) * (255 / white))[:, :, None]
            continue
        if picture.has_transparency_data:
            over = Image.new("RGBA", strip.size, (255, 255, 255, 255))
            strip = Image.alpha_composite(over, strip.convert("RGBA"))
        rows[:] = np.asarray(strip if strip.mode == "RGB" else strip.convert("RGB"))
    return rgb


def _strips(picture: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """The first row of each strip of a picture, and the strip."""
    picture.load()
    height = max(1, STRIP_PIXELS // picture.width)
    if picture.height <= height:
        yield 0, picture  # as it is: a strip is a copy
        return
    for top in range(0, picture.height, height):
        yield top, picture.crop((0, top, picture.width, min(top + height, picture.height)))


def _is_deep(picture: Image.Image) -> bool:
    """Tell whether a picture is grey with integers of more than eight bits."""
    return picture.mode == "I" or picture.mode.startswith("I;16")


def _finite(strip: Image.Image) -> NDArray[np.float64]:
    values = np.asarray(strip).astype(np.float64)
    values[~np.isfinite(values)] = 0
    return values


def _grey_range(picture: Image.Image) -> tuple[float, float]:
    """What is black in a deep grey picture, and how much above it white is."""
    bounds = [(values.min(), values.max()) for values in (_finite(strip) for _, strip in _strips(picture))]
    low, high = (
        float(pick(column)) for pick, column in zip((min, max), zip(*bounds, strict=True), strict=True)
    )
    for white in (1.0, 255.0, 65535.0) if picture.mode == "F" else (65535.0,):
        if low >= 0 and high <= white:
            return 0.0, white
    return low, max(high - low, 1e-300)
