"""Put a backbone's main network into a model that was learned with the same halves.

    python recipes/exchange_network.py MODEL BACKBONE DATA-SET
    python recipes/exchange_network.py MODEL BACKBONE DATA-SET large

What is learned on training images goes by the scores of the halves, never by those of the main network, which
has seen them all: with a new main network and the same halves, `anyscene train` gives the same model but for
the network in it.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from anyscene.features.hypercolumn.backbone import MAIN, read_backbone
from anyscene.features.hypercolumn.network import head_to_arrays
from anyscene.features.hypercolumn.rung import NETWORK
from anyscene.modelfile import load_model, save_model


def main(model: Path, backbone: Path, dataset: str, name: str = NETWORK) -> None:
    """Exchange the graph and the head of the network with this name; all else stays."""
    trained, network = load_model(model), read_backbone(backbone)
    arrays = head_to_arrays(network.heads[MAIN, dataset], speaks=True, network=name)
    assert arrays.keys() <= trained.features.keys(), f"{model} has no network '{name}' that speaks"
    graphs = {**trained.graphs, name: network.graphs[MAIN]}
    save_model(model, replace(trained, features={**trained.features, **arrays}, graphs=graphs))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
