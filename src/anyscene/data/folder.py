"""Anyone's own data: `images/`, `labels/` and `classes.json`, with optional split files.

labels/ holds a PNG for each image, at the same path within: class ids (grey or palette) or colours.

classes.json, of which only the names are needed:
    {"names": ["sky", "road"], "colors": [[128, 128, 128], [128, 64, 128]], "void": [255]}
`void` lists what means "unknown" in label files, ids or colours alike; without it, id 255 and black do.

splits/NAME.txt names the scenes of split NAME, one a line. Without such files `val` is a fixed fifth.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anyscene.data.classes import VOID, Classes
from anyscene.data.images import IMAGE_SUFFIXES, read_label
from anyscene.data.pairs import Pairs, find_files
from anyscene.data.palettes import distinct_colors, pack_colors
from anyscene.data.scenes import DataSet
from anyscene.data.splits import read_ids, split_by_hash
from anyscene.errors import DataError, what_is_wrong

OPTIONS = ()

Byte = Annotated[int, Field(ge=0, le=255)]
Color = tuple[Byte, Byte, Byte]
Id = Annotated[int, Field(ge=0, lt=2**15)]


class ClassList(BaseModel):
    """The content of classes.json."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: Annotated[tuple[str, ...], Field(min_length=1)]
    colors: tuple[Color, ...] | None = None
    void: tuple[Id | Color, ...] | None = None
    comment: str | None = None


def open_tree(root: Path) -> DataSet:
    """Open a folder of your own data; without labels/ the scenes have no truth."""
    if not (root / "images").is_dir() or not (root / "classes.json").is_file():
        raise DataError(f"{root}: not a data folder; expected images/, labels/ and classes.json in it")
    reader = LabelReader.from_file(root / "classes.json")
    images = find_files(root / "images")
    unlabeled = frozenset() if (root / "labels").is_dir() else frozenset(images)
    pairs = Pairs(images, find_files(root / "labels", [".png"]), reader.read, unlabeled)
    splits, problems = _read_splits(root / "splits", images)
    problems += [
        f"{path}: a label must be a PNG, which keeps ids and colours as they are; convert it"
        for path in find_files(root / "labels", IMAGE_SUFFIXES - {".png"}).values()
    ]
    return DataSet(
        f"folder {root}",
        reader.classes,
        {**splits, "all": list(images)},
        pairs.image,
        pairs.truth,
        notes=["there is no labels/ folder: the scenes have no truth"] if unlabeled else [],
        problems=problems + pairs.strays(),
    )


@dataclass(frozen=True)
class LabelReader:
    """Reads label pictures of ids or colours.

    class_of_id, class_of_color: the class, or VOID, of every id and packed colour that a label may hold.
    """

    classes: Classes
    class_of_id: dict[int, int]
    class_of_color: dict[int, int]

    @staticmethod
    def from_file(path: Path) -> LabelReader:
        """Read classes.json."""
        try:
            content = ClassList.model_validate_json(path.read_bytes().removeprefix(BOM_UTF8))
        except ValidationError as error:
            wrong = what_is_wrong(error, ClassList.model_fields, "the file")
            raise DataError(
                f'{path}: {wrong}; expected something like {{"names": ["sky", "road"]}}'
            ) from None
        count = len(content.names)
        colors = content.colors or ()
        palette = np.array(colors, np.uint8).reshape(-1, 3) if colors else distinct_colors(count)
        try:
            classes = Classes(content.names, palette)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
        class_of_id = {id: id for id in range(count)}
        class_of_color = {_pack(color): index for index, color in enumerate(colors)}
        if len(class_of_color) < len(colors):
            raise DataError(f"{path}: two classes have the same colour; give each its own")
        if content.void is None:
            return LabelReader(classes, {255: VOID} | class_of_id, {_pack((0, 0, 0)): VOID} | class_of_color)
        for entry in dict.fromkeys(content.void):
            meaning, key = (class_of_id, entry) if isinstance(entry, int) else (class_of_color, _pack(entry))
            if key in meaning:
                raise DataError(
                    f"{path}: {entry} is void and class '{content.names[meaning[key]]}' at once; "
                    "take it out of one of them"
                )
            meaning[key] = VOID
        return LabelReader(classes, class_of_id, class_of_color)

    def read(self, path: Path) -> NDArray[np.int16]:
        """Read one label picture."""
        picture = read_label(path)
        if picture.ndim == 2:
            values, meaning = picture, self.class_of_id
        else:
            values, meaning = pack_colors(picture), self.class_of_color
        distinct, positions = np.unique(values, return_inverse=True)
        for value in distinct.tolist():
            if value not in meaning:
                found = f"class id {value}" if picture.ndim == 2 else f"the colour {_unpack(value)}"
                raise DataError(
                    f"{path}: holds {found}, which is neither a class nor void in classes.json; "
                    "correct the label, or add it there"
                )
        known = np.array([meaning[value] for value in distinct.tolist()], np.int16)
        return known[positions].reshape(values.shape)


def _read_splits(folder: Path, images: dict[str, Path]) -> tuple[dict[str, list[str]], list[str]]:
    """Read the split files, or make splits by hash if there are none; also say what is wrong with them."""
    lists = {path.stem: read_ids(path) for path in sorted(folder.glob("*.txt"))}
    if not lists:
        return split_by_hash(list(images)), []
    if "all" in lists:
        raise DataError(f"{folder / 'all.txt'}: 'all' always means every image; give this split another name")
    problems = [
        f"{folder / split}.txt: names '{id}', but there is no such image; correct or remove the line"
        for split, ids in lists.items()
        for id in ids
        if id not in images
    ]
    for one, other in combinations([split for split in ("train", "val", "test") if split in lists], 2):
        shared = sorted(set(lists[one]) & set(lists[other]))
        if shared:
            problems.append(
                f"{folder}: {len(shared)} scenes are both in {one} and in {other}, such as '{shared[0]}'; "
                "a scene that was trained on says nothing when tested on"
            )
    return {split: [id for id in ids if id in images] for split, ids in lists.items()}, problems


def _pack(color: Color) -> int:
    return int(pack_colors(np.array(color)))


def _unpack(packed: int) -> Color:
    return packed >> 16, packed >> 8 & 255, packed & 255
