"""Opening a data set by its specification, `KIND:PATH[?key=value&key=value]`."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from urllib.parse import parse_qsl

from anyscene.data.scenes import DataSet
from anyscene.errors import DataError, did_you_mean

KINDS = (
    "camvid",
    "stanford",
    "siftflow",
    "folder",
    "coco",
    "cvat",
    "labelme",
    "cityscapes",
    "streets",
)


def open(spec: str) -> DataSet:
    """Open a data set, such as `open("camvid:data/CamVid")`.

    The kinds are camvid, stanford, siftflow, cityscapes, folder (your own data), coco, cvat and labelme (as
    annotation tools export it) and streets (generated scenes; how many stands in the place of the path).
    Pictures are decoded only when a scene is asked for.
    """
    kind, colon, rest = spec.partition(":")
    if not colon or kind not in KINDS:
        kinds = ", ".join(f"{known}:" for known in KINDS)
        raise DataError(
            f"'{spec}' is not a data set; write KIND:PATH, where KIND: is one of {kinds}"
            f"{did_you_mean(kind, KINDS)}"
        )

    module = import_module(f"anyscene.data.{kind}")
    location, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(options.keys() - module.OPTIONS)
    if unknown:
        known = ", ".join(module.OPTIONS) or "none"
        raise DataError(
            f"'{spec}': {kind} has no setting '{unknown[0]}' (settings: {known})"
            f"{did_you_mean(unknown[0], module.OPTIONS)}"
        )
    dataset: DataSet
    if kind == "streets":
        dataset = module.open_streets(location, **options)
    else:
        takes_files = getattr(module, "TAKES_FILES", False)
        dataset = module.open_tree(_place(spec, location, takes_files), **options)
    return dataset


def place_of(spec: str) -> Path:
    """The file or folder that a specification names; for generated scenes a path that leads nowhere."""
    return Path(spec.partition(":")[2].partition("?")[0]).expanduser()


def _place(spec: str, location: str, takes_files: bool) -> Path:
    if not location:
        raise DataError(f"'{spec}' names no folder; write {spec.partition(':')[0]}:PATH")
    root = Path(location).expanduser()
    if not root.is_dir() and not (takes_files and root.is_file()):
        raise DataError(f"{root}: there is no such folder, so {spec} cannot be opened; check the path")
    return root


def parse_size(text: str) -> tuple[int, int]:
    """Read the setting `size=WIDTHxHEIGHT`."""
    sides = re.fullmatch(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", text)
    if not sides:
        raise DataError(
            f"size={text} is not a size; write WIDTHxHEIGHT of 1 to 9999 pixels, such as size=480x360"
        )
    return int(sides[1]), int(sides[2])
