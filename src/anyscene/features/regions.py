"""`RegionFeatures`: the features of one image's regions, extracted and pooled when asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ConfigError
from anyscene.features.layers import Layers
from anyscene.features.ledger import Work
from anyscene.features.pooling import Piece, Pooling, Sums, average, pool, sum_up
from anyscene.features.sets import SHAPES, Bank, FeatureSet
from anyscene.features.tiles import Tiles
from anyscene.features.view import Rect, View
from anyscene.hierarchy import Tree


@dataclass(eq=False)
class _Pooled:
    """What the first `pieces` pieces of a set gave the regions of one layer."""

    sums: Sums
    pieces: int = 0


class RegionFeatures:
    """The features of one image's regions.

    Features of a layer depend on the image, the bank and what was extracted, but not on how far the tree was
    grown when they were asked for. What was extracted or pooled once is never computed again: when the tree
    grows, only its new layers are pooled.

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
        self._pieces: dict[tuple[str, int], list[Piece]] = {}
        self._poolable: dict[int, Piece] = {}
        self._tiles: dict[str, Tiles] = {}
        self._pooled: dict[tuple[str, int], _Pooled] = {}
        self._features: dict[tuple[str, int], tuple[int, NDArray[np.float32]]] = {}

    def features(self, name: str, layer: int) -> NDArray[np.float32]:
        """Features float32[n, dimensions] of a layer's regions; rows that are not `covered` mean nothing.

        When nothing was extracted of the set so far, the whole frame is.
        """
        chosen = self.bank[name]
        pieces = len(self._extracted(chosen, layer))
        known = self._features.get((name, layer))
        if known is None or known[0] != pieces:
            sums = None if chosen.pooling is None else self._sums(chosen, layer)
            with self.view.ledger.charge(self._finish_work(chosen, layer)):
                pooled = np.zeros((self.layers.count(layer), 0), np.float32)
                if sums is not None and chosen.pooling is not None:
                    pooled = chosen.pooling.finish(sums.sums, sums.weights)
                known = pieces, chosen.features(pooled, lambda: self.layers.shapes(layer))
            self._features[name, layer] = known
        return known[1]

    def log_scores(self, name: str, classes: int) -> NDArray[np.float32]:
        """Log-scores of the cells of a set's map, whose whole frame was extracted; see `FeatureSet`."""
        chosen = self.bank[name]
        pieces = self._pieces.get((name, self._stride(chosen, 0)), [])
        whole = next(piece.values for piece in pieces if self._is_whole(piece.rect))
        return chosen.log_scores(whole, classes)

    def covered(self, name: str, layer: int) -> NDArray[np.bool_]:
        """bool[n], the regions of a layer that lie wholly in what was extracted of a set."""
        chosen = self.bank[name]
        pieces = self._extracted(chosen, layer)
        if chosen.pooling is None or any(self._is_whole(piece.rect) for piece in pieces):
            return np.ones(self.layers.count(layer), bool)
        return self._sums(chosen, layer).inside >= self.layers.areas(layer)

    def covered_share(self, name: str) -> float:
        """Share of the frame that was extracted of a set so far; 1 for sets without a map."""
        chosen = self.bank[name]
        if chosen.pooling is None:
            return 1.0
        covered = np.zeros(self.view.size, bool)
        for (owner, _), pieces in self._pieces.items():
            for piece in pieces if owner == name else ():
                covered[piece.rect.top : piece.rect.bottom, piece.rect.left : piece.rect.right] = True
        return float(covered.mean())

    def extract(self, name: str, rect: Rect | None = None, layer: int = 0) -> None:
        """Extract a set for `rect` (default: the whole frame), without what is in hand already.

        layer: matters only for sets whose map follows the tree's strides.
        """
        chosen = self.bank[name]
        stride = self._stride(chosen, layer)
        for part in self._missing(chosen, stride, rect):
            with self.view.ledger.charge(_extraction(chosen, part, self.view.size)):
                values = chosen.extract(self.view, part, stride)
            extent = part
            if chosen.is_strided:
                # The last cells may be cut short by the frame, as are the last blocks of a grid.
                rows, columns = values.shape[:2]
                extent = Rect(part.top, part.left, part.top + rows * stride, part.left + columns * stride)
            self._pieces.setdefault((name, stride), []).append(
                Piece(values, extent, smooth=not chosen.is_strided)
            )
            if chosen.local:
                self._tiles[name].mark(part)

    def pending(self, name: str, layer: int, rect: Rect | None = None) -> list[Work]:
        """The work that `features(name, layer)` would cause now, after extracting `rect` if that is given."""
        chosen = self.bank[name]
        work: list[Work] = []
        stride = self._stride(chosen, layer)
        in_hand = self._pieces.get((name, stride), [])
        missing: list[Rect] = []
        if chosen.pooling is not None:
            missing = self._missing(chosen, stride, rect) if rect or not in_hand else []
            if missing:
                maps = [_map_and_stride(need, chosen, stride) for need in chosen.needs if need != SHAPES]
                work += [self.view.shared_work(*wanted) for wanted in maps if not self.view.has(*wanted)]
            work += [_extraction(chosen, part, self.view.size) for part in missing]
            if self._pieces_in(chosen, layer) < len(in_hand) + len(missing):
                latest = missing[-1] if missing else in_hand[-1].rect
                if self._is_averaged(chosen, layer, latest):
                    work.append(self._pool_work(chosen, layer))
                else:
                    work += self._pending_pooling(chosen, layer, missing)
        known = self._features.get((name, layer))
        if known is None or known[0] != len(in_hand) + len(missing):
            work.append(self._finish_work(chosen, layer))
            if SHAPES in chosen.needs and not self.layers.has_shapes(layer):
                work.append(self.layers.shapes_work(layer))
        return work

    def _pending_pooling(self, chosen: FeatureSet, layer: int, missing: list[Rect]) -> list[Work]:
        finest, blocks = self.layers.level(layer)[-1], self.layers.blocks(layer)
        work = [] if self.layers.has_grid(finest) else [self.layers.grid_work(finest)]
        if chosen.stride is not None and not 0 < chosen.stride <= self.layers.stride(layer):
            # Taps may be shared with another set's map of the same geometry; counting them is the safe side.
            work += [Work("taps", blocks, self.layers.count(finest))] * max(1, len(missing))
        return [*work, self._pool_work(chosen, layer)]

    def _stride(self, chosen: FeatureSet, layer: int) -> int:
        return self.layers.stride(layer) if chosen.stride is None else chosen.stride

    def _extracted(self, chosen: FeatureSet, layer: int) -> list[Piece]:
        """The pieces in hand; the whole frame is extracted if there are none."""
        if chosen.pooling is None:
            return []
        key = chosen.name, self._stride(chosen, layer)
        if key not in self._pieces:
            self.extract(chosen.name, None, layer)
        return self._pieces[key]

    def _missing(self, chosen: FeatureSet, stride: int, rect: Rect | None) -> list[Rect]:
        """What must be extracted so that `rect` is in hand."""
        rect = self.view.rect if rect is None else rect
        if chosen.local:
            tiles = self._tiles.setdefault(chosen.name, Tiles(self.view.size, self.layers.stride(0)))
            return tiles.missing(rect)
        if chosen.is_strided:
            rect = self.view.rect  # a strided map that is not local exists only for the frame as a whole
        inside = (piece.rect for piece in self._pieces.get((chosen.name, stride), ()))
        return [] if any(_holds(piece, rect) for piece in inside) else [rect]

    def _sums(self, chosen: FeatureSet, layer: int) -> Sums:
        """A layer's sums, brought up to date together with those of its level that lag equally."""
        pieces = self._extracted(chosen, layer)
        done = self._pieces_in(chosen, layer)
        if done < len(pieces) and self._is_averaged(chosen, layer, pieces[-1].rect):
            with self.view.ledger.charge(self._pool_work(chosen, layer)):
                sums = average(self._to_pool(chosen, pieces[-1]), self.layers.blocks(layer))
            self._pooled[chosen.name, layer] = _Pooled(sums, len(pieces))
        elif done < len(pieces):
            lagging = [k for k in self.layers.level(layer) if self._pieces_in(chosen, k) == done]
            with self.view.ledger.charge(self._pool_work(chosen, layer)):
                for piece in pieces[done:]:
                    self._pool_piece(chosen, self._to_pool(chosen, piece), lagging)
            for current in lagging:
                self._pooled[chosen.name, current].pieces = len(pieces)
        return self._pooled[chosen.name, layer].sums

    def _pieces_in(self, chosen: FeatureSet, layer: int) -> int:
        pooled = self._pooled.get((chosen.name, layer))
        return 0 if pooled is None else pooled.pieces

    def _to_pool(self, chosen: FeatureSet, piece: Piece) -> Piece:
        """What of a piece is pooled; made once, when something is."""
        if id(piece) not in self._poolable:
            self._poolable[id(piece)] = replace(piece, values=chosen.poolable(piece.values))
        return self._poolable[id(piece)]

    def _pool_piece(self, chosen: FeatureSet, piece: Piece, lagging: list[int]) -> None:
        assert chosen.pooling is not None
        finest, coarsest = lagging[-1], lagging[0]
        grid = self.layers.grid(finest)
        if grid.needs_taps(piece):
            with self.view.ledger.charge(Work("taps", self.layers.blocks(finest), grid.regions)):
                grid.taps(piece)
        new = pool(piece, chosen.pooling, chosen.channels, grid)
        for layer in range(finest, coarsest - 1, -1):
            if layer < finest:
                new = Sums(sum_up(new.table, self.layers.parents(layer + 1), self.layers.count(layer)))
            if layer not in lagging:
                continue
            known = self._pooled.setdefault((chosen.name, layer), _Pooled(new))
            if known.sums is new:
                continue
            if chosen.local:
                known.sums.table += new.table
            else:
                # Crops of such a set differ where they overlap, so no region may mix two of them.
                area = self.layers.areas(layer)
                fresh = (new.inside >= area) & (known.sums.inside < area)
                known.sums.table[fresh] = new.table[fresh]

    def _is_averaged(self, chosen: FeatureSet, layer: int, rect: Rect) -> bool:
        """Whether the image as a whole takes the mean of a smooth map's cells: no grid is drawn for that."""
        is_smooth = chosen.pooling is Pooling.MEAN and not (chosen.is_strided or chosen.local)
        return layer == 0 and is_smooth and self._is_whole(rect)

    def _is_whole(self, rect: Rect) -> bool:
        return _holds(rect, self.view.rect)

    def _pool_work(self, chosen: FeatureSet, layer: int) -> Work:
        if self._is_averaged(chosen, layer, self.view.rect):
            return Work(f"average:{chosen.name}", chosen.extraction_pixels(self.view.rect, self.view.size))
        # A map finer than the grid is read in full.
        stride = min(self.layers.stride(layer), chosen.stride or self.layers.stride(layer))
        pixels = self.view.rect.area // stride**2
        return Work(f"pool:{chosen.name}", pixels, self.layers.count(self.layers.level(layer)[-1]))

    def _finish_work(self, chosen: FeatureSet, layer: int) -> Work:
        return Work(f"finish:{chosen.name}", 0, self.layers.count(layer))


def _map_and_stride(need: str, chosen: FeatureSet, stride: int) -> tuple[str, int]:
    name, _, own = need.partition("/")
    return name, int(own) if own else stride if chosen.stride is None else 1


def _extraction(chosen: FeatureSet, rect: Rect, frame: tuple[int, int]) -> Work:
    return Work(f"extract:{chosen.name}", chosen.extraction_pixels(rect, frame))


def _holds(outer: Rect, inner: Rect) -> bool:
    return (
        outer.top <= inner.top
        and outer.left <= inner.left
        and outer.bottom >= inner.bottom
        and outer.right >= inner.right
    )
