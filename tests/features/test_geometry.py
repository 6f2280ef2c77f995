"""Geometry: surfaces by class name, the horizon, shapes."""

import numpy as np

from anyscene.data.camvid import CLASSES as CAMVID
from anyscene.features.geometry import _describe, horizon
from anyscene.features.pooling import Grid
from anyscene.features.shapes import shape_sums, shapes_from_sums
from anyscene.features.surfaces import SURFACES, surface_truth


def test_surfaces_follow_from_class_names():
    truth = np.array([[CAMVID.names.index(name) for name in ("road", "tree", "sky", "pavement")] + [-1]])
    named = [
        SURFACES[surface] if surface >= 0 else "void" for surface in surface_truth(truth, CAMVID.names)[0]
    ]
    assert named == ["ground", "vertical", "sky", "ground", "void"]


def test_every_class_of_camvid_has_a_surface():
    ids = np.arange(len(CAMVID))
    assert (surface_truth(ids, CAMVID.names) >= 0).all()


def test_a_class_that_nobody_has_heard_of_has_no_surface():
    assert surface_truth(np.array([0]), ("gizmo",)) == -1


def test_the_horizon_parts_ground_from_the_rest():
    surfaces = np.zeros((20, 5, 3), np.float32)
    surfaces[:13, :, 2] = 1
    surfaces[13:, :, 0] = 1
    assert horizon(surfaces) == 13 / 20
    assert horizon(np.flip(surfaces, 0) * 0) == 1


def test_shapes_tell_a_bar_from_a_square():
    pixels = np.zeros((40, 40), np.int32)
    pixels[5:35, 4:8] = 1
    pixels[10:20, 20:30] = 2
    grid = Grid(pixels, 1, 3, (40, 40))
    boxes = np.array([[0, 0, 40, 40], [5, 4, 35, 8], [10, 20, 20, 30]])
    described = _describe(shapes_from_sums(shape_sums(grid), boxes, 1, (40, 40)))
    bar, square = described[1], described[2]
    assert bar[1] > 1.5 > abs(square[1]) * 100
    assert bar[2] == square[2] == 1
    assert not bar[-4:].any()
    assert described[0, -4:].all()
