"""Evidence about regions: the feature sets, pooling onto a tree, and what each step costs."""

from anyscene.features.ledger import Charge, Ledger, Work
from anyscene.features.pooling import Pooling
from anyscene.features.regions import RegionFeatures
from anyscene.features.sets import (
    Bank,
    FeatureSet,
    bank_from_arrays,
    bank_to_arrays,
    feature_set_class,
    list_feature_sets,
    register,
)
from anyscene.features.shapes import Shapes
from anyscene.features.view import View

__all__ = [
    "Bank",
    "Charge",
    "FeatureSet",
    "Ledger",
    "Pooling",
    "RegionFeatures",
    "Shapes",
    "View",
    "Work",
    "bank_from_arrays",
    "bank_to_arrays",
    "feature_set_class",
    "list_feature_sets",
    "register",
]
