"""From the calibrated cost of each step of work to the cost of each part of an action."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anyscene.features import Bank, RegionFeatures, View, Work
from anyscene.features.layers import growth_work
from anyscene.hierarchy import LAYERS, Tree
from anyscene.model.action_costs import ActionCosts


def action_costs(
    bank: Bank,
    frame: NDArray[np.uint8],
    work_ms: Callable[[Work], float],
    branching: NDArray[np.float64],
    overheads: dict[str, float],
) -> ActionCosts:
    """Ask the bank what it would do for each set on each layer of a typical frame, and what that costs.

    overheads : the model's own steps, `start`, `step`, `region`, `tree` and `input` of ActionCosts.
    """
    tree = Tree(frame)
    tree.grow(LAYERS)
    pooling = np.zeros((len(bank), LAYERS))
    wanted: list[list[set[Work]]] = []
    for s, name in enumerate(bank):
        wanted.append([])
        for layer in range(LAYERS):
            work = RegionFeatures(bank, View(frame), tree).pending(name, layer)
            pooling[s, layer] = sum(work_ms(part) for part in work if part.step.startswith("pool:"))
            wanted[-1].append({part for part in work if not part.step.startswith("pool:")})
    items = sorted(set().union(*(works for row in wanted for works in row)), key=repr)
    requires = np.array([[[item in works for item in items] for works in row] for row in wanted], bool)
    grow = [0.0] + [work_ms(growth_work(tree, layer)) for layer in range(1, LAYERS)]
    return ActionCosts(
        grow=np.array(grow),
        branching=branching,
        pooling=pooling,
        items=np.array([work_ms(item) for item in items]),
        requires=requires.reshape(len(bank), LAYERS, len(items)),
        **overheads,
    )


def with_painting(
    costs: ActionCosts, sets: Sequence[str], maps: Mapping[str, float], charged: float
) -> ActionCosts:
    """Charge each set whose map shows detail for the painting that was not charged at the start.

    maps : milliseconds of painting, by set. A set pays once, as it does for its map. What a coarser set has
    paid before covers blending the two.
    """
    items = np.append(costs.items, [max(ms - charged, 0.0) for ms in maps.values()])
    requires = np.zeros((*costs.requires.shape[:2], len(items)), bool)
    requires[..., : len(costs.items)] = costs.requires
    for place, name in enumerate(maps):
        requires[sets.index(name), :, len(costs.items) + place] = True
    return replace(costs, items=items, requires=requires)
