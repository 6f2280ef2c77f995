"""Reading image and label files: the only place where anyscene decodes a picture."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from anyscene.errors import ImageError

MAX_PIXELS = 2 * 89_478_485
"""Files that claim more pixels are refused before they are decoded (Pillow's own bound, 179 million)."""

IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}
)

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""What a file is tried as, whatever its name. Pillow knows more, some of which start other programs."""


def read_image(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read any picture as upright RGB, uint8[H, W, 3].

    EXIF orientation is applied, transparency is laid over white, an animation gives its first frame.
    16-bit grey is scaled to 8 bits; of 16-bit colour Pillow keeps the high byte. Floating-point grey is
    taken as 0-1, 0-255 or 0-65535, whichever is the first that holds its values, else stretched to fit.
    """
    with _opened(Path(path)) as picture:
        ImageOps.exif_transpose(picture, in_place=True)
        return _to_rgb(picture)


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
        return _to_rgb(picture)


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


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Open a picture; whatever goes wrong, then or while the block decodes it, becomes an ImageError."""
    try:
        require_file(path)
        with warnings.catch_warnings():
            # Pillow warns of sizes that we allow, and of metadata that we do not use.
            warnings.simplefilter("ignore")
            with Image.open(path, formats=FORMATS) as picture:
                if picture.width * picture.height > MAX_PIXELS:
                    raise Image.DecompressionBombError
                yield picture
    except ImageError:
        raise
    except Image.DecompressionBombError:
        raise ImageError(
            f"{path}: claims more than {MAX_PIXELS // 10**6} million pixels and was not decoded; "
            "if it is a real picture, scale it down first"
        ) from None
    except UnidentifiedImageError:
        raise ImageError(f"{path}: not an image that can be read; use PNG, JPEG or WebP") from None
    except PermissionError:
        raise ImageError(f"{path}: may not be read; change its permissions") from None
    except MemoryError:
        raise ImageError(f"{path}: too big for the memory of this machine; scale it down first") from None
    except Exception as error:  # damaged files make decoders raise almost anything
        raise ImageError(
            f"{path}: the image is damaged or cut short ({error}); copy or download it again"
        ) from error


def _to_rgb(picture: Image.Image) -> NDArray[np.uint8]:
    if picture.mode == "F" or _is_deep(picture):
        return np.repeat(_to_eight_bits(np.asarray(picture))[:, :, None], 3, axis=2)
    if picture.has_transparency_data:
        white = Image.new("RGBA", picture.size, (255, 255, 255, 255))
        picture = Image.alpha_composite(white, picture.convert("RGBA"))
    # Pillow would copy a picture that is RGB already, which takes half as long as decoding it.
    return np.array(picture if picture.mode == "RGB" else picture.convert("RGB"))


def _is_deep(picture: Image.Image) -> bool:
    """Tell whether a picture is grey with integers of more than eight bits."""
    return picture.mode == "I" or picture.mode.startswith("I;16")


def _to_eight_bits(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    deep = values.astype(np.float64)
    deep[~np.isfinite(deep)] = 0
    low, high = float(deep.min()), float(deep.max())
    whites = (65535.0,) if np.issubdtype(values.dtype, np.integer) else (1.0, 255.0, 65535.0)
    for white in whites:
        if low >= 0 and high <= white:
            return np.rint(deep * (255 / white)).astype(np.uint8)
    return np.rint((deep - low) * (255 / max(high - low, 1e-300))).astype(np.uint8)
