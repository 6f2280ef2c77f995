"""Generated street scenes with the classes of CamVid: as many as one likes, the same for the same seed."""

from anyscene.data.streets.dataset import OPTIONS, open_streets
from anyscene.data.streets.drawing import draw_street

__all__ = ["OPTIONS", "draw_street", "open_streets"]
