"""The systems that are compared: what they are called on the command line and in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyscene.errors import ConfigError, did_you_mean


@dataclass(frozen=True)
class System:
    """One system.

    key : its name on the command line. name : its name in the paper and in results.
    what : what it is, in a few words. color : its colour in figures.
    anytime : it takes actions of the model's pool, one after the other.
    fitted : `evaluate` fits it to training images.
    """

    key: str
    name: str
    what: str
    color: str
    anytime: bool = False
    fitted: bool = False


SYSTEMS = {
    system.key: system
    for system in (
        System("dnm", "D-NM", "our learned policy, which looks ahead", "#d1242f", anytime=True),
        System(
            "dnmd", "D-NM by deadline", "D-NM told beforehand how much time there is", "#d4a72c", anytime=True
        ),
        System("dm", "D-M", "the same without looking ahead (γ = 0)", "#e8833a", anytime=True),
        System("sm", "S-M", "one fixed sequence of actions, chosen greedily", "#0969da", anytime=True),
        System("rs", "RS", "random actions of the same pool", "#8c959f", anytime=True),
        System("oracle", "Oracle", "the best action for the known truth, then D-NM", "#1a7f37", anytime=True),
        System("fsm", "F-SM", "DCRF with feature sets added greedily", "#8250df", fitted=True),
        System("dcrf", "DCRF", "fully connected CRF over the finest regions", "#bf3989", fitted=True),
        System("him", "HIM", "hierarchical inference machine, all features", "#24292f", fitted=True),
        System("hdcrf", "H-DCRF", "dense CRF over pixels with region terms", "#9a6700", fitted=True),
        System("cnn", "CNN", "the network alone at fixed input sizes", "#1b7c83"),
    )
}
"""By key, in the order of reports."""

DATA_TERM = System("data-term", "Data term", "DCRF's classifier of regions without the CRF", "#d8a0c4")
"""Reported beside DCRF, which should beat it."""

SQUEEZED = System("cnn-squeezed", "CNN squeezed", "the network alone at D-NM's squeezed sizes", "#7cc4c9")
"""Reported beside CNN where D-NM squeezes the network's input: the network alone can do so, too."""

OTHERS = System("cnn-others", "CNN others", "the model's other networks alone, at all these sizes", "#0a4a4f")
"""Reported beside CNN, which is the model's first network, where it has more."""

BY_KEY = {system.key: system for system in (*SYSTEMS.values(), DATA_TERM, SQUEEZED, OTHERS)}
BY_NAME = {system.name: system for system in BY_KEY.values()}


def parse_systems(text: str) -> tuple[str, ...]:
    """Read a list such as `dnm,sm,him`, in the order of reports."""
    wanted = [word.strip().lower() for word in text.split(",") if word.strip()]
    for word in wanted:
        if word not in SYSTEMS:
            takes = f"--systems takes {','.join(SYSTEMS)}"
            raise ConfigError(f"there is no system '{word}'; {takes}{did_you_mean(word, SYSTEMS)}")
    if not wanted:
        raise ConfigError(f"--systems names none; it takes {','.join(SYSTEMS)}")
    return tuple(key for key in SYSTEMS if key in wanted)


def names(keys: Sequence[str]) -> str:
    """The paper's names of some systems, for messages."""
    return ", ".join(SYSTEMS[key].name for key in keys)
