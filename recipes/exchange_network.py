"""Put a backbone's main network into a model that was learned with the same halves.

    python recipes/exchange_network.py MODEL BACKBONE DATA-SET

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


def main(model: Path, backbone: Path, dataset: str) -> None:
    """Exchange the graph and the head; all else stays."""
    trained, network = load_model(model), read_backbone(backbone)
    arrays = head_to_arrays(network.heads[MAIN, dataset], speaks=True)
    assert arrays.keys() <= trained.features.keys(), f"{model} has no network that speaks of its classes"
    save_model(
        model,
        replace(trained, features={**trained.features, **arrays}, graphs={NETWORK: network.graphs[MAIN]}),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
