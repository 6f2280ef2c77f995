"""What a model file must hold: everything that a compiled loop indexes by, or a deadline is planned by.

A file may come from a stranger, and its checksums only show that it was not damaged on the way. All checks
are of plain arrays and numbers, once, on load; each raises a ValueError that says what does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from anyscene.checks import check_array, check_keys
from anyscene.familiarity import FAMILIARITY, Familiarity
from anyscene.features import bank_from_arrays
from anyscene.features.hypercolumn.network import glance_width, head_from_arrays
from anyscene.features.hypercolumn.rung import networks_among, rungs_among
from anyscene.hierarchy import LAYERS
from anyscene.model.chain import PARENT_BELIEF
from anyscene.named_arrays import Arrays, under

MOST_CLASSES = 1000
MOST_SETS = 100
MOST_ACTIONS = 1024
MOST_LEARNERS = 10_000
"""Of a chain; states count them in 16 bits."""

MOST_INPUTS = 10_000
"""Of the trees of a chain; the numbers of all regions of an image are gathered for them at once."""

MOST_LEVELS = 32
"""Of a tree; deeper ones would take long, and training grows a quarter of that."""

MOST_STEPS = 512
"""Actions of a plan or a guide; the names of all steps of a plan grow with the square of it."""

MOST_PLANS = 256
MOST_POLICIES = 16

LARGEST = 1e6
"""Of weights and scores; sums of larger ones could overflow, and what is not a number labels at random."""

MOST_MS = 1e7
"""Milliseconds; nothing that a model does takes hours."""


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it has characters that cannot be printed")
    return text


Text = Annotated[str, Field(max_length=500), AfterValidator(_printable)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Scores(BaseModel):
    """Scores on unseen images; the curve holds pairs of milliseconds and pixel accuracy."""

    model_config = ConfigDict(extra="allow")

    pixel: Finite = 0.0
    class_: Finite = Field(0.0, alias="class")
    iou: Finite = 0.0
    curve: list[tuple[Finite, Finite]] = Field(default_factory=list, max_length=10_000)


class _Record(BaseModel):
    """What is shown, or computed with, of a model's record; the rest is for people who read the file."""

    model_config = ConfigDict(extra="allow")

    data: Text = ""
    fitted: int = Field(0, alias="images fitted", ge=0)
    held_out_images: int = Field(0, alias="images held out", ge=0)
    seed: int = 0
    anyscene: Text = ""
    temperature: Finite = Field(1.0, ge=0.01, le=100)
    config: dict[str, Any] = Field(default_factory=dict)
    held_out: dict[Text, dict[Text, Finite]] = Field(default_factory=dict, alias="held out")
    val: _Scores | None = None


def check_record(record: Mapping[str, Any]) -> None:
    """Check what commands show of how a model was trained."""
    _Record.model_validate(record)


class Sources(NamedTuple):
    """What each feature set offers.

    columns : how many there are. speak : whether the first are class probabilities. show : whether its map
    can label pixels.
    """

    columns: tuple[int, ...]
    speak: tuple[bool, ...]
    show: tuple[bool, ...]


def sources_of(sets: Sequence[str], features: Arrays, graphs: Mapping[str, bytes], classes: int) -> Sources:
    """Check what the feature sets of a model learned, and return what they offer."""
    rungs, networks = rungs_among(sets), networks_among(sets)
    plain = [name for name in sets if name not in rungs]
    owners = {name.partition("/")[0] for name in features}
    check_keys("the networks", graphs, networks)
    if twice := {*plain, FAMILIARITY}.intersection(networks):
        raise ValueError(f"a network and something else are both called '{min(twice)}'")
    if unknown := owners - {*plain, *networks, FAMILIARITY}:
        raise ValueError(f"there are arrays of '{min(unknown)[:100]}', which is no feature set of the model")
    offered = {
        name: (chosen.dimensions, chosen.speaks_of_classes, chosen.fineness > 0)
        for name, chosen in bank_from_arrays(plain, features).items()
    }
    heads = {network: head_from_arrays(features, classes, network) for network in networks}
    for name, rung in rungs.items():
        head, speaks = heads[rung.network]
        offered[name] = len(head.bias), speaks, speaks
    if FAMILIARITY in owners:
        Familiarity.from_arrays(under(FAMILIARITY, features), glance_width(features, networks))
    if any(speaks and columns < classes for columns, speaks, _ in offered.values()):
        raise ValueError("a feature set scores fewer classes than there are")
    columns, speak, show = zip(*(offered[name] for name in sets), strict=True)
    return Sources(columns, speak, show)


def check_prior(prior: NDArray[Any], classes: int) -> None:
    """Check what is believed before anything is looked at."""
    check_array("the prior", prior, np.float32, (classes,), 0, 1)
    if not 0.5 < prior.sum() < 1.5:
        raise ValueError("the prior does not sum to 1")


def check_ladder(ladder: Sequence[int], sources: Sources) -> None:
    """Check which sets' maps pixels are labelled by."""
    if len(set(ladder)) < len(ladder) or any(not 0 <= rung < len(sources.show) for rung in ladder):
        raise ValueError("the ladder names feature sets twice, or such that are not there")
    if not all(sources.show[rung] for rung in ladder):
        raise ValueError("the ladder names feature sets whose maps show no classes")


