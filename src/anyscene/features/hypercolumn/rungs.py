"""The ladder: the network at several input sizes, each rung a feature set of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ConfigError
from anyscene.features.hypercolumn.backbone import Backbone
from anyscene.features.hypercolumn.crops import crop_scores, reading
from anyscene.features.hypercolumn.keys import image_key
from anyscene.features.hypercolumn.labels import floored_scores, make_chances
from anyscene.features.hypercolumn.network import Head, Network, input_size
from anyscene.features.pooling import Pooling
from anyscene.features.sets import SCORE_FLOOR, FeatureSet
from anyscene.features.view import Rect, View

NETWORK = "hypercolumn"
"""What a model file calls the network's graph; its head's arrays begin with the same name."""

FOREIGN = f"{NETWORK}/foreign"
"""Array of a head that scores other classes than the model's: how many they are."""

Size = tuple[float, float]
"""Of the network's input: its scale relative to the working frame, and the share of its height that is kept
(`input_size`). Whole thousandths: names of rungs say them exactly."""

RUNGS = ("140", "200", "250", "375", "500", "625", "750", "875", "1000", "1000m")
"""The usual ladder, by the names of `rung_name`. The sizes are all different after rounding to multiples of
32 at 480x360."""

LOWEST = np.log(SCORE_FLOOR)

TWIN = 1e-4
"""By so much is a mirrored rung's map said to be finer than its twin's: sets are put in order by it."""


