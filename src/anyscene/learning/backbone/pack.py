"""From finished parts to a backbone, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from anyscene.errors import ConfigError, ModelError
from anyscene.features.hypercolumn.backbone import Backbone
from anyscene.features.hypercolumn.network import Head
from anyscene.learning.backbone.export import export_graph
from anyscene.learning.backbone.network import SceneNetwork, shape_of
from anyscene.learning.backbone.part_files import Part
from anyscene.learning.backbone.rebuild import weights_of

EMBEDDING = 16
"""Rows of a head beside the class scores: a compact summary of the features, for what learns on top."""


def pack(parts: Mapping[str, Part]) -> Backbone:
    """Put parts that were trained on the same data sets together."""
    first = next(iter(parts.values()))
    if any(part.classes != first.classes for part in parts.values()):
        raise ModelError("the parts of a backbone must be trained on the same data sets, these were not")
    return Backbone(
        classes=first.classes,
        graphs={name: export_graph(part.network) for name, part in parts.items()},
        heads={
            (name, dataset): _head(part, dataset) for name, part in parts.items() for dataset in part.classes
        },
        seen={name: frozenset(part.seen) for name, part in parts.items()},
        recipes={name: part.recipe for name, part in parts.items()},
    )


def unpack(backbone: Backbone, name: str) -> Part:
    """A part as it was before it was packed, but for the precision of its weights."""
    if name not in backbone.graphs:
        raise ConfigError(f"the backbone has no part '{name}'; it has {', '.join(backbone.graphs)}")
    heads = {}
    for data in backbone.classes:
        head = backbone.heads[name, data]
        heads[data] = Head(head.weight[: head.classes], head.bias[: head.classes], head.classes)
    weights = weights_of(backbone.graphs[name], heads)
    network = SceneNetwork({data: head.classes for data, head in heads.items()}, shape=shape_of(weights))
    network.load_state_dict(weights)
    seen = tuple(sorted(backbone.seen[name]))
    return Part(network.eval(), dict(backbone.classes), seen, backbone.recipes[name])


def _head(part: Part, dataset: str) -> Head:
    layer = part.network.heads[dataset]
    weight = layer.weight.detach().numpy()[:, :, 0, 0]
    bias = layer.bias.detach().numpy()
    extra = _embedding(part)
    return Head(
        np.concatenate([weight, extra]).astype(np.float32),
        np.concatenate([bias, np.zeros(len(extra))]).astype(np.float32),
        len(bias),
    )


def _embedding(part: Part) -> NDArray[np.float32]:
    """The directions along which all heads together vary most: they hold what tells scenes' classes apart."""
    rows = torch.cat([layer.weight.detach()[:, :, 0, 0] for layer in part.network.heads.values()])
    _, _, directions = torch.linalg.svd(rows - rows.mean(dim=0), full_matrices=False)
    return np.asarray(directions[:EMBEDDING].numpy())
