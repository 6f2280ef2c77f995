"""The ladder: networks at several input sizes, each rung a feature set of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ConfigError
from anyscene.features.hypercolumn.backbone import MAIN, Backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.network import Head, Network, head_to_arrays
from anyscene.features.hypercolumn.probabilities import floored_scores, make_probabilities
from anyscene.features.hypercolumn.rung import RUNGS, Rung
from anyscene.features.hypercolumn.watchdog import Ended, OutOfTime
from anyscene.features.pooling import Pooling
from anyscene.features.sets import SCORE_FLOOR, FeatureSet
from anyscene.features.view import View
from anyscene.hierarchy import working_frame

LOWEST = np.log(SCORE_FLOOR)
"""How far below the highest score of a cell others count at most."""

GLANCE = Rung(0.25)
"""Where the network tells familiar images from others: docs/research/2026-11-18-familiarity.md."""

TWIN = 1e-4
"""Fineness that a mirrored rung has beyond its twin, so that it comes after it in order."""


class RungScores(FeatureSet):
    """Class scores and an embedding from a network at one rung; regions get mean probabilities.

    The map of a mirrored rung lies as the frame does.

    speaks: whether the head's classes are those of the model. If not, its scores are features like others.
    """

    pooling = Pooling.MEAN
    stride = None
    version = 3

    def __init__(self, network: Network, head: Head, rung: Rung, speaks: bool = True) -> None:
        self.name = str(rung)
        self.rung = rung
        self.speaks_of_classes = speaks
        self.fineness = float(np.sqrt(rung.area)) + (TWIN if rung.mirrored else 0.0) if speaks else 0.0
        self._network = network
        self._head = head
        self.channels = len(head.bias)
        self.dimensions = self.channels

    def extract(self, view: View) -> NDArray[np.float32]:
        """Run the network on the frame at the rung's size."""
        columns = slice(None, None, -1 if self.rung.mirrored else 1)
        fitted = np.ascontiguousarray(view.fitted(self.rung.input_size(view.size))[:, columns])
        scores = self._network.scores(fitted, self._head, view.deadline)
        return np.ascontiguousarray(scores[:, columns])

    def end_runs(self, raises: type[Ended] = OutOfTime) -> None:
        """End the network's runs under way, at all rungs; see `Network.end_runs`."""
        self._network.end_runs(raises)

    def poolable(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Class probabilities, and the embedding as it is."""
        chances = values.copy()
        make_probabilities(chances, self._head.classes)
        return chances

    def log_scores(self, values: NDArray[np.float32], classes: int) -> NDArray[np.float32]:
        """The network's own scores, relative to the highest of each cell and floored."""
        return floored_scores(values, classes, LOWEST)

    def extraction_pixels(self, frame: tuple[int, int]) -> int:
        """The size of the network's input, which decides its cost."""
        height, width = self.rung.input_size(frame)
        return height * width

    def glance(self, view: View) -> NDArray[np.float32]:
        """What the network makes of the frame as a whole, at one small size whatever the rung."""
        return self._network.mean_features(np.ascontiguousarray(view.fitted(GLANCE.input_size(view.size))))

    def at(self, rung: Rung) -> RungScores:
        """The same network and head at another rung."""
        return RungScores(self._network, self._head, rung, self.speaks_of_classes)

    def fingerprint(self) -> str:
        """A hash of the network, the head and the rung."""
        digest = hashlib.sha256(f"{self.name} {self.version} {self._head.classes}".encode())
        for part in (self._network.graph, self._head.weight.tobytes(), self._head.bias.tobytes()):
            digest.update(part)
        return digest.hexdigest()


def glance_at(image: NDArray[np.uint8], bank: Iterable[FeatureSet]) -> NDArray[np.float32] | None:
    """What the first network of some feature sets makes of an image as a whole; None if there is none."""
    rung = next((chosen for chosen in bank if isinstance(chosen, RungScores)), None)
    return None if rung is None else rung.glance(View(working_frame(image)))


def ladder(
    network: Network, head: Head, rungs: Iterable[Rung] = RUNGS, speaks: bool = True
) -> dict[str, RungScores]:
    """The feature sets of these rungs; mirrored ones only if they speak: they tell trees nothing new."""
    kept = [rung for rung in rungs if speaks or not rung.mirrored]
    if not kept:
        raise ConfigError("no rung is left: mirrored ones need a head for the classes; name others")
    return {str(rung): RungScores(network, head, rung, speaks) for rung in kept}


class HonestLadder:
    """Rungs for images that something is learned from: each image gets those of a part that has not seen it.

    A part's session is made when it is first needed, and kept.

    backbone: the network with its parts. dataset: the data set whose head is read. rungs: those to make, all
    of this network. threads: CPU threads of a session. speaks: whether the head's classes are those that are
    learned. bare: whether to leave out the embedding.
    """

    def __init__(
        self,
        backbone: Backbone,
        dataset: str,
        rungs: Iterable[Rung] = RUNGS,
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
        self._rungs = tuple(rungs)
        self._threads = threads
        self._speaks = speaks
        self._bare = bare
        self._parts: dict[str, dict[str, RungScores]] = {}

    def for_image(self, image: NDArray[np.uint8]) -> dict[str, RungScores]:
        """The rungs of a part that was not fitted to this image; an error if there is none."""
        return self.of_part(self._backbone.part_for(image_key(image)))

    def in_model(self) -> tuple[dict[str, NDArray[Any]], dict[str, bytes]]:
        """The arrays and the graph that a model file keeps of the network."""
        name = self._rungs[0].network
        head = self._backbone.heads[MAIN, self._dataset]
        return head_to_arrays(head, self._speaks, name), {name: self._backbone.graphs[MAIN]}

    def of_part(self, part: str) -> dict[str, RungScores]:
        """The rungs of one part; those of the part `train` label new images."""
        if part not in self._parts:
            network = Network(self._backbone.graphs[part], self._threads)
            head = self._backbone.heads[part, self._dataset]
            head = head.first_rows(head.classes) if self._bare else head
            self._parts[part] = ladder(network, head, self._rungs, self._speaks)
        return self._parts[part]
