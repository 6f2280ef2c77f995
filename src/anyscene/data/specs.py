"""Opening a data set by its specification, `KIND:PATH[?key=value&key=value]`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from urllib.parse import parse_qsl

from anyscene.data.scenes import DataSet
from anyscene.errors import DataError

KINDS = ("camvid", "stanford", "siftflow", "folder", "streets")


def open(spec: str) -> DataSet:
    """Open a data set, such as `open("camvid:data/CamVid")`.

    The kinds are camvid, stanford, siftflow, folder (your own data) and streets (generated scenes; its
    settings follow the colon instead of a path). Pictures are decoded only when a scene is asked for.
    """
    kind, colon, rest = spec.partition(":")
    if not colon or kind not in KINDS:
        kinds = ", ".join(f"{known}:" for known in KINDS)
        raise DataError(f"'{spec}' is not a data set; write KIND:PATH, where KIND: is one of {kinds}")
    module = import_module(f"anyscene.data.{kind}")
    if kind == "streets":
        dataset: DataSet = module.open_streets(rest)
        return dataset
    location, _, query = rest.partition("?")
    if not location:
        raise DataError(f"'{spec}' names no folder; write {kind}:PATH")
    root = Path(location).expanduser()
    if not root.is_dir():
        raise DataError(f"{root}: there is no such folder, so {spec} cannot be opened; check the path")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(options.keys() - module.OPTIONS)
    if unknown:
        known = ", ".join(module.OPTIONS) or "none"
        raise DataError(f"'{spec}': {kind} has no setting '{unknown[0]}' (settings: {known})")
    dataset = module.open_tree(root, **options)
    return dataset