class Rung(FeatureSet):
    """Class scores and an embedding from the network at one input size; probabilities, averaged, of regions.

    A piece may be any rectangle of the frame. The network reads a margin around it, so that scores inside are
    nearly those of the whole frame; not quite, so pieces stand alone.

    speaks: whether the head's classes are those of the model. If not, its scores are features like others.
    mirrored: whether the network sees the frame mirrored, and so errs elsewhere; the map is not.
    """

    pooling = Pooling.MEAN
    stride = 0
    local = False
    version = 3

    def __init__(
        self, network: Network, head: Head, size: Size, speaks: bool = True, mirrored: bool = False
    ) -> None:
        self.name = rung_name(size, mirrored)
        self.speaks_of_classes = speaks
        self.size = size
        self.mirrored = mirrored
        fineness = size[0] * float(np.sqrt(size[1]))  # by cells
        self.fineness = (fineness + (TWIN if mirrored else 0.0)) if speaks else 0.0
        self._network = network
        self._head = head
        self.channels = len(head.bias)
        self.dimensions = self.channels

    def extract(self, view: View, rect: Rect, stride: int) -> NDArray[np.float32]:
        """Run the network on a rectangle of the frame and its margin, at the rung's size."""
        fitted = view.fitted(input_size(*view.size, *self.size))
        if self.mirrored:
            fitted, rect = np.ascontiguousarray(fitted[:, ::-1]), _mirror(rect, view.size[1])
        part = reading(rect, view.size, *self.size)
        scores = crop_scores(self._network, self._head, fitted, part, view.deadline)
        return np.ascontiguousarray(scores[:, ::-1]) if self.mirrored else scores

    def poolable(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Class probabilities, and the embedding as it is."""
        chances = values.copy()
        make_chances(chances, self._head.classes)
        return chances

    def log_scores(self, values: NDArray[np.float32], classes: int) -> NDArray[np.float32]:
        """The network's own scores, floored as far below the highest as probabilities are below 1."""
        return floored_scores(values, classes, LOWEST)

    def extraction_pixels(self, rect: Rect, frame: tuple[int, int]) -> int:
        """The size of the network's input, margin included, which decides its cost."""
        return reading(rect, frame, *self.size).read.area

    def at(self, size: Size) -> Rung:
        """The same network and head at another size."""
        return Rung(self._network, self._head, size, self.speaks_of_classes, self.mirrored)

    def fingerprint(self) -> str:
        """A hash of the network, the head and the size."""
        digest = hashlib.sha256(f"{self.name} {self.version} {self._head.classes}".encode())
        for part in (self._network.graph, self._head.weight.tobytes(), self._head.bias.tobytes()):
            digest.update(part)
        return digest.hexdigest()


def rung_name(size: Size, mirrored: bool = False) -> str:
    """The name of the feature set at a size: `hypercolumn@250` at a quarter.

    `hypercolumn@250s667` keeps two thirds of the height that asks for, `hypercolumn@250m` is mirrored.
    """
    scale, squeeze = (round(1000 * share) for share in size)
    return f"{NETWORK}@{scale:03d}{'' if squeeze == 1000 else f's{squeeze:03d}'}{'m' if mirrored else ''}"


def size_of_name(name: str) -> Size:
    """The size of the rung of that name, with `hypercolumn@` or without; an error if it is none."""
    found = re.fullmatch(rf"(?:{NETWORK}@)?([0-9]{{3}}|1000)(?:s([0-9]{{3}}))?m?", name)
    if not found or not int(found[1]) or not int(found[2] or 1):
        raise ConfigError(
            f"'{name}' is no rung: it must be a scale in thousandths of the frame, from 001 to 1000, with "
            "s667 after it to keep 0.667 of its height, and m to mirror it"
        )
    return int(found[1]) / 1000, int(found[2] or 1000) / 1000


def is_mirrored(name: str) -> bool:
    """Whether a feature set is a rung that sees the frame mirrored."""
    return name.startswith(f"{NETWORK}@") and name.endswith("m")


def rung_of_name(name: str, network: Network, head: Head, speaks: bool) -> Rung:
    """The rung that has this name."""
    return Rung(network, head, size_of_name(name), speaks, name.endswith("m"))


def squeezed_sizes(names: Iterable[str]) -> tuple[Size, ...]:
    """The sizes of those of some feature sets that are squeezed rungs, each once."""
    sizes = dict.fromkeys(size_of_name(name) for name in names if name.startswith(f"{NETWORK}@"))
    return tuple(size for size in sizes if size[1] != 1)


def ladder(
    network: Network,
    head: Head,
    names: Sequence[str] = RUNGS,
    speaks: bool = True,
) -> dict[str, Rung]:
    """The rungs of these names; mirrored ones only if they speak: to trees they are no news."""
    rungs = [rung_of_name(name, network, head, speaks) for name in names]
    kept = {rung.name: rung for rung in rungs if speaks or not rung.mirrored}
    if not kept:
        raise ConfigError(f"no rung of {', '.join(names)} is left: mirrored ones need a head for the classes")
    return kept


def _mirror(rect: Rect, width: int) -> Rect:
    return Rect(rect.top, width - rect.right, rect.bottom, width - rect.left)


def head_to_arrays(head: Head, speaks: bool) -> dict[str, NDArray[Any]]:
    """What a model file keeps of its network's head."""
    arrays: dict[str, NDArray[Any]] = {f"{NETWORK}/weight": head.weight, f"{NETWORK}/bias": head.bias}
    return arrays if speaks else {**arrays, FOREIGN: np.array([head.classes])}


def head_from_arrays(arrays: Mapping[str, NDArray[Any]], classes: int) -> tuple[Head, bool]:
    """The head, and whether it speaks of the model's classes, which are so many."""
    weight, bias = (arrays[f"{NETWORK}/{part}"] for part in ("weight", "bias"))
    if FOREIGN in arrays:
        return Head(weight, bias, int(arrays[FOREIGN][0])), False
    return Head(weight, bias, classes), True


class HonestLadder:
    """Rungs for images that something is learned from: each image gets those of a part that has not seen it.

    backbone: with its parts. dataset: whose head to read. speaks: whether its classes are those learned.
    bare: whether to leave out the embedding.
    Sessions are made when first needed, and kept.
    """

    def __init__(
        self,
        backbone: Backbone,
        dataset: str,
        names: Sequence[str] = RUNGS,
        threads: int = 1,
        speaks: bool = True,
        bare: bool = False,
    ) -> None:
        if dataset not in backbone.classes:
            raise ConfigError(
                f"the backbone has no head for '{dataset}'; it has {', '.join(backbone.classes)}"
            )
        self._backbone = backbone
        self._dataset = dataset
        self._names = tuple(names)
        self._threads = threads
        self._speaks = speaks
        self._bare = bare
        self._parts: dict[str, dict[str, Rung]] = {}

    def for_image(self, image: NDArray[np.uint8]) -> dict[str, Rung]:
        """The rungs whose scores on this image are as honest as on a new one; an error if there are none."""
        return self.of_part(self._backbone.part_for(image_key(image)))

    def of_part(self, part: str) -> dict[str, Rung]:
        """The rungs of one part; those of the main part label new images."""
        if part not in self._parts:
            network = Network(self._backbone.graphs[part], self._threads)
            head = self._backbone.heads[part, self._dataset]
            head = head.first_rows(head.classes) if self._bare else head
            self._parts[part] = ladder(network, head, self._names, self._speaks)
        return self._parts[part]
