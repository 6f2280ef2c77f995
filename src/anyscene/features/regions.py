"""`RegionFeatures`: the features of one image's regions, extracted and pooled when asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ConfigError
from anyscene.features.layers import Layers
from anyscene.features.ledger import Work
from anyscene.features.pooling import Map, Pooling, Sums, average, pool, sum_up
from anyscene.features.sets import SHAPES, Bank, FeatureSet
from anyscene.features.view import View
from anyscene.hierarchy import Tree


class RegionFeatures:
    """The features of one image's regions.

    Features of a layer depend on the image and the bank, but not on how far the tree was grown when they were
    asked for. What was extracted or pooled once is never computed again: when the tree grows, only its new
    layers are pooled.

    bank: the sets to draw from. view: the image. tree: of the same image; the caller grows it.
    """

    def __init__(self, bank: Bank, view: View, tree: Tree) -> None:
        if tuple(tree.size) != view.size:
            raise ConfigError(
                f"the tree is of a frame of {tree.size}, the view of {view.size}: use one frame"
            )
        self.bank = bank
        self.view = view
        view.shrunk = tree.shrunk
        self.layers = Layers(tree, view.ledger)
        # A set that follows the tree has a map for each of its strides, all others have one.
        self._maps: dict[tuple[str, int | None], Map] = {}
        self._poolable: dict[tuple[str, int | None], Map] = {}
        self._pooled: dict[tuple[str, int], Sums] = {}
        self._features: dict[tuple[str, int], NDArray[np.float32]] = {}

    def features(self, name: str, layer: int) -> NDArray[np.float32]:
        """Features float32[n, dimensions] of a layer's regions; the set is extracted if it has not been."""
        if (name, layer) not in self._features:
            chosen = self.bank[name]
            sums = None if chosen.pooling is None else self._sums(chosen, layer)
            with self.view.ledger.charge(self._finish_work(chosen, layer)):
                pooled = np.zeros((self.layers.count(layer), 0), np.float32)
                if sums is not None and chosen.pooling is not None:
                    pooled = chosen.pooling.finish(sums.sums, sums.weights)
                self._features[name, layer] = chosen.features(pooled, lambda: self.layers.shapes(layer))
        return self._features[name, layer]

    def log_scores(self, name: str, classes: int) -> NDArray[np.float32]:
        """Log-scores of the cells of a set's map, which was extracted before; see `FeatureSet`."""
        chosen = self.bank[name]
        return chosen.log_scores(self._maps[name, self._stride(chosen, 0)].values, classes)

    def extract(self, name: str, layer: int = 0) -> None:
        """Extract the map of a set unless it is in hand.

        layer: matters only for sets whose map follows the tree's strides.
        """
        chosen = self.bank[name]
        stride = self._stride(chosen, layer)
        if (name, stride) in self._maps:
            return
        with self.view.ledger.charge(self._extraction_work(chosen)):
            view = self.view.at(self.layers.stride(layer)) if chosen.follows_tree else self.view
            self._maps[name, stride] = Map(chosen.extract(view), stride)

    def pending(self, name: str, layer: int) -> list[Work]:
        """The work that `features(name, layer)` would cause now."""
        chosen = self.bank[name]
        work: list[Work] = []
        if chosen.pooling is not None and (name, layer) not in self._pooled:
            if (name, self._stride(chosen, layer)) not in self._maps:
                work += self._pending_extraction(chosen, layer)
            work += self._pending_pooling(chosen, layer)
        if (name, layer) not in self._features:
            work.append(self._finish_work(chosen, layer))
            if SHAPES in chosen.needs and not self.layers.has_shapes(layer):
                work.append(self.layers.shapes_work(layer))
        return work

    def _pending_extraction(self, chosen: FeatureSet, layer: int) -> list[Work]:
        bare = self.layers.stride(layer) if chosen.follows_tree else 1
        needs = [need.partition("/") for need in chosen.needs if need != SHAPES]
        maps = [(name, int(stride) if stride else bare) for name, _, stride in needs]
        shared = [self.view.shared_work(*wanted) for wanted in maps if not self.view.has(*wanted)]
        return [*shared, self._extraction_work(chosen)]

    def _pending_pooling(self, chosen: FeatureSet, layer: int) -> list[Work]:
        work: list[Work] = []
        if not self._is_averaged(chosen, layer):
            finest, stride = self.layers.level(layer)[-1], self._stride(chosen, layer)
            if not self.layers.has_grid(finest):
                work.append(self.layers.grid_work(finest))
            if stride is None or stride > self.layers.stride(layer):
                # Another set's map of the same geometry may share its taps; counting them is the safe side.
                work.append(Work("taps", self.layers.blocks(layer), self.layers.count(finest)))
        return [*work, self._pool_work(chosen, layer)]

    def _stride(self, chosen: FeatureSet, layer: int) -> int | None:
        return self.layers.stride(layer) if chosen.follows_tree else chosen.stride

    def _sums(self, chosen: FeatureSet, layer: int) -> Sums:
        """A layer's sums, pooled together with those of its level that are not in hand."""
        self.extract(chosen.name, layer)
        if (chosen.name, layer) not in self._pooled:
            with self.view.ledger.charge(self._pool_work(chosen, layer)):
                found = self._to_pool(chosen, layer)
                if self._is_averaged(chosen, layer):
                    self._pooled[chosen.name, layer] = average(found, self.layers.blocks(layer))
                else:
                    self._pool_level(chosen, found, layer)
        return self._pooled[chosen.name, layer]

    def _to_pool(self, chosen: FeatureSet, layer: int) -> Map:
        """What of a map is pooled; made once, when something is."""
        key = chosen.name, self._stride(chosen, layer)
        if key not in self._poolable:
            found = self._maps[key]
            self._poolable[key] = Map(chosen.poolable(found.values), found.stride)
        return self._poolable[key]

    def _pool_level(self, chosen: FeatureSet, found: Map, layer: int) -> None:
        assert chosen.pooling is not None
        missing = [k for k in self.layers.level(layer) if (chosen.name, k) not in self._pooled]
        finest, coarsest = missing[-1], missing[0]
        grid = self.layers.grid(finest)
        if grid.needs_taps(found):
            with self.view.ledger.charge(Work("taps", self.layers.blocks(finest), grid.regions)):
                grid.taps(found)
        sums = pool(found, chosen.pooling, chosen.channels, grid)
        for current in range(finest, coarsest - 1, -1):
            if current < finest:
                sums = Sums(sum_up(sums.table, self.layers.parents(current + 1), self.layers.count(current)))
            self._pooled.setdefault((chosen.name, current), sums)

    def _is_averaged(self, chosen: FeatureSet, layer: int) -> bool:
        """Whether the image as a whole takes the mean of a smooth map's cells: no grid is drawn for that."""
        return layer == 0 and chosen.pooling is Pooling.MEAN and self._stride(chosen, layer) is None

    def _extraction_work(self, chosen: FeatureSet) -> Work:
        return Work(f"extract:{chosen.name}", chosen.extraction_pixels(self.view.size))

    def _pool_work(self, chosen: FeatureSet, layer: int) -> Work:
        if self._is_averaged(chosen, layer):
            return Work(f"average:{chosen.name}", chosen.extraction_pixels(self.view.size))
        # A map finer than the grid is read in full.
        grid_stride = self.layers.stride(layer)
        pixels = self.view.pixels // min(grid_stride, self._stride(chosen, layer) or grid_stride) ** 2
        return Work(f"pool:{chosen.name}", pixels, self.layers.count(self.layers.level(layer)[-1]))

    def _finish_work(self, chosen: FeatureSet, layer: int) -> Work:
        return Work(f"finish:{chosen.name}", 0, self.layers.count(layer))
