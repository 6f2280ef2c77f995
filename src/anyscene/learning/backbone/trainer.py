"""The training loop: AdamW with a cosine schedule, averaged weights, and checkpoints that lose nothing.

A run that is killed and resumed ends with the same weights, bit for bit, as one that ran through (with one
seed, one recipe and one number of threads): a checkpoint holds the weights, their average, the optimiser's
moments and the state of the random generator.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from anyscene.errors import ModelError
from anyscene.files import write_atomically
from anyscene.learning.backbone.batches import Batch, Source, class_weights, draw_batch
from anyscene.learning.backbone.kinship import KIN, listeners, meanings
from anyscene.learning.backbone.losses import kin_loss, labeling_loss, lesson_loss
from anyscene.learning.backbone.network import SceneNetwork, load_imagenet
from anyscene.learning.backbone.recipe import Recipe

CHECKPOINT_SECONDS = 120.0
JUDGED = 10
"""How many times in a run the averaged network is judged."""
GRADIENT_NORM = 2.0


@dataclass(frozen=True)
class Progress:
    """Where a run stands after a step.

    loss: a running mean. verdict: what `judge` last said of the averaged network; empty before that.
    """

    step: int
    steps: int
    loss: float
    seconds_left: float
    verdict: str


@dataclass
class TrainingState:
    """All that changes during training."""

    network: SceneNetwork
    average: dict[str, Tensor]
    optimizer: torch.optim.AdamW
    rng: np.random.Generator
    step: int = 0


def train(
    sources: Sequence[Source],
    classes: Mapping[str, Sequence[str]],
    recipe: Recipe,
    checkpoint: Path,
    seed: int,
    report: Callable[[Progress], None],
    judge: Callable[[SceneNetwork], str],
    start: Mapping[str, Tensor] | None = None,
) -> SceneNetwork:
    """Train on the sources, going on from `checkpoint` where it exists; return the averaged network.

    classes: names, by source.
    judge: says in a few words how good a network is; nothing depends on its answer.
    start: weights to begin with; ImageNet's when None.
    """
    counts = {name: len(names) for name, names in classes.items()}
    run = _start(counts, recipe, seed, start)
    judged = SceneNetwork(counts, shape=recipe.shape)
    judged.eval()
    verdict = ""
    label = _identity(sources, recipe, seed)
    if checkpoint.exists():
        _restore(run, checkpoint, label)
    weights = {
        source.name: torch.from_numpy(class_weights(source.truths, counts[source.name], recipe.rare_power))
        for source in sources
    }
    kin = {name: _kin(name, classes) if recipe.kin > 0 else {} for name in classes}
    first, began, saved, loss_mean = run.step, time.monotonic(), time.monotonic(), math.nan
    while run.step < recipe.steps:
        batch = draw_batch(sources, recipe, run.rng)
        loss = _step(run, batch, weights, kin[batch.source], recipe)
        loss_mean = loss if math.isnan(loss_mean) else 0.98 * loss_mean + 0.02 * loss
        now = time.monotonic()
        pace = (now - began) / (run.step - first)
        if run.step % max(recipe.steps // JUDGED, 1) == 0:
            judged.load_state_dict(run.average)
            verdict = judge(judged)
        report(Progress(run.step, recipe.steps, loss_mean, pace * (recipe.steps - run.step), verdict))
        if now - saved > CHECKPOINT_SECONDS or run.step == recipe.steps:
            _save(run, checkpoint, label)
            saved = now
    judged.load_state_dict(run.average)
    return judged


def _kin(name: str, classes: Mapping[str, Sequence[str]]) -> dict[str, Tensor]:
    """What the words of one data set mean to the heads of the others, as far as they are kin."""
    return {
        other: meanings(classes[name], classes[other], KIN[name, other]) for other in listeners(name, classes)
    }


def _start(
    classes: Mapping[str, int], recipe: Recipe, seed: int, start: Mapping[str, Tensor] | None
) -> TrainingState:
    torch.manual_seed(seed)
    network = SceneNetwork(classes, recipe.drop, recipe.dropout, recipe.shape)
    if start is None:
        load_imagenet(network, recipe.backbone)
    else:
        kept = network.state_dict().keys()
        network.load_state_dict({name: value for name, value in start.items() if name in kept})
    network.to(memory_format=torch.channels_last)
    groups: dict[tuple[bool, bool], list[Tensor]] = {}
    for name, parameter in network.named_parameters():
        if not parameter.requires_grad:
            continue
        backbone = name.startswith(("stem", "stages"))
        groups.setdefault((backbone, parameter.ndim > 1), []).append(parameter)
    optimizer = torch.optim.AdamW(
        [
            {
                "params": parameters,
                "share": recipe.backbone_rate if backbone else 1.0,
                "weight_decay": recipe.weight_decay if matrix else 0.0,
            }
            for (backbone, matrix), parameters in groups.items()
        ],
        lr=recipe.learning_rate,
    )
    average = {name: value.detach().clone() for name, value in network.state_dict().items()}
    return TrainingState(network, average, optimizer, np.random.default_rng(seed))


def _step(
    run: TrainingState, batch: Batch, weights: Mapping[str, Tensor], kin: Mapping[str, Tensor], recipe: Recipe
) -> float:
    for group in run.optimizer.param_groups:
        group["lr"] = group["share"] * _rate(run.step, recipe)
    images = torch.from_numpy(batch.images).to(memory_format=torch.channels_last)
    truths = torch.from_numpy(batch.truths)
    if recipe.drop or recipe.dropout:
        torch.manual_seed(int(run.rng.integers(2**31)))  # so that a resumed run leaves out the same
    own = weights[batch.source]
    scores = run.network.all_scores(images, (batch.source, *kin))
    phase = (run.rng.random(), run.rng.random())
    loss = labeling_loss(scores[batch.source], truths, own, recipe.overlap, phase)
    for other, meant in kin.items():
        loss = loss + recipe.kin * kin_loss(scores[other], truths, own, meant, phase)
    for head, lesson in batch.lessons.items():
        loss = loss + recipe.distill * lesson_loss(scores[head], torch.from_numpy(lesson), weights[head])
    run.optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(run.network.parameters(), GRADIENT_NORM)
    run.optimizer.step()
    run.step += 1
    # Early on the average follows faster, so that it forgets the untrained decoder.
    decay = min(recipe.average, run.step / (run.step + 10))
    with torch.no_grad():
        for name, value in run.network.state_dict().items():
            run.average[name].lerp_(value, 1 - decay)
    return float(loss.item())


def _rate(step: int, recipe: Recipe) -> float:
    if step < recipe.warm_up:
        return recipe.learning_rate * (step + 1) / recipe.warm_up
    done = (step - recipe.warm_up) / max(recipe.steps - recipe.warm_up, 1)
    return recipe.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


def _identity(sources: Sequence[Source], recipe: Recipe, seed: int) -> str:
    counts = {source.name: len(source.images) for source in sources}
    # Only what a recipe sets: a checkpoint stays good when a later anyscene has more settings.
    settings = recipe.model_dump(exclude_defaults=True)
    lessons = {source.name: source.lessons.identity for source in sources if source.lessons is not None}
    run = {"recipe": settings, "images": counts, "seed": seed} | ({"lessons": lessons} if lessons else {})
    return json.dumps(run, sort_keys=True)


def _save(run: TrainingState, path: Path, identity: str) -> None:
    tensors = {f"network.{name}": value for name, value in run.network.state_dict().items()}
    tensors |= {f"average.{name}": value for name, value in run.average.items()}
    for index, moments in run.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in moments.items()}
    metadata = {
        "identity": identity,
        "step": str(run.step),
        "rng": json.dumps(run.rng.bit_generator.state),
    }
    with write_atomically(path) as file:
        file.write(save({name: value.contiguous() for name, value in tensors.items()}, metadata))


def _restore(run: TrainingState, path: Path, identity: str) -> None:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"the checkpoint {path} cannot be read ({error}); delete it to start anew"
        ) from error
    if metadata.get("identity") != identity:
        raise ModelError(
            f"the checkpoint {path} was made with another recipe, seed, teacher or data; "
            "give the same again, or another run folder"
        )
    run.network.load_state_dict(_under("network.", tensors))
    for name, value in _under("average.", tensors).items():
        run.average[name].copy_(value)
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _under("optimizer.", tensors).items():
        index, moment = name.split(".", 1)
        state.setdefault(int(index), {})[moment] = value
    run.optimizer.load_state_dict({**run.optimizer.state_dict(), "state": state})
    run.rng.bit_generator.state = json.loads(metadata["rng"])
    run.step = int(metadata["step"])


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
