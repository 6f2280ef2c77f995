"""Seeded changes of files: what accidents do, and what an attacker would do who signs the result."""

from copy import deepcopy

import numpy as np

from tests.hostile.forge import Parts, put_together
from tests.hostile.pictures import damaged

ODD_NUMBERS = (
    0,
    -1,
    1,
    2,
    7,
    255,
    2**15,
    2**31 - 1,
    -(2**31),
    2**32,
    2**63,
    10**30,
    0.5,
    1e-300,
    1e300,
    -1e300,
)
ODD_VALUES = (
    *ODD_NUMBERS,
    None,
    True,
    "",
    "x",
    "\x1b[2J",
    "../../x",
    "nan",
    [],
    {},
    [[]],
    float("nan"),
    float("inf"),
)
DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "?")


def damaged_file(content: bytes, random: np.random.Generator) -> bytes:
    """Return a file as an accident may leave it; its checksums stay as they were."""
    return next(damaged(content, random))


def forged_file(parts: Parts, random: np.random.Generator) -> bytes:
    """Return a file that an attacker changed in one to three places and signed."""
    made = deepcopy(parts)
    for _ in range(int(random.integers(1, 4))):
        kind = random.choice(["document", "array", "array", "graph"])
        if kind == "document":
            change_document(made.manifest, random)
        else:
            {"array": _change_array, "graph": _change_graph}[kind](made, random)
    return put_together(made)


def change_document(document: dict, random: np.random.Generator) -> None:
    """Change, remove, double or add one value anywhere in a document."""
    holder: dict | list = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = keys[int(random.integers(len(keys)))]
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or random.random() < 0.3:
            break
        holder = inner
    odd = ODD_VALUES[int(random.integers(len(ODD_VALUES)))]
    match int(random.integers(5)):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(int(random.integers(len(holder) + 1)), deepcopy(holder[key]))
        case 1:
            holder[f"{key}s"] = deepcopy(holder[key])
        case 2 if isinstance(inner, int | float):
            holder[key] = inner + random.choice([-1, 1, 100, -0.5])
        case 3 if isinstance(inner, list) and len(inner) > 1:
            holder[key] = [inner[place] for place in random.permutation(len(inner))]
        case _:
            holder[key] = odd


def _change_array(parts: Parts, random: np.random.Generator) -> None:
    """Change the kind, the shape or some numbers of one array, or take it away."""
    if not parts.arrays:
        return
    names = sorted(parts.arrays)
    name = names[int(random.integers(len(names)))]
    array = parts.arrays[name]
    with np.errstate(all="ignore"):
        match int(random.integers(8)):
            case 0:
                del parts.arrays[name]
            case 1:
                parts.arrays[name] = array.astype(random.choice(DTYPES))
            case 2:
                parts.arrays[name] = array.T.copy() if array.ndim > 1 else array[None]
            case 3:
                parts.arrays[name] = array[: len(array) // 2].copy()
            case 4:
                parts.arrays[name] = np.concatenate([array, array])
            case 5:
                parts.arrays[f"{name}x"] = parts.arrays.pop(name)
            case _ if array.size:
                _change_numbers(array, random)


def _change_numbers(array: np.ndarray, random: np.random.Generator) -> None:
    flat = array.reshape(-1)
    few = random.integers(array.size, size=int(random.integers(1, 4)))
    if array.dtype == np.bool_:
        flat.view(np.uint8)[few] = random.integers(256)
    elif array.dtype.kind == "f":
        flat[few] = random.choice([np.nan, np.inf, -np.inf, 0, -1, 1e-40, 3e38, 1e5, flat[few[0]] * 1.01])
    else:
        limits = np.iinfo(array.dtype)
        flat[few] = random.choice([limits.min, limits.max, -1, 0, 1, min(1000, limits.max)]).astype(
            array.dtype
        )


def _change_graph(parts: Parts, random: np.random.Generator) -> None:
    """Damage a network's graph, most often where its structure is and not its weights."""
    if not parts.graphs:
        return
    name = sorted(parts.graphs)[int(random.integers(len(parts.graphs)))]
    content = parts.graphs[name]
    end = min(len(content), 30_000) if random.random() < 0.8 else len(content)
    parts.graphs[name] = damaged_file(content[:end], random) + content[end:]
