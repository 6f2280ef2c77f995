"""`Clip`: consecutive frames of one camera with their truth, and clips found in recorded data sets."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from anyscene.data.scenes import Scene, SceneList
from anyscene.errors import DataError

RECORDED = "recorded"
FRAME_NUMBER = re.compile(r"(.*?)([0-9]+)$")


class DrawnFrames(Sequence[Scene], ABC):
    """Frames that are drawn each time one is asked for."""

    @abstractmethod
    def draw(self, turn: int) -> Scene:
        """Draw the frame at a place from 0 on."""

    @overload
    def __getitem__(self, index: int) -> Scene: ...
    @overload
    def __getitem__(self, index: slice) -> list[Scene]: ...
    def __getitem__(self, index: int | slice) -> Scene | list[Scene]:
        turns = range(len(self))[index]
        return self.draw(turns) if isinstance(turns, int) else [self.draw(turn) for turn in turns]

    def __iter__(self) -> Iterator[Scene]:
        return (self.draw(turn) for turn in range(len(self)))


@dataclass(frozen=True, eq=False)
class Clip:
    """Consecutive frames of one camera.

    name : what the clip shows. motion : how the camera moves, such as "pan" or RECORDED. speed : "slow",
    "fast" and the like; empty where it is not known. frames : made or decoded each time one is asked for.
    frames_per_second : how fast they come.
    """

    name: str
    motion: str
    speed: str
    frames: Sequence[Scene]
    frames_per_second: float = 15.0


def recorded_clips(scenes: SceneList, source_rate: float = 30.0, longest_gap: int = 2) -> list[Clip]:
    """Find the clips in scenes whose ids end in the frame numbers of a video, such as CamVid's.

    source_rate : frames a second of the video that the numbers count. longest_gap : frames farther apart
    belong to different clips. Frames of a clip are equally far apart.
    """
    runs: list[list[int]] = []
    gap = 0
    places = [_place(id) for id in scenes.ids]
    for index, (drive, number) in enumerate(places):
        before = places[runs[-1][-1]] if runs else None
        step = number - before[1] if before and before[0] == drive else 0
        goes_on = 0 < step <= longest_gap and (len(runs[-1]) == 1 or step == gap)
        if goes_on:
            runs[-1].append(index)
            gap = step
        else:
            runs.append([index])
    clips = [
        Clip(
            f"{scenes.ids[run[0]]} to {scenes.ids[run[-1]]}",
            RECORDED,
            "",
            scenes.pick(run),
            source_rate / (places[run[1]][1] - places[run[0]][1]),
        )
        for run in runs
        if len(run) > 1
    ]
    if not clips:
        raise DataError(
            f"no two of these {len(scenes)} scenes are consecutive frames of a video: their ids must end in "
            f"frame numbers at most {longest_gap} apart, as those of CamVid's val do"
        )
    return clips


def _place(id: str) -> tuple[str, int]:
    """The drive and the frame number in an id."""
    found = FRAME_NUMBER.match(id)
    return (found[1], int(found[2])) if found else (id, 0)
