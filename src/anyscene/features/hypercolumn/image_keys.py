"""Keys of images by their content, by which a backbone file says which images its parts were fitted to."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


def image_key(image: NDArray[np.uint8]) -> str:
    """A short key of an image's pixels; the file's format and name do not matter."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(repr(image.shape).encode())
    digest.update(np.ascontiguousarray(image).tobytes())
    return digest.hexdigest()
