"""The files that `anyscene label` writes, and what must not be written over."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anyscene.apps.sources import Source
from anyscene.data.classes import VOID, Classes
from anyscene.errors import ConfigError
from anyscene.exports.coco import LabeledFile, coco_document, segments
from anyscene.files import write_atomically
from anyscene.labeling import VOID_ID, Labeling
from anyscene.marks import marked, refuse_to_overwrite
from anyscene.outputs.records import RECORDS
from anyscene.outputs.result_files import IDS, SUFFIXES, json_bytes, result_files

SETTINGS, CLASSES = "anyscene-label.json", "classes.json"

DOCUMENTS = {"coco": "annotations.coco.json", "jsonl": "segments.jsonl"}
"""Forms in which all results of a job are one file."""

FRAME_PATTERN = "[0-9]" * 6
"""Frames of a video are named by their number."""


def with_suffix(target: Path, suffix: str) -> Path:
    """The path of a result. (Not Path.with_suffix: a dot in a name is part of the name.)"""
    return target.with_name(target.name + suffix)


def results_of(source: Source, extras: Sequence[str]) -> list[Path]:
    """The files that a source's results are written to; of a video those that are there already."""
    suffixes = (IDS, *(SUFFIXES[extra] for extra in extras))
    if source.is_video:
        return [path for suffix in suffixes for path in source.target.glob(f"{FRAME_PATTERN}{suffix}")]
    return [with_suffix(source.target, suffix) for suffix in suffixes]


def is_done(source: Source, target: Path, extras: Sequence[str]) -> bool:
    """Tell whether all results are there and newer than their source."""
    wanted = [with_suffix(target, suffix) for suffix in (IDS, *(SUFFIXES[extra] for extra in extras))]
    try:
        source_time = os.stat(source.path).st_mtime
        return all(os.stat(path).st_mtime >= source_time for path in wanted)
    except OSError:
        return False


def check_results(
    sources: Sequence[Source], out: Path, extras: Sequence[str], documents: Sequence[str]
) -> None:
    """Refuse to write over inputs, over files that are not ours, and two results to one file."""
    writers: dict[Path, Source] = {}
    for source in sources:
        for path in results_of(source, extras):
            if other := writers.get(path):
                raise ConfigError(
                    f"{other.path} and {source.path} would both be labelled into {path}; "
                    "label them into two folders"
                )
            writers[path] = source
    videos = {source.target: source for source in sources if source.is_video}
    for path, source in writers.items() if videos else ():
        for folder in path.parents:
            if (video := videos.get(folder)) and video != source:
                raise ConfigError(
                    f"{video.path} and {source.path} would both be labelled into {folder}; "
                    "label them into two folders"
                )
    of_job = (SETTINGS, CLASSES, RECORDS, *(DOCUMENTS[name] for name in documents))
    refuse_to_overwrite((*writers, *(out / name for name in of_job)), [source.path for source in sources])


def check_settings(out: Path, ways: Mapping[str, Any], redo: bool) -> None:
    """Note how the results in a folder are made; refuse to mix those of two ways."""
    path = out / SETTINGS
    if path.exists() and not redo:
        refuse_other_settings(str(out), path.read_bytes(), ways)
    _write_json(path, marked(ways))


def refuse_other_settings(out: str, before: bytes, ways: Mapping[str, Any]) -> None:
    """Raise unless a file of settings says the same. before : what the file holds."""
    try:
        found = json.loads(before)
    except ValueError:
        found = None
    if found != marked(ways):
        raise ConfigError(
            f"{out} holds results that were made with other settings ({SETTINGS} says which); "
            "choose another folder, or label all again with --redo"
        )


def write_classes(out: Path, classes: Classes) -> None:
    """Write what ids mean, as data folders have it: a folder of results can be learned from."""
    _write_json(out / CLASSES, classes_document(classes))


def classes_document(classes: Classes) -> dict[str, Any]:
    """What ids mean."""
    colors = classes.palette.tolist()
    return marked({"names": classes.names, "colors": colors, "void": [VOID_ID]})


def write_results(
    target: Path, labeling: Labeling, image: NDArray[np.uint8], extras: Sequence[str], opacity: float
) -> None:
    """Write all that is wanted of a labeling, each file wholly or not at all, the ids last."""
    for suffix, data in result_files(labeling, image, extras, opacity):
        with write_atomically(with_suffix(target, suffix)) as file:
            file.write(data)


def write_documents(out: Path, documents: Sequence[str], sources: Sequence[Source], classes: Classes) -> None:
    """Write all results of a job, also those of earlier runs, as one file for each form."""
    if "coco" in documents:
        made = coco_document(_labelled_files(sources), classes)
        _write_json(out / DOCUMENTS["coco"], {"info": {"description": marked({})["comment"]}, **made})
    if "jsonl" in documents:
        with write_atomically(out / DOCUMENTS["jsonl"]) as file:
            for one in _labelled_files(sources):
                height, width = one.labels.shape
                line = {
                    "file": one.file_name,
                    "width": width,
                    "height": height,
                    "segments": segments(one.labels, classes),
                }
                file.write((json.dumps(marked(line)) + "\n").encode())


def _labelled_files(sources: Sequence[Source]) -> Iterator[LabeledFile]:
    for source in sources:
        paths = [path for path in results_of(source, ()) if path.exists()]
        for path in sorted(paths):
            ids = np.asarray(Image.open(path)).astype(np.int16)
            name = f"{source.path}#{path.stem}" if source.is_video else str(source.path)
            yield LabeledFile(name, np.where(ids == VOID_ID, VOID, ids).astype(np.int16))


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    with write_atomically(path) as file:
        file.write(json_bytes(document))
