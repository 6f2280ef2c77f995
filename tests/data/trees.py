"""Small data sets in every layout, written for tests from the truths that must come back."""

import json
from pathlib import Path

import numpy as np
import scipy.io
from PIL import Image


def picture(height=6, width=8, seed=0):
    """Random uint8[H, W, 3]."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def labels(classes, height=6, width=8, seed=0):
    """Random int16[H, W] with every class and void."""
    made = np.random.default_rng(seed).integers(-1, classes, (height, width)).astype(np.int16)
    made.flat[: classes + 1] = np.arange(-1, classes)
    return made


def save(path: Path, array, **options):
    """Write an array as a picture, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path, **options)
    return path


def segnet(root: Path, names_of_split):
    """Write CamVid in the SegNet layout; returns the truth of each name."""
    truths = {}
    for split, names in names_of_split.items():
        for seed, name in enumerate(names):
            truths[name] = labels(11, seed=seed)
            save(root / split / f"{name}.png", picture(seed=seed))
            ids = np.where(truths[name] < 0, 11, truths[name]).astype(np.uint8)
            save(root / f"{split}annot" / f"{name}.png", ids)
    return truths


def stanford(root: Path, names, height=6, width=8):
    """Write Stanford Background; returns the truth of each name."""
    truths = {}
    (root / "labels").mkdir(parents=True)
    for seed, name in enumerate(names):
        truths[name] = labels(8, height, width, seed)
        save(root / "images" / f"{name}.jpg", picture(height, width, seed))
        np.savetxt(root / "labels" / f"{name}.regions.txt", truths[name], fmt="%d")
    return truths


def siftflow(root: Path, ids, names=("sky", "sea", "sand")):
    """Write SIFT Flow, ids as SET/NAME; returns the truth of each id."""
    truths = {}
    cells = np.array([[name] for name in names], dtype=object)
    for seed, id in enumerate(ids):
        truths[id] = labels(len(names), seed=seed)
        save(root / "Images" / f"{id}.jpg", picture(seed=seed))
        path = root / "SemanticLabels" / f"{id}.mat"
        path.parent.mkdir(parents=True, exist_ok=True)
        scipy.io.savemat(path, {"S": (truths[id] + 1).astype(np.uint8), "names": cells}, do_compression=True)
    return truths


def folder(root: Path, ids, classes=None):
    """Write a folder of one's own with labels of ids; returns the truth of each id."""
    classes = classes or {"names": ["sky", "road", "car"]}
    truths = {}
    for seed, id in enumerate(ids):
        truths[id] = labels(len(classes["names"]), seed=seed)
        save(root / "images" / f"{id}.jpg", picture(seed=seed))
        ids_in_file = np.where(truths[id] < 0, 255, truths[id]).astype(np.uint8)
        save(root / "labels" / f"{id}.png", ids_in_file)
    (root / "classes.json").write_text(json.dumps(classes))
    return truths
