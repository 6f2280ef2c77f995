"""A drive through a generated street, as a clip."""

from __future__ import annotations

from dataclasses import dataclass

from anyscene.data.clips import Clip, DrawnFrames
from anyscene.data.scenes import Scene
from anyscene.data.streets.camera import FRAME_HEIGHT, FRAME_WIDTH
from anyscene.data.streets.drawing import draw_street

METRES_PER_SECOND = 8.0
FRAMES_PER_SECOND = 15.0


def street_drive(seed: int, length: int = 30, size: tuple[int, int] = (FRAME_WIDTH, FRAME_HEIGHT)) -> Clip:
    """Drive down the street of a seed at about 30 km/h; whatever else is in it stands still."""
    return Clip(f"street {seed}", "drive", "medium", DriveFrames(seed, length, size), FRAMES_PER_SECOND)


@dataclass(frozen=True)
class DriveFrames(DrawnFrames):
    """The frames of a drive."""

    seed: int
    length: int
    size: tuple[int, int]

    def __len__(self) -> int:
        return self.length

    def draw(self, turn: int) -> Scene:
        """Draw what is seen there."""
        forward = turn * METRES_PER_SECOND / FRAMES_PER_SECOND
        image, truth = draw_street(self.seed, self.size, forward, turn)
        return Scene(f"street {self.seed}+{turn}", image, truth)
