"""What a teacher says of the training images: its class probabilities, made once and kept in the run folder.

The teacher labels each image at full size and mirrored. Whatever a student sees of the image, small or large,
is held to the mean of the two. (Hinton et al. 2015, "Distilling the knowledge in a neural network".)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from anyscene.errors import ModelError
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.rung import input_size
from anyscene.files import write_atomically
from anyscene.hierarchy import fit
from anyscene.learning.backbone.appearance import CHANNEL_MEAN, CHANNEL_SCALE
from anyscene.learning.backbone.network import SceneNetwork


@dataclass(frozen=True)
class Cutout:
    """The part of an image that a student sees: a box of its pixels, perhaps mirrored."""

    image: int
    top: int
    left: int
    height: int
    width: int
    mirrored: bool


class Lessons:
    """A teacher's probabilities of the images of one data set, in their order, read when they are asked for.

    identity: names the teacher and the images. heads: those that the teacher speaks of.
    """

    def __init__(self, path: Path, identity: str, heads: Sequence[str]) -> None:
        try:
            self._file = cast(Any, safe_open(path, framework="np"))
            found = (self._file.metadata() or {}).get("identity")
        except (SafetensorError, OSError) as error:
            raise ModelError(f"the lessons {path} cannot be read ({error}); delete the file") from error
        if found != identity:
            raise ModelError(
                f"the lessons {path} are of another teacher or other images; "
                "delete the file, or give another run folder"
            )
        self.identity = identity
        self.heads = tuple(heads)

    def seen(
        self, view: Cutout, size: tuple[int, int], grid: tuple[int, int], head: str
    ) -> NDArray[np.float32]:
        """Average the probabilities over the cells of the student's grid: float32[C, *grid].

        size: of the whole image, as (height, width).
        """
        page = self._file.get_tensor(f"{view.image}.{head}").astype(np.float32)
        rows = overlaps(view.top / size[0], (view.top + view.height) / size[0], grid[0], page.shape[0])
        columns = overlaps(view.left / size[1], (view.left + view.width) / size[1], grid[1], page.shape[1])
        columns = columns[:: -1 if view.mirrored else 1]
        return np.asarray((columns @ np.tensordot(rows, page, 1)).transpose(2, 0, 1))


def overlaps(start: float, stop: float, bins: int, cells: int) -> NDArray[np.float32]:
    """Share of each of `bins` even parts of [start, stop] that lies in each of `cells` even parts of [0, 1].

    float32[bins, cells]; rows add up to 1.
    """
    edges = np.linspace(start * cells, stop * cells, bins + 1)
    low, high = edges[:-1, None], edges[1:, None]
    cell = np.arange(cells)
    shared = np.clip(np.minimum(high, cell + 1) - np.maximum(low, cell), 0, None)
    return np.asarray(shared / shared.sum(axis=1, keepdims=True), np.float32)


def prepare_lessons(
    teacher: SceneNetwork,
    images: Sequence[NDArray[np.uint8]],
    heads: Sequence[str],
    long_side: int,
    path: Path,
    tell: Callable[[int], None],
) -> Lessons:
    """Let the teacher label the images, unless `path` holds its answers already.

    long_side: the working frame of the teacher. tell: hears how many images are labelled, after each.
    """
    keys = "".join(image_key(image) for image in images)
    identity = json.dumps(
        {
            "teacher": _fingerprint(teacher),
            "images": hashlib.sha256(keys.encode()).hexdigest(),
            "heads": list(heads),
            "long_side": long_side,
        },
        sort_keys=True,
    )
    if not path.exists():
        pages: dict[str, torch.Tensor] = {}
        for index, image in enumerate(images):
            for head, page in _answers(teacher, image, heads, long_side).items():
                pages[f"{index}.{head}"] = page
            tell(index + 1)
        with write_atomically(path) as file:
            file.write(save(pages, {"identity": identity}))
    return Lessons(path, identity, heads)


def _answers(
    teacher: SceneNetwork, image: NDArray[np.uint8], heads: Sequence[str], long_side: int
) -> dict[str, torch.Tensor]:
    """The mean probabilities of the image and its mirror image, by head: float16[h, w, C]."""
    height, width = image.shape[:2]
    fitted = fit(image, input_size(height, width, min(1.0, long_side / max(height, width))))
    planes = (torch.from_numpy(fitted).permute(2, 0, 1).float() - CHANNEL_MEAN) / CHANNEL_SCALE
    both = torch.stack([planes, planes.flip(2)]).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        scores = teacher.all_scores(both, heads)
        chances = {head: score.softmax(1) for head, score in scores.items()}
        return {
            head: ((each[0] + each[1].flip(2)) / 2).permute(1, 2, 0).half().contiguous()
            for head, each in chances.items()
        }


def _fingerprint(network: SceneNetwork) -> str:
    digest = hashlib.sha256()
    for name, value in network.state_dict().items():
        digest.update(name.encode())
        digest.update(value.half().contiguous().numpy().tobytes())
    return digest.hexdigest()
