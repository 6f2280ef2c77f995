"""From scenes to the corpus that a model is learned from, and what actions cost on such images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.costs.cost_file import price_actions
from anyscene.data import DataSet, SceneList
from anyscene.data.splits import evenly_spread
from anyscene.errors import DataError
from anyscene.features.cache import FeatureCache
from anyscene.files import cache_dir
from anyscene.hierarchy import LAYERS, working_frame
from anyscene.learning.banks import Banks, bank_unless_copy
from anyscene.learning.config import TrainConfig
from anyscene.learning.corpus import Corpus
from anyscene.learning.extraction import Extract, branching, extract, fit_corpus_bins, to_example
from anyscene.learning.helpers import Report
from anyscene.learning.parallel import map_threads
from anyscene.model.action_costs import ActionCosts

MOST_JUDGES = 120
"""Images that judge policies where all are judged by chains that have not seen them."""


Ahead = Callable[[SceneList, Sequence[int], FeatureCache], None]
"""Fills the cache with the features of some scenes, on other machines."""


def build_corpus(
    data: DataSet,
    banks: Banks,
    config: TrainConfig,
    measured: Mapping[str, Any],
    report: Report,
    ahead: Ahead | None = None,
) -> tuple[Corpus, ActionCosts]:
    """Extract (or find in the cache) the features of all images, and divide the images up."""
    scenes = data.split("train")
    chosen = [i for i in range(len(scenes)) if scenes.truth(i) is not None]
    if config.images and len(chosen) > config.images:
        chosen = [chosen[i] for i in evenly_spread(len(chosen), config.images)]
    cache = FeatureCache(cache_dir() / "features")
    if ahead is not None:
        ahead(scenes, chosen, cache)
    done: list[int] = []
    left_out: list[str] = []

    def work(index: int) -> Extract | None:
        scene = scenes[index]
        bank = bank_unless_copy(banks, scene, left_out, len(chosen))
        made = extract(scene, bank, len(data.classes), cache) if bank is not None else None
        done.append(index)
        report(
            "features", len(done), len(chosen), scene.id if made else f"{scene.id} left out: in both halves"
        )
        return made

    extracts = [made for made in map_threads(work, chosen, config.threads) if made]
    ids = [extracted.id for extracted in extracts]
    # Without detail every image is fitted to, and judged along a line that has not seen it.
    held_out = _held_out(data, ids) if config.detail else np.zeros(len(ids), np.bool_)
    bins = fit_corpus_bins([e for e, held in zip(extracts, held_out, strict=True) if not held])
    whole = banks.whole
    speaking = frozenset(name for name, feature_set in whole.items() if feature_set.speaks_of_classes)
    rungs = sorted((s for s in bins if whole[s].fineness), key=lambda name: whole[name].fineness)
    examples = [to_example(extracted, bins, speaking) for extracted in extracts]
    fitted = tuple(e for e, held in zip(examples, held_out, strict=True) if not held)
    apart = tuple(e for e, held in zip(examples, held_out, strict=True) if held)
    networks = tuple(tuple(bins).index(name) for name in rungs)
    corpus = Corpus(
        fit=fitted,
        held_out=apart or tuple(examples[:: -(-len(examples) // MOST_JUDGES)]),
        sets=tuple(bins),
        speaking=speaking,
        networks=networks,
        ladder=networks if config.detail else (),
        bins=bins,
        classes=len(data.classes),
        layer_count=LAYERS,
    )
    frame = working_frame(scenes.image(chosen[len(chosen) // 2]))
    return corpus, price_actions(banks.whole, frame, measured, branching([e.tree for e in extracts]))


def _held_out(data: DataSet, ids: Sequence[str]) -> NDArray[np.bool_]:
    """Which images weak learners are not fitted to: those of the smaller of the data set's two halves.

    Halves are made of whole drives where the data is video, and their images have scores from different
    networks: what helps on both sides will help on a new image. Runs of neighbours held out of each drive did
    not show that trees on top of a network make other drives worse.
    """
    halves = [np.isin(ids, data.split(fold).ids) for fold in ("a", "b")]
    held_out = min(halves, key=lambda half: int(half.sum()))
    if not 0 < held_out.sum() < len(ids):
        raise DataError(
            f"{data.name} has no two halves to learn from; its splits 'a' and 'b' must not be empty"
        )
    return np.asarray(held_out)
