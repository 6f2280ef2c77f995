"""The paper's fitted baselines, F-SM, DCRF, HIM and H-DCRF: each learns from labeled images."""

from anyscene.evaluation.baselines.dcrf import RegionCrfLabeler
from anyscene.evaluation.baselines.evidence import ImageEvidence, LabeledImage, gather
from anyscene.evaluation.baselines.feature_selection import FeatureSelection
from anyscene.evaluation.baselines.files import BASELINES, load_labeler, save_labeler
from anyscene.evaluation.baselines.hdcrf import PixelCrfLabeler
from anyscene.evaluation.baselines.inference_machine import InferenceMachine
from anyscene.evaluation.baselines.labeler import BeliefMap, Labeler

__all__ = [
    "BASELINES",
    "BeliefMap",
    "FeatureSelection",
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
