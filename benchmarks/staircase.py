"""The bench `staircase`: from a standard classifier to the greedy hierarchical sequence, one change a row.

All rows look at the same features: the eight sets without a network, fitted without the judged images. Each
row adds one thing to the row before it, so that whatever loses accuracy is seen where it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save
from sklearn.ensemble import HistGradientBoostingClassifier

import anyscene
from anyscene.costs.cost_file import measure_costs, price_actions
from anyscene.data import DataSet
from anyscene.features.cache import FeatureCache
from anyscene.features.sets import PAPER_SETS
from anyscene.files import cache_dir, write_atomically
from anyscene.hierarchy import LAYERS, working_frame
from anyscene.learning.banks import Banks, fit_banks, load_banks, restrict
from anyscene.learning.corpus import Corpus, Example
from anyscene.learning.extraction import branching, extract, fit_corpus_bins, to_example
from anyscene.learning.learners.boosting import Rows, boost
from anyscene.learning.learners.cross_fit import folds_of_runs
from anyscene.learning.learners.leaves import draw_leaves, layout_of
from anyscene.learning.proposals.advancing import Crowd, Measured
from anyscene.learning.proposals.greedy import GreedySettings, Step, fit_chains, greedy_course, take
from anyscene.learning.proposals.sources import Sources
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Split, Update
from anyscene.model.chain import PARENT_BELIEF
from anyscene.model.state import State
from anyscene.threads import one_thread
from benchmarks.feature_usefulness import CLASSIFIER, TRAINING_ROWS
from benchmarks.figures import Bar, Figure, Request

JUDGED_EVERY = 4
"""Every so manieth image is judged: neighbours are alike, and the yardstick is slow to ask."""

BUDGETS = (1.0, 2.0, 4.0, 8.0, 20.0)
"""Milliseconds at which the greedy sequence is reported."""

BUNDLE = 20

Script = tuple[Split | int, ...]
"""Splits, and in between how many bundles of trees are fitted to the active leaves."""

EVERYTHING, DOUBTFUL = Split(0.0), Split(0.3)
COARSE_TO_FINE: Script = (*[EVERYTHING] * 3, 1, *[EVERYTHING] * 2, 2, EVERYTHING, 2, EVERYTHING, 4)
WITH_THRESHOLDS: Script = (*[EVERYTHING] * 3, 1, *[DOUBTFUL] * 2, 2, DOUBTFUL, 2, DOUBTFUL, 2, DOUBTFUL, 2)


@dataclass(frozen=True, eq=False)
class Task:
    """Images to learn from, with features that do not know them, and images to judge by."""

    corpus: Corpus
    judged: tuple[Example, ...]
    costs: ActionCosts

    def crowd(self, folds: NDArray[np.int64]) -> Crowd:
        """The images to learn from."""
        return Crowd(self.corpus, self.corpus.fit, folds, self.costs)

    @property
    def jury(self) -> Crowd:
        """The images to judge by: nothing is fitted to them, so one line serves them all."""
        return Crowd(self.corpus, self.judged, np.full(len(self.judged), -1), self.costs)

    @property
    def unfolded(self) -> Crowd:
        """The images to learn from, along one line that sees them all."""
        return self.crowd(np.full(len(self.corpus.fit), -1))


@dataclass(frozen=True)
class Stairs:
    """What every row reached on the judged images. curve : accuracy of the greedy sequence by budget."""

    rows: dict[str, float]
    curve: dict[str, float] = field(default_factory=dict)


def run(request: Request) -> Iterator[Figure]:
    """Climb the staircase on the halves of the data crosswise, and on its val."""
    name = "{} on {}: the greedy sequence less the yardstick"
    bar = Bar("at least", -1.0)
    tasks = (("a", "b"), ("b", "a"), ("train", request.split or "val"))
    for fitted, judged in tasks:
        if request.data is None:
            yield Figure(name.format(fitted, judged), bar, None, skipped="needs --data, such as camvid:PATH")
            continue
        with one_thread():
            stairs = climb(prepare(anyscene.data.open(request.data), fitted, judged))
        gap = 100 * (stairs.rows["vii greedy"] - stairs.rows["i yardstick"])
        parts = {"rows": stairs.rows, "greedy by ms": stairs.curve}
        yield Figure(name.format(fitted, judged), bar, gap, unit="points", parts=parts)


def climb(task: Task, settings: GreedySettings | None = None) -> Stairs:
    """Measure every row: the share of the judged images' labelled pixels that are right."""
    settings = settings or GreedySettings()
    every = tuple(range(len(task.corpus.sets)))
    with_parents = (PARENT_BELIEF, *every)
    straight: Script = (*[EVERYTHING] * (LAYERS - 1), 8)
    rows = {
        "i yardstick": yardstick(task),
        "ii our trees on finest regions": direct(task, settings),
        "iii after seven splits": follow(task, straight, every, settings),
        "iv coarse updates on the way": follow(task, COARSE_TO_FINE, every, settings),
        "v parents' beliefs, too": follow(task, COARSE_TO_FINE, with_parents, settings),
        "vi thresholds of 0.3": follow(task, WITH_THRESHOLDS, with_parents, settings),
    }
    curve = greedy_curve(task, settings)
    rows["vii greedy"] = curve[-1].accuracy
    reached = {f"{ms:g}": max((m.accuracy for m in curve if m.cost <= ms), default=0.0) for ms in BUDGETS}
    return Stairs(rows, {**reached, f"{curve[-1].cost:.1f}": curve[-1].accuracy})


