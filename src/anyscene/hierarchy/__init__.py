"""The segmentation tree: nested partitions of an image, grown lazily from an image pyramid."""

from anyscene.hierarchy.pyramid import WORKING_LONG_SIDE, fit, frame_size, shrink, working_frame
from anyscene.hierarchy.scales import LAYERS
from anyscene.hierarchy.tree import Tree, warm_up

__all__ = [
    "LAYERS",
    "WORKING_LONG_SIDE",
    "Tree",
    "fit",
    "frame_size",
    "shrink",
    "warm_up",
    "working_frame",
]
