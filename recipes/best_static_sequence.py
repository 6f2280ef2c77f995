"""How good could a static sequence be? A search over all blends that a training run proposed.

    python recipes/best_static_sequence.py RUN --data camvid:PATH --backbone FILE

RUN : the folder of a training run with a network (`anyscene train -o M` leaves M.run). What a blend shows
does not depend on what came before it, so the accuracy of every blend on every image, worked out once, gives
the curve of any sequence of blends. A beam search then looks for the best one: on the images that blends were
fitted to, on those that they were not, and on both; each is followed on all three. S-M counts up to where it
splits, if it does.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from threadpoolctl import threadpool_limits

from anyscene import data as data_sets
from anyscene.features.hypercolumn.rung import NETWORK, Rung
from anyscene.learning.banks import load_banks, restrict
from anyscene.learning.config import TrainConfig
from anyscene.learning.corpus import Example
from anyscene.learning.corpus_building import build_corpus
from anyscene.learning.proposals.climbs import propose_climbs
from anyscene.learning.proposals.draft import Draft
from anyscene.learning.proposals.guide import TAIL, least_budget
from anyscene.learning.proposals.pool import Proposals, combine
from anyscene.learning.proposals.static_sequence import set_prices
from anyscene.learning.storage import sequence_from_arrays
from anyscene.model.action_costs import costs_on_whole, coverage
from anyscene.model.actions import begins_anew
from anyscene.policy.curves import cost_to_reach, score_against

WEIGHTS = {"area": (0.0, 0.0), "never behind": (1.0, 0.0), "never behind, and sooner": (1.0, 0.05)}
"""What is looked for: weights of the largest shortfall and of having S-M's best sooner, beside the area."""

WIDTH, LONGEST = 40, 7
"""Of the beam, and of a sequence."""

EVERY = 3
"""Every so manieth image counts."""

Floats = NDArray[np.float64]
Actions = tuple[int, ...]


def main() -> None:
    """Search, and print what was found."""
    words, *_ = __doc__.splitlines()
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--split", default="train")
    parser.add_argument("--backbone", type=Path, required=True)
    given = parser.parse_args()
    with threadpool_limits(1):
        proposals = _proposals(given.run, given.data, given.split, given.backbone)
        draft = proposals.model
        static = tuple(takewhile(lambda a: begins_anew((a,), draft.model.pool), proposals.sequences[0]))
        groups = {"fitted": draft.corpus.fit, "held out": draft.corpus.held_out}
        known = {name: _accuracies(draft, images[::EVERY]) for name, images in groups.items()}
    known["both"] = np.mean(list(known.values()), axis=0)
    budgets = np.geomspace(least_budget(draft), TAIL * _costs(static, draft)[-1], 256)
    print("S-M:", _words(static, draft))
    for wanted, weights in WEIGHTS.items():
        for name, accuracy in known.items():
            found = _search(draft, static, accuracy, budgets, *weights)
            print(f"{wanted}, {name}: {_words(found, draft)}")
            for other, judge in known.items():
                before, after = (_curve(each, judge, draft, budgets) for each in (static, found))
                print(f"    {other}: {_against(after, before, budgets)}")


def _proposals(run: Path, spec: str, split: str, backbone: Path) -> Proposals:
    """All sequences of a run, before any was left out."""
    about = json.loads((run / "run.json").read_text())
    config, seed = TrainConfig.model_validate(about["config"]), np.random.SeedSequence(about["seed"])
    data = restrict(data_sets.open(spec), split)
    arrays = load_file(run / "bank.safetensors")
    rungs = map(Rung.parse, config.rungs)
    banks = load_banks(data, config.sets, arrays, {NETWORK: backbone}, 1, False, rungs)
    costs = json.loads((run / "costs.json").read_text())
    corpus, prices = build_corpus(data, banks, config, costs, lambda *_: None)
    settings, climb_seed = config.proposals(), seed.spawn(3)[1].spawn(3)[1]
    greedy = sequence_from_arrays(load_file(run / "sequence-0.safetensors"))
    climbs = propose_climbs(corpus, set_prices(prices), settings.learners, climb_seed)
    return combine(corpus, [greedy, *climbs], prices, settings, LONGEST)


