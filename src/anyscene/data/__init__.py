"""Images, classes, and data sets of scenes with their truth."""

from anyscene.data.classes import VOID, Classes
from anyscene.data.images import read_image
from anyscene.data.scenes import DataSet, Scene, SceneList
from anyscene.data.specs import open

__all__ = ["VOID", "Classes", "DataSet", "Scene", "SceneList", "open", "read_image"]