def check_chain(chain: Arrays, classes: int, sources: Sources) -> None:
    """Check the arrays of a chain, see `Chain`: every index lies inside, and every tree ends."""
    blends, nodes, inputs, trees = (len(chain[name]) for name in ("blend_source", "left", "source", "roots"))
    sets = len(sources.columns)
    kinds: dict[str, tuple[type, tuple[int, ...], float, float]] = {
        "kept": (np.float32, (1,), 0, 0 if blends else 1),
        "blend_source": (np.int16, (blends,), PARENT_BELIEF, sets - 1),
        "blend_weight": (np.float32, (blends,), -LARGEST, LARGEST),
        "blend_bias": (np.float32, (classes,), -LARGEST, LARGEST),
        "source": (np.int16, (inputs,), PARENT_BELIEF, sets - 1),
        "column": (np.int32, (inputs,), 0, max(classes, *sources.columns) - 1),
        "feature": (np.int32, (nodes,), -inputs, inputs),
        "left": (np.int32, (nodes,), -1, nodes - 2),
        "value": (np.float32, (nodes, classes), -LARGEST, LARGEST),
        "roots": (np.int32, (trees,), 0, nodes - 1),
    }
    for name, (dtype, shape, low, high) in kinds.items():
        check_array(f"'{name}' of a chain", chain[name], dtype, shape, low, high)
    check_array("'threshold' of a chain", chain["threshold"], np.float32, (nodes,), infinite=True)
    left, feature, roots = (chain[name].astype(np.int64) for name in ("left", "feature", "roots"))
    inner = np.flatnonzero(left >= 0)
    if np.any(left[inner] <= inner):
        raise ValueError("a tree points back to where it was")
    if np.any((feature[inner] < 0) | (feature[inner] >= inputs)):
        raise ValueError("a tree looks at an input that is not there")
    if np.any(np.diff(roots) <= 0):
        raise ValueError("the trees of a chain are not in order")
    if trees > MOST_LEARNERS or inputs > MOST_INPUTS or _levels(left, roots) > MOST_LEVELS:
        raise ValueError("the trees of a chain are too many or too deep, or have too many inputs")
    columns = np.array([*sources.columns, classes])  # the parent's belief is source -1
    if np.any(chain["column"] >= columns[chain["source"]]):
        raise ValueError("a tree looks at a column that is not there")
    if len(np.unique(chain["blend_source"])) < blends or not blends + trees:
        raise ValueError("a chain is empty, or blends the same twice")
    if not np.array([*sources.speak, True])[chain["blend_source"]].all():
        raise ValueError("a chain blends a feature set that says nothing of classes")


def _levels(left: NDArray[np.int64], roots: NDArray[np.int64]) -> int:
    """How many levels the deepest tree has, or one more than it may have."""
    levels, reached = 0, roots
    while len(reached) and levels <= MOST_LEVELS:
        children = left[reached]
        children = np.unique(children[children >= 0])
        reached, levels = np.union1d(children, children + 1), levels + 1
    return levels


def check_actions(rows: Sequence[Sequence[float]], learners: Sequence[int]) -> None:
    """Check actions as they are written: splits (0, threshold, 0) and updates (1, chain, size).

    learners : how many weak learners each chain has.
    """
    for kind, first, second in rows:
        if kind not in (0, 1) or not isfinite(first):
            raise ValueError("an action is neither a split nor an update")
        if kind == 0:
            continue
        if first != int(first) or second != int(second) or not 0 <= first < len(learners):
            raise ValueError("an update names a chain that is not there")
        if not 1 <= second <= learners[int(first)]:
            raise ValueError("a bundle is larger than its chain")


def check_plans(plans: Sequence[tuple[Sequence[int], Sequence[float]]]) -> None:
    """Check that costs of plans, milliseconds before and after each action, rise."""
    for actions, cost in plans:
        if len(cost) != len(actions) + 1:
            raise ValueError("a plan's costs are not those of its actions")
        check_array("the costs of a plan", np.array(cost, np.float64), np.float64, (None,), 0, MOST_MS)
        if np.any(np.diff(cost) < 0) or cost[-1] <= 0:
            raise ValueError("the costs of a plan do not rise")


def check_costs(arrays: Arrays, scalars: Mapping[str, float], sets: int) -> None:
    """Check what actions cost, see `ActionCosts`: no step is free, so that none is repeated for ever."""
    items = len(arrays["items"])
    shapes: dict[str, tuple[int, ...]] = {
        "grow": (LAYERS,),
        "branching": (LAYERS,),
        "pooling": (sets, LAYERS),
        "items": (items,),
    }
    check_keys("the costs", arrays, (*shapes, "requires"))
    for name, shape in shapes.items():
        check_array(f"'{name}' of the costs", arrays[name], np.float64, shape, 0, MOST_MS)
    check_array("'requires' of the costs", arrays["requires"], np.bool_, (sets, LAYERS, items))
    check_keys("the costs", scalars, ("start", "step", "region", "tree", "input"))
    if not all(0 <= value <= MOST_MS for value in scalars.values()) or scalars["step"] <= 0:
        raise ValueError("an action costs nothing, or less, or hours")
