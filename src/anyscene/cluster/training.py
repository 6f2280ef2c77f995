"""Training with the help of a cluster; the model is that of one machine, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from anyscene.cluster.extraction import extract_on_ray
from anyscene.cluster.helpers import RayHelpers
from anyscene.data import DataSet
from anyscene.learning.banks import Backbones
from anyscene.learning.config import TrainConfig
from anyscene.learning.corpus_building import Ahead


@dataclass(frozen=True)
class ClusterSpread:
    """So many cores of the cluster that was joined (`anyscene.learning.train.Spread`)."""

    cores: int

    @property
    def helpers(self) -> RayHelpers:
        """Those who propose sequences and explore."""
        return RayHelpers(self.cores)

    def extraction(
        self,
        data: DataSet,
        names: Sequence[str],
        arrays: Mapping[str, NDArray[Any]],
        backbones: Backbones,
        config: TrainConfig,
    ) -> Ahead:
        """Let nodes extract features."""
        return extract_on_ray(self.cores, data, names, arrays, backbones, config)