def greedy_curve(task: Task, settings: GreedySettings) -> list[Measured]:
    """What the judged images show after each proposal of the greedy sequence."""
    jury = task.jury
    lines = jury.start()
    found = [jury.measure(lines[0])]

    def on_step(steps: Sequence[Step], measured: Measured) -> None:
        nonlocal lines
        for step in steps:
            lines = take(jury, lines, Step(step.action, step.chains[-1:]))
        found.append(jury.measure(lines[0]))

    crowd = task.crowd(folds_of_runs(len(task.corpus.fit)))
    greedy_course(crowd, settings, np.random.SeedSequence(0), on_step)
    return found


def follow(task: Task, script: Script, sources: Sequence[int], settings: GreedySettings) -> float:
    """Carry out splits and bundles as a script says; accuracy at its end."""
    crowd, jury, layout = task.unfolded, task.jury, layout_of(task.corpus)
    lines, fresh = crowd.start(), jury.start()
    random = np.random.default_rng(0)
    for part in script:
        for _ in range(1 if isinstance(part, Split) else part):
            if isinstance(part, Split):
                step = Step(part)
            else:
                chains = fit_chains(crowd, lines, Sources(tuple(sources)), layout, settings, random)
                step = Step(Update(0, BUNDLE), chains)
            lines, fresh = take(crowd, lines, step), take(jury, fresh, step)
    return jury.measure(fresh[0]).accuracy


def direct(task: Task, settings: GreedySettings) -> float:
    """As many of our trees on the finest regions as in the next row, without any states."""
    fitted = _finest(task, task.unfolded, settings.samples)
    trees = boost(fitted, 8 * BUNDLE, settings.boosting, np.random.default_rng(0))
    right = 0.0
    for example in task.judged:
        rows = _finest(task, Crowd(task.corpus, (example,), np.array([-1]), task.costs), 10**9)
        for tree in trees:
            tree.apply(rows)
        # `truth` is each region's share of classes and `weight` the root of its area, see `LeafRows`.
        area = rows.weight**2
        shown = rows.truth[np.arange(len(area)), rows.belief.argmax(axis=1)]
        right += float(area @ shown / area.sum())
    return right / len(task.judged)


def yardstick(task: Task) -> float:
    """scikit-learn's histogram boosting on finest regions: the settings of `bench features`."""
    random = np.random.default_rng(0)
    rows = -(-TRAINING_ROWS // len(task.corpus.fit))
    tables, labels, weights = [], [], []
    for example in task.corpus.fit:
        nodes, mass = _labelled_finest(example)
        root = np.sqrt(mass.sum(axis=1))
        chosen = random.choice(len(nodes), min(rows, len(nodes)), replace=False, p=root / root.sum())
        tables.append(_table(task.corpus, example, nodes[chosen]))
        labels.append(mass[chosen].argmax(axis=1))
        weights.append(np.sqrt(mass[chosen].max(axis=1)))
    weight = np.concatenate(weights)
    classifier = HistGradientBoostingClassifier(**CLASSIFIER)
    classifier.fit(np.concatenate(tables), np.concatenate(labels), sample_weight=WEIGHT_SCALE * weight)
    right = []
    for example in task.judged:
        nodes, mass = _labelled_finest(example)
        label = classifier.predict(_table(task.corpus, example, nodes))
        right.append(float(mass[np.arange(len(nodes)), label].sum() / mass.sum()))
    return float(np.mean(right))


WEIGHT_SCALE = 360 * 480 * 0.5
"""Turns the root of a share into about that of a number of pixels: strong l2 is meant for those."""


def _finest(task: Task, crowd: Crowd, most: int) -> Rows:
    """Finest regions as rows that believe the prior."""
    states: list[State] = crowd.start()[0]
    for _ in range(LAYERS - 1):
        states = crowd.split(states, 0.0)
    random = np.random.default_rng(0)
    leaves = draw_leaves(task.corpus, crowd.examples, states, crowd.folds, most, random)
    return leaves.rows()


def _labelled_finest(example: Example) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    start = example.evidence.tree.start
    nodes = np.arange(start[-2], start[-1])
    mass = example.truth.mass[nodes]
    known = mass.sum(axis=1) > 0
    return nodes[known], mass[known]


def _table(corpus: Corpus, example: Example, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
    columns = [example.evidence.features[name][nodes] for name in corpus.sets]
    return np.hstack(columns).astype(np.float32)


def prepare(dataset: DataSet, fitted: str, judged: str) -> Task:
    """Fit the feature sets to one part of the data, and describe both parts by them."""
    part = restrict(dataset, fitted)
    banks = _banks(part, fitted)
    cache = FeatureCache(cache_dir() / "features")
    classes = len(dataset.classes)
    scenes = part.split("train")
    extracts = [extract(scene, banks.for_scene(scene), classes, cache) for scene in scenes]
    unseen = dataset.split(judged)
    chosen = [unseen[i] for i in range(0, len(unseen), JUDGED_EVERY)]
    others = [extract(scene, banks.whole, classes, cache) for scene in chosen]
    bins = fit_corpus_bins(extracts)
    fit, jury = (tuple(to_example(e, bins, ()) for e in group) for group in (extracts, others))
    corpus = Corpus(fit, (), PAPER_SETS, frozenset(), (), (), bins, classes, LAYERS)
    frame = working_frame(scenes.image(len(scenes) // 2))
    costs = measure_costs(banks.whole, dataset)
    return Task(corpus, jury, price_actions(banks.whole, frame, costs, branching([e.tree for e in extracts])))


def _banks(part: DataSet, fitted: str) -> Banks:
    path = cache_dir() / "staircase" / f"{part.name}-{fitted}.safetensors"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = fit_banks(part, PAPER_SETS, np.random.default_rng(0))
        with write_atomically(path) as file:
            file.write(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    return load_banks(part, PAPER_SETS, load_file(path), {}, 1)
