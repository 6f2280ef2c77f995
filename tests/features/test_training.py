"""Out-of-fold banks: whatever learns from scores sees scores of images that were not fitted to."""

import cv2
import numpy as np
import pytest

from anyscene.features.training import fit_bank, labeled_frames
from anyscene.features.view import View


@pytest.fixture(scope="module")
def crossfit(streets):
    return fit_bank(streets, np.random.default_rng(0), names=("lbp", "texture", "geometry"))


def test_a_training_scene_gets_the_bank_of_the_other_fold(crossfit, streets):
    for fold in ("a", "b"):
        for scene_id in streets.split(fold).ids:
            assert crossfit.bank_for(scene_id) is crossfit.folds[fold]
    for scene_id in streets.split("val").ids:
        assert crossfit.bank_for(scene_id) is crossfit.whole


def test_folds_share_codebooks_but_not_classifiers(crossfit):
    banks = [crossfit.whole, *crossfit.folds.values()]
    assert len({bank["texture"].fingerprint() for bank in banks}) == 1
    assert len({bank["geometry"].fingerprint() for bank in banks}) == 3


def test_surfaces_are_learned(crossfit, streets):
    from anyscene.features.surfaces import surface_truth

    right = known = 0
    for frame, truth in labeled_frames(streets.split("val")):
        view = View(frame)
        surfaces = crossfit.whole["geometry"].extract(view)[:, :, :3]
        labels = cv2.resize(surfaces, frame.shape[1::-1]).argmax(axis=2)
        surface = surface_truth(truth, streets.classes.names)
        right += (labels == surface)[surface >= 0].sum()
        known += (surface >= 0).sum()
    assert right / known > 0.75


def test_truth_comes_at_the_size_of_the_frame(streets):
    for frame, truth in labeled_frames(streets.split("train")[:2]):
        assert truth.shape == frame.shape[:2]
