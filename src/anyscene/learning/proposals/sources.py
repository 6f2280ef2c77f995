"""What a bundle of weak learners may look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyscene.learning.corpus import Corpus
from anyscene.model.chain import PARENT_BELIEF


@dataclass(frozen=True)
class Sources:
    """What a bundle looks at. new : the sets not in hand. blends : its one learner blends them all."""

    every: tuple[int, ...]
    new: tuple[int, ...] = ()
    blends: bool = False


def choices_of_sources(corpus: Corpus, in_hand: Sequence[int], after_split: bool) -> list[Sources]:
    """What a bundle may look at: the sets in hand, alone and with each of the others.

    A network is blended with parents' beliefs, and trees come no more once it is in hand: on the drives that
    they are fitted to they look useful, on others they make labels worse. A blend makes beliefs anew, so it
    is for a network that has just come, and for leaves that have just been split.
    """
    networks = [source for source in corpus.networks if source in in_hand]
    coming = [source for source in corpus.networks if source not in in_hand]
    found = [Sources((PARENT_BELIEF, *networks, new), (new,), blends=True) for new in coming]
    if networks:
        return [Sources((PARENT_BELIEF, *networks), (), blends=True), *found] if after_split else found
    base = (PARENT_BELIEF, *in_hand)
    others = [s for s in range(len(corpus.sets)) if s not in in_hand and s not in coming]
    found += [Sources((*base, new), (new,)) for new in others]
    return [Sources(base), *found] if in_hand else found
