"""From a corpus to the pool of actions, in stages: sequences, climbs, pruning, a guide, plans (4.1)."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import DataError
from anyscene.learning.config import TrainConfig
from anyscene.learning.corpus import Corpus
from anyscene.learning.helpers import Helpers, Report
from anyscene.learning.proposals.climbs import propose_climbs
from anyscene.learning.proposals.courses import HORIZON_FACTOR, propose_courses
from anyscene.learning.proposals.guide import search_guide, with_long_end
from anyscene.learning.proposals.planning import make_plans
from anyscene.learning.proposals.pool import Proposals, combine, prune, restrict_actions
from anyscene.learning.proposals.static_sequence import (
    ProposalSettings,
    cluster,
    greedy_sequence,
    set_prices,
)
from anyscene.learning.proposals.wanted import Wanted, propose_all
from anyscene.learning.run_folder import RunFolder
from anyscene.learning.storage import sequence_from_arrays, sequence_to_arrays
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Action


def propose(
    corpus: Corpus,
    costs: ActionCosts,
    config: TrainConfig,
    folder: RunFolder,
    seed: np.random.SeedSequence,
    report: Report,
    helpers: Helpers,
) -> Proposals:
    """Sequences on all images and on clusters, climbs, a guide and plans, and the pruned pool of them."""
    if not config.detail:
        return propose_courses(corpus, costs, config, folder, seed, report, helpers)
    sequence_seed, climb_seed, prune_seed = seed.spawn(3)
    settings = config.proposals()
    clusters = cluster(corpus, config.clusters, costs, int(sequence_seed.generate_state(1)[0]))
    groups = [
        ("static sequence", corpus.fit),
        *((f"sequence of cluster {i + 1}", tuple(group)) for i, group in enumerate(clusters)),
    ]
    seeds = sequence_seed.spawn(len(groups))
    wanted = [Wanted(stage, group, own) for (stage, group), own in zip(groups, seeds, strict=True)]
    found = propose_all(partial(_sequence, corpus, costs, settings), wanted, folder, helpers, report)
    sequences = list(map(sequence_from_arrays, found))
    if not sequences[0].actions:
        raise DataError("no action improves on the prior: the feature sets say nothing about these classes")
    steps = max(2, round(HORIZON_FACTOR * max(len(sequence.actions) for sequence in sequences)))
    report("climbs", 0, 1, "fitting blends")
    climbs = propose_climbs(corpus, set_prices(costs), settings.learners, climb_seed)
    report("climbs", 1, 1, f"{len(climbs)} of them")
    everything = combine(corpus, [*sequences, *climbs], costs, settings, steps)
    judging = corpus.explored[:: max(1, len(corpus.explored) // config.guide_images)]
    # Plans and ends are judged by where they end, where images differ more than policies do: by more of them.
    many = corpus.held_out[:: max(1, len(corpus.held_out) // (2 * config.guide_images))]
    of_both = (*many, *corpus.some_fitted(len(many)))
    report("pool", 0, 1, f"{len(everything.model.actions)} proposals")

    def choose_pool() -> dict[str, list[int]]:
        planned = replace(everything, plans=make_plans(everything, of_both, config.threads))
        return {"kept": prune(planned, config.pool, config.prune_images, config.threads, prune_seed)}

    kept = folder.document("pool", choose_pool)["kept"]
    report("pool", 1, 1, f"{len(kept)} actions kept")
    pruned = restrict_actions(everything, kept)
    report("guide", 0, 1, f"{config.guide_rounds} rounds at most")

    def find_guides() -> dict[str, list[tuple[int, ...]]]:
        groups = (judging, corpus.some_fitted(len(judging)))
        found = search_guide(pruned, groups, config.guide_rounds, config.threads)
        # Whoever follows S-M and goes on after its end cannot fall behind it: that is the safest.
        both = (pruned.sequences[0], found)
        return {"found": [with_long_end(pruned, sequence, many, config.threads) for sequence in both]}

    guides = tuple(tuple(guide) for guide in folder.document("guides", find_guides)["found"])
    report("guide", 1, 1, f"{len(guides[-1])} actions")
    guided = replace(pruned, guides=guides)
    plans = make_plans(guided, of_both, config.threads)
    report("plans", 1, 1, f"{len(plans)} for known deadlines")
    return replace(guided, plans=plans)


def _sequence(
    corpus: Corpus,
    costs: ActionCosts,
    settings: ProposalSettings,
    wanted: Wanted,
    threads: int,
    report: Report,
) -> dict[str, NDArray[Any]]:
    def on_step(step: int, action: Action, loss: float) -> None:
        report(wanted.stage, step + 1, settings.max_steps, f"{_name(action)}, held-out loss {loss:.4f}")

    own = replace(settings, threads=threads)
    return sequence_to_arrays(greedy_sequence(corpus, wanted.group, costs, own, wanted.seed, on_step))


def _name(action: Action) -> str:
    return ", ".join(
        f"{type(action).__name__.lower()} {value}" for value in list(asdict(action).values())[-1:]
    )
