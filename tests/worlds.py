"""Small generated images for tests of the model and of learning: trees, truth and features as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from anyscene.learning.corpus import Corpus, Example
from anyscene.learning.learners.binning import fit_bins
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Pool, Split, Update
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.loss import Truth, truth_from_counts
from anyscene.model.nodes import Nodes, nodes_from_layers
from anyscene.policy.model import Model

CLASSES = 4
LAYERS = 4
SETS = ("cheap", "dear")
COLUMNS = 3

seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class World:
    """One generated image: its evidence and its truth."""

    evidence: ArrayEvidence
    truth: Truth
    counts: np.ndarray


def random_tree(random: np.random.Generator, layers: int = LAYERS, most_children: int = 4) -> Nodes:
    parents, sizes = [np.zeros(1, np.int32)], [1]
    for _ in range(layers - 1):
        children = random.integers(1, most_children + 1, sizes[-1])
        parents.append(random.permutation(np.repeat(np.arange(sizes[-1]), children)).astype(np.int32))
        sizes.append(len(parents[-1]))
    areas = [random.integers(1, 50, sizes[-1]).astype(np.float32)]
    for parent, size in zip(parents[:0:-1], sizes[-2::-1], strict=True):
        areas.insert(0, np.bincount(parent, areas[0], minlength=size).astype(np.float32))
    return nodes_from_layers(parents, areas)


def random_world(
    random: np.random.Generator,
    layers: int = LAYERS,
    most_children: int = 4,
    sets: tuple[str, str] = SETS,
) -> World:
    """Regions of mixed classes; the cheap set tells the class roughly, the dear one well."""
    tree = random_tree(random, layers, most_children)
    counts = np.zeros((tree.count, CLASSES), np.int64)
    finest = slice(int(tree.start[-2]), int(tree.start[-1]))
    main = random.integers(0, CLASSES, tree.count)[finest]
    pixels = np.maximum((tree.area[finest] * 10_000).astype(np.int64), 1)
    counts[finest][np.arange(len(main)), main] += pixels
    counts[finest][np.arange(len(main)), random.integers(0, CLASSES, len(main))] += pixels // 5
    for node in range(finest.start - 1, -1, -1):
        counts[node] = counts[tree.child[tree.child_start[node] : tree.child_start[node + 1]]].sum(axis=0)
    share = counts / counts.sum(axis=1, keepdims=True)
    features = {
        name: (share[:, :COLUMNS] + random.normal(scale=noise, size=(tree.count, COLUMNS))).astype(np.float32)
        for name, noise in zip(sets, (0.6, 0.1), strict=True)
    }
    return World(ArrayEvidence(tree, features), truth_from_counts(counts), counts)


def random_chain(
    random: np.random.Generator, trees: int = 5, sources: tuple[int, ...] = (PARENT_BELIEF, 0)
) -> Chain:
    """Stumps with random inputs, thresholds and values."""
    source = np.repeat(sources, COLUMNS).astype(np.int16)
    column = np.tile(np.arange(COLUMNS), len(sources)).astype(np.int32)
    feature = np.zeros(3 * trees, np.int32)
    feature[::3] = random.integers(0, len(source), trees)
    left = np.full(3 * trees, -1, np.int32)
    left[::3] = 3 * np.arange(trees) + 1
    value = random.normal(scale=0.5, size=(3 * trees, CLASSES)).astype(np.float32)
    threshold = random.normal(scale=0.5, size=3 * trees).astype(np.float32)
    blend = (
        np.array([PARENT_BELIEF], np.int16),
        random.normal(size=1).astype(np.float32),
        random.normal(scale=0.5, size=CLASSES).astype(np.float32),
    )
    without = np.zeros(0, np.int16), np.zeros(0, np.float32), np.zeros(CLASSES, np.float32)
    roots = 3 * np.arange(trees, dtype=np.int32)
    blends = random.random() < 0.5
    parts = blend if blends else without
    kept = np.array([0.0 if blends else random.choice([0.5, 1.0])], np.float32)
    return Chain(kept, *parts, source, column, feature, threshold, left, value, roots)


def blend_chain(sources: Sequence[int]) -> Chain:
    """A blend of these sets, and no tree."""
    nothing = (np.zeros(0, kind) for kind in (np.int16, np.int32, np.int32, np.float32, np.int32))
    weights, bias = np.ones(len(sources), np.float32), np.zeros(CLASSES, np.float32)
    no_value, no_roots = np.zeros((0, CLASSES), np.float32), np.zeros(0, np.int32)
    anew, own = np.zeros(1, np.float32), np.array(sources, np.int16)
    return Chain(anew, own, weights, bias, *nothing, no_value, no_roots)


def random_model(
    random: np.random.Generator, max_steps: int = 8, layers: int = LAYERS, sets: tuple[str, str] = SETS
) -> Model:
    chains = (random_chain(random), random_chain(random, sources=(0, 1)))
    updates = [Update(chain, size) for chain in range(2) for size in (1, 5)]
    actions = (*(Split(threshold) for threshold in (0.0, 0.3, 0.6, 1.0)), *updates)
    pool = Pool(sets, chains, actions, CLASSES, layers)
    return Model(pool, some_costs(layers), np.full(CLASSES, 1 / CLASSES, np.float32), max_steps)


def some_costs(layers: int = LAYERS) -> ActionCosts:
    return ActionCosts(
        start=0.1,
        step=0.05,
        grow=np.linspace(0, 1, layers),
        branching=np.full(layers, 3.0),
        region=0.001,
        tree=0.0005,
        input=0.001,
        pooling=np.linspace(0.1, 0.3, 2 * layers).reshape(2, layers),
        items=np.array([0.5, 8.0, 0.25, 0.125]),
        # The maps of the two sets, one that they share, and one that the dear set needs on fine layers.
        requires=np.array(
            [[[True, False, True, False]] * layers, [[False, True, True, k > 1] for k in range(layers)]]
        ),
    )


def walk_randomly(seed, steps):
    """A world, its model, and a state some random offered actions after the start."""
    random = np.random.default_rng(seed)
    world, model = random_world(random), random_model(random)
    state = model.start()
    for _ in range(steps):
        situation = model.situation(state)
        choices = np.flatnonzero(situation.offered)
        if len(choices) == 0:
            break
        state = model.advance(situation, int(random.choice(choices)), world.evidence)
    return world, model, state


def worlds_to_learn_from(count=40):
    random = np.random.default_rng(7)
    return [random_world(random) for _ in range(count)]


def learnable_corpus(worlds):
    """Worlds as binned examples; the first ten are held out."""
    bins = {name: fit_bins(np.concatenate([w.evidence.features[name] for w in worlds])) for name in SETS}
    examples = []
    for i, world in enumerate(worlds):
        binned = {name: bins[name].apply(world.evidence.features[name]) for name in SETS}
        examples.append(Example(str(i), ArrayEvidence(world.evidence.tree, binned), world.truth))
    fit, held_out = tuple(examples[10:]), tuple(examples[:10])
    return Corpus(fit, held_out, SETS, frozenset(), (), (), bins, CLASSES, LAYERS)
