"""Images, classes, and data sets of scenes with their truth.

Examples:
    >>> streets = anyscene.data.open("streets:20?size=240x180")
    >>> len(streets.split("train")), streets.classes.names[:3]
    (12, ('sky', 'building', 'pole'))
    >>> scene = streets.split("val")[0]
    >>> scene.image.shape, scene.truth.shape
    ((180, 240, 3), (180, 240))

"""

from anyscene.data.classes import VOID, Classes
from anyscene.data.images import read_image
from anyscene.data.scenes import DataSet, Scene, SceneList
from anyscene.data.specs import open

__all__ = ["VOID", "Classes", "DataSet", "Scene", "SceneList", "open", "read_image"]
