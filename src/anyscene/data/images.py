"""Reading image and label files: the only place where anyscene decodes a picture."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from anyscene.errors import ImageError

MAX_PIXELS = 2 * 89_478_485
"""Files that claim more pixels are refused before they are decoded (the same bound as Pillow's own)."""

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"})


def read_image(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read any picture as upright RGB, uint8[H, W, 3].

    EXIF orientation is applied, transparency is laid over white, an animation gives its first frame.
    16-bit grey is scaled to 8 bits; of 16-bit colour Pillow keeps the high byte. Floating-point images are
    taken as 0-1, 0-255 or 0-65535, whichever is the first that holds their values, else stretched.
    """
    return _rgb(_decode(Path(path)))


def read_label(path: str | os.PathLike[str]) -> NDArray[np.integer]:
    """Read a label picture as it was stored: ids as int32[H, W], or colours as uint8[H, W, 3].

    A palette picture gives its indices, never its colours: that is how label tools store ids.
    """
    picture = _decode(Path(path))
    if picture.mode in ("1", "L", "P", "I") or picture.mode.startswith("I;16"):
        return np.asarray(picture).astype(np.int32)
    return _rgb(picture)


def _decode(path: Path) -> Image.Image:
    if not path.is_file():
        raise ImageError(f"{path}: there is no such file; check the path")
    if path.stat().st_size == 0:
        raise ImageError(f"{path}: the file is empty; copy or download it again")
    try:
        picture = Image.open(path)
        if picture.width * picture.height > MAX_PIXELS:
            raise Image.DecompressionBombError
        picture.load()
    except Image.DecompressionBombError:
        raise ImageError(
            f"{path}: claims more than {MAX_PIXELS // 10**6} million pixels and was not decoded; "
            "scale it down first if it is a real picture"
        ) from None
    except Image.UnidentifiedImageError:
        raise ImageError(f"{path}: not an image in a format that can be read; use PNG, JPEG or WebP") from None
    except Exception as error:  # damaged files make decoders raise almost anything
        raise ImageError(f"{path}: the image is damaged or cut short ({error}); copy or download it again") from error
    return picture


def _rgb(picture: Image.Image) -> NDArray[np.uint8]:
    picture = ImageOps.exif_transpose(picture)
    if picture.mode in ("I", "F") or picture.mode.startswith("I;16"):
        return np.repeat(_eight_bit(np.asarray(picture))[:, :, None], 3, axis=2)
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, (255, 255, 255, 255))
        picture = Image.alpha_composite(white, picture)
    return np.array(picture.convert("RGB"))


def _eight_bit(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Scale deep grey values to 0-255; integers are 16-bit unless they do not fit."""
    deep = np.nan_to_num(values.astype(np.float64))
    low, high = float(deep.min()), float(deep.max())
    ranges = (65535.0,) if np.issubdtype(values.dtype, np.integer) else (1.0, 255.0, 65535.0)
    for white in ranges:
        if low >= 0 and high <= white:
            return np.rint(deep * (255 / white)).astype(np.uint8)
    return np.rint((deep - low) * (255 / (high - low))).astype(np.uint8)
