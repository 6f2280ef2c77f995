"""`View`: one image under study, with the maps that several feature sets share."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.errors import DataError
from anyscene.features.ledger import Ledger, Work
from anyscene.hierarchy.pyramid import fit, next_level, quarter_of

SharedMap = Callable[["View", int], Any]
_SHARED_MAPS: dict[str, SharedMap] = {}


def shared_map(compute: SharedMap) -> SharedMap:
    """Register a function (view, stride) -> map under its own name, for `View.shared`."""
    _SHARED_MAPS[compute.__name__] = compute
    return compute


class View:
    """One image, and the maps computed from it so far; each is computed once, when it is first asked for.

    image: uint8[h, w, 3], RGB, the working frame; no feature set sees the image at another size.
    ledger: what was spent on this image; whoever first asks for a shared map is charged for it.
    shrunk: gives the image with each block of `stride` by `stride` pixels as one. A tree grows on such
        images, so `RegionFeatures` puts `Tree.shrunk` here, and they cost nothing more.
    deadline: the `time.perf_counter()` at which extraction stops where it can; None for no deadline.
    """

    def __init__(self, image: NDArray[np.uint8], ledger: Ledger | None = None) -> None:
        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
            raise DataError(
                f"an image must be uint8[h, w, 3] and not empty, found {image.dtype}{list(image.shape)}"
            )
        self.image = image
        self.ledger = Ledger() if ledger is None else ledger
        self.deadline: float | None = None
        self.shrunk: Callable[[int], NDArray[np.uint8]] = self._shrink
        self._stride = 1
        self._maps: dict[tuple[str, int], Any] = {}
        self._fitted: dict[tuple[int, int], NDArray[np.uint8]] = {}

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the frame."""
        return self.image.shape[0], self.image.shape[1]

    @property
    def pixels(self) -> int:
        """Pixels of the frame."""
        height, width = self.size
        return height * width

    def at(self, stride: int) -> View:
        """The same view; blocks of its shared maps have `stride` by `stride` pixels unless told otherwise."""
        seen = copy(self)
        seen._stride = stride
        return seen

    def shared(self, name: str, stride: int | None = None) -> Any:
        """The shared map of that name, over blocks of `stride` by `stride` pixels (default: see `at`)."""
        stride = stride or self._stride
        key = (name, stride)
        if key not in self._maps:
            with self.ledger.charge(self.shared_work(name, stride)):
                self._maps[key] = _SHARED_MAPS[name](self, stride)
        return self._maps[key]

    def fitted(self, size: tuple[int, int]) -> NDArray[np.uint8]:
        """The frame stretched to (height, width)."""
        if size not in self._fitted:
            self._fitted[size] = fit(self.image, size)
        return self._fitted[size]

    def colors(self, rows: int, columns: int) -> NDArray[np.uint8]:
        """The mean colours of cells that tile the frame, uint8[rows, columns, 3].

        A network whose map has these cells has read the frame at four times their number along each side.
        """
        read = self._fitted.get((4 * rows, 4 * columns))
        return fit(self.image, (rows, columns)) if read is None else quarter_of(read)

    def _shrink(self, stride: int) -> NDArray[np.uint8]:
        return self.image if stride == 1 else next_level(self._shrink, stride)

    def shared_work(self, name: str, stride: int = 1) -> Work:
        """The work of computing a shared map."""
        step = f"shared:{name}" if stride == 1 else f"shared:{name}/{stride}"
        return Work(step, self.pixels)

    def has(self, name: str, stride: int = 1) -> bool:
        """Tell whether a shared map is in hand already."""
        return (name, stride) in self._maps


@shared_map
def lab(view: View, stride: int) -> NDArray[np.uint8]:
    """CIE Lab of the shrunken image, each channel scaled to a byte as OpenCV does."""
    return np.asarray(cv2.cvtColor(view.shrunk(stride), cv2.COLOR_RGB2LAB))


@shared_map
def grey(view: View, stride: int) -> NDArray[np.uint8]:
    """Luma of the shrunken image, uint8."""
    return np.asarray(cv2.cvtColor(view.shrunk(stride), cv2.COLOR_RGB2GRAY))


@shared_map
def gradient(view: View, stride: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Strength and direction (degrees, 0-360) of the gradient of sqrt(grey), by central differences.

    The square root evens out light and shade, as in HOG.
    """
    roots = cv2.LUT(view.shared("grey", stride), np.sqrt(np.arange(256, dtype=np.float32)))
    across = cv2.Sobel(roots, cv2.CV_32F, 1, 0, ksize=1)
    down = cv2.Sobel(roots, cv2.CV_32F, 0, 1, ksize=1)
    strength, direction = cv2.cartToPolar(across, down, angleInDegrees=True)
    return np.asarray(strength), np.asarray(direction)


def with_margin(image: NDArray[Any], size: tuple[int, int], margin: int) -> NDArray[Any]:
    """An image extended to (height, width), and by `margin` on every side; its outermost pixels repeat."""
    height, width = image.shape[:2]
    beyond = margin, size[0] + margin - height, margin, size[1] + margin - width
    return np.asarray(cv2.copyMakeBorder(image, *beyond, cv2.BORDER_REPLICATE))
