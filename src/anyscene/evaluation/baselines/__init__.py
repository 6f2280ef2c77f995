"""The paper's full-cost baselines, DCRF, HIM and H-DCRF: each fits on labeled images and labels in one go."""

from anyscene.evaluation.baselines.dcrf import RegionCrfLabeler
from anyscene.evaluation.baselines.evidence import ImageEvidence, LabeledImage, gather
from anyscene.evaluation.baselines.files import BASELINES, load_labeler, save_labeler
from anyscene.evaluation.baselines.hdcrf import PixelCrfLabeler
from anyscene.evaluation.baselines.inference_machine import InferenceMachine
from anyscene.evaluation.baselines.labeler import BeliefMap, Labeler

__all__ = [
    "BASELINES",
    "BeliefMap",
    "ImageEvidence",
    "InferenceMachine",
    "LabeledImage",
    "Labeler",
    "PixelCrfLabeler",
    "RegionCrfLabeler",
    "gather",
    "load_labeler",
    "save_labeler",
]
