"""The bench `streets`: how fast labelled street scenes are generated."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from anyscene.data.streets import draw_street
from benchmarks.figures import Bar, Figure, Request
from benchmarks.timing import interleave

SIZE = (480, 360)
SCENES = 20  # a round: streets differ in how much there is to draw
ROUNDS = 5


def run(request: Request) -> Iterator[Figure]:
    """Draw scenes that no round has drawn before; nothing is asked for, so the request does not matter."""
    seeds = count()

    def draw_some() -> None:
        for _ in range(SCENES):
            draw_street(next(seeds), SIZE)

    seconds = interleave({"drawing": draw_some}, ROUNDS).median("drawing")
    yield Figure(
        "scenes of 480x360 a second, one thread",
        Bar("at least", 20.0),
        SCENES / seconds,
        unit="/s",
        parts={"milliseconds a scene": 1000 * seconds / SCENES, "scenes a round": SCENES, "rounds": ROUNDS},
    )