def _accuracies(draft: Draft, images: tuple[Example, ...]) -> Floats:
    """Mean accuracy after each blend; NaN of what is none."""
    found = np.full((len(images), len(draft.actions)), np.nan)
    blends = [a for a in range(len(draft.actions)) if begins_anew((a,), draft.model.pool)]
    for row, example in zip(found, images, strict=True):
        visit = draft.start(example)
        row[blends] = [visit.take(action)[1].accuracy for action in blends]
    return np.asarray(found.mean(axis=0))


def _costs(sequence: Actions, draft: Draft) -> Floats:
    """What was spent after each action."""
    model = draft.model
    steps = costs_on_whole(sequence, model.start(), model.pool, model.costs)
    return np.asarray(model.costs.start + np.cumsum(steps))


def _curve(sequence: Actions, accuracy: Floats, draft: Draft, budgets: Floats) -> Floats:
    """Mean accuracy at each budget."""
    last = np.searchsorted(_costs(sequence, draft), budgets, side="right") - 1
    return np.asarray(accuracy[list(sequence)][np.maximum(last, 0)])


def _search(
    draft: Draft, static: Actions, accuracy: Floats, budgets: Floats, shortfall: float, sooner: float
) -> Actions:
    """The best sequence that begins as S-M does; of those that looked at the same, the best goes on."""
    before = _curve(static, accuracy, draft, budgets)
    pool, costs, start = draft.model.pool, draft.costs, draft.model.start()
    blends = np.flatnonzero(np.isfinite(accuracy))
    best, beam = (-np.inf, static), [static[:1]]
    for _ in range(LONGEST - 1):
        found: dict[bytes, tuple[float, Actions]] = {}
        for sequence in beam:
            seen = pool.needs[list(sequence)].any(axis=0)
            in_hand = start.in_hand.copy()
            in_hand[seen, 0] = True
            state = replace(start, in_hand=in_hand)
            steps = costs.of_actions(state, pool, coverage(state, pool, costs.branching))
            spent, curve = _costs(sequence, draft)[-1], _curve(sequence, accuracy, draft, budgets)
            new = (pool.needs[blends] & ~seen).sum(axis=1)
            for action in blends[(new == 1) & (accuracy[blends] > accuracy[sequence[-1]])].tolist():
                longer = np.where(budgets < spent + steps[action], curve, accuracy[action])
                score = score_against(longer, before, shortfall, sooner)
                key = (seen | pool.needs[action]).tobytes()
                found[key] = max(found.get(key, (-np.inf, ())), (score, (*sequence, action)))
        ranked = sorted(found.values(), reverse=True)[:WIDTH]
        beam = [sequence for _, sequence in ranked]
        best = max([best, *ranked[:1]])
    return best[1]


def _against(curve: Floats, static: Floats, budgets: Floats) -> str:
    """A curve against S-M's, in words."""
    gain, best = 100 * (curve - static), static.max() - 0.001
    ratio = cost_to_reach(curve, budgets, best) / cost_to_reach(static, budgets, best)
    return (
        f"area {gain.mean():+.2f}, lowest {gain.min():+.2f} points against S-M, "
        f"{ratio:.2f} of its cost for its best less 0.1"
    )


def _words(sequence: Actions, draft: Draft) -> str:
    """What each blend looks at."""
    pool = draft.model.pool
    short = [name.removeprefix(f"{NETWORK}@") for name in pool.sets]
    blends = [" + ".join(short[s] for s in np.flatnonzero(pool.needs[action])) for action in sequence]
    return ", then ".join(blends)


if __name__ == "__main__":
    main()
