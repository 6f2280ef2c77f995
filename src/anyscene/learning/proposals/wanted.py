"""The sequences that are proposed, on all images and on clusters of them: each is a job of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from anyscene.learning.corpus import Example
from anyscene.learning.helpers import Helpers, Report
from anyscene.learning.run_folder import RunFolder
from anyscene.named_arrays import Arrays


@dataclass(frozen=True)
class Wanted:
    """A sequence to be proposed. stage : its name. group : the fitted images whose mean counts."""

    stage: str
    group: tuple[Example, ...]
    seed: np.random.SeedSequence
    far_sighted: bool = False


Propose = Callable[[Wanted, int, Report], Arrays]
"""Proposes one, with so many threads."""

Inputs = tuple[Propose, Sequence[Wanted], int, Report]


def propose_all(
    propose: Propose, wanted: Sequence[Wanted], folder: RunFolder, helpers: Helpers, report: Report
) -> list[Arrays]:
    """All that are wanted, as arrays; helpers make those that the run folder has not."""

    def make(missing: Sequence[int]) -> Iterator[tuple[int, Arrays]]:
        share = helpers.share((propose, wanted, helpers.threads, helpers.report))
        for done, (index, found) in enumerate(share(_propose, missing), len(wanted) - len(missing) + 1):
            report("sequences", done, len(wanted), wanted[index].stage)
            yield index, found

    return folder.arrays_of_all([f"sequence-{index}" for index in range(len(wanted))], make)


def _propose(inputs: Inputs, index: int) -> Arrays:
    propose, wanted, threads, report = inputs
    return propose(wanted[index], threads, report)
