"""Finished parts of a backbone and their files: fp16 weights, and the keys of the images they have seen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from anyscene.errors import ModelError
from anyscene.files import write_atomically
from anyscene.learning.backbone.network import SceneNetwork, shape_of


@dataclass(frozen=True)
class Part:
    """A trained part: its weights, the classes of its heads, and the keys of the images it has seen.

    recipe : a record of how it was trained, perhaps by an earlier anyscene with other settings.
    """

    network: SceneNetwork
    classes: dict[str, tuple[str, ...]]
    seen: tuple[str, ...]
    recipe: Mapping[str, object]


def read_part(path: Path) -> Part:
    """Read a finished part."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {})["part"])
            tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118 - not a dict
        classes = {name: tuple(names) for name, names in metadata["classes"].items()}
        counts = {name: len(names) for name, names in classes.items()}
        network = SceneNetwork(counts, shape=shape_of(tensors))
        network.load_state_dict(tensors)
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path} is not a trained part of a backbone ({error}); train it anew") from error
    return Part(network.eval(), classes, tuple(metadata["seen"]), metadata["recipe"])


def write_part(part: Part, path: Path) -> None:
    """Write a part, wholly or not at all."""
    metadata = {"classes": part.classes, "seen": part.seen, "recipe": dict(part.recipe)}
    tensors = {
        name: value.to(torch.float16).contiguous() for name, value in part.network.state_dict().items()
    }
    with write_atomically(path) as file:
        file.write(save(tensors, {"part": json.dumps(metadata)}))
