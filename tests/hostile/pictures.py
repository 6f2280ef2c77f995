"""Pictures that are small on disk and large in memory, written by hand."""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

KINDS = (
    "one bit",
    "palette",
    "grey 16",
    "colour 16",
    "rgba",
    "jpeg",
    "progressive jpeg",
    "turned jpeg",
    "float",
)


EXTREMES = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", bytes(4))


def write_large(path: Path, kind: str, side: int) -> Path:
    """Write a square picture of a kind that decodes to side * side pixels."""
    depths = {"one bit": (1, 0), "palette": (8, 3), "grey 16": (16, 0), "colour 16": (16, 2), "rgba": (8, 6)}
    if kind in depths:
        path.write_bytes(large_png(side, *depths[kind]))
        return path
    if kind == "float":
        Image.new("F", (side, side), 0.5).save(path, "TIFF", compression="tiff_deflate")
        return path
    exif = Image.Exif()
    exif[0x0112] = 6 if kind == "turned jpeg" else 1
    Image.new("RGB", (side, side), (9, 99, 200)).save(
        path, "JPEG", progressive=kind == "progressive jpeg", exif=exif, subsampling=0
    )
    return path


def large_png(side: int, depth: int, color: int) -> bytes:
    """Return a PNG of nothing; of many pixels in few bytes."""
    channels = {0: 1, 2: 3, 3: 1, 6: 4}[color]
    row = bytes(1 + -(-side * depth * channels // 8))
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, depth, color, 0, 0, 0)
    palette = _chunk(b"PLTE", bytes(range(30))) + _chunk(b"tRNS", b"\0\x80") if color == 3 else b""
    chunks = _chunk(b"IHDR", header) + palette + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def damaged(content: bytes, random: np.random.Generator) -> Iterator[bytes]:
    """Yield versions of a file: cut short, with other bytes, with a piece doubled or left out."""
    while True:
        made = bytearray(content)
        for _ in range(random.integers(1, 5)):
            start = int(random.integers(len(made)))
            size = int(random.integers(1, 1 + min(64, len(made) - start)))
            match int(random.integers(5)):
                case 0:
                    del made[max(start, 1) :]
                case 1:
                    made[start : start + size] = random.bytes(size)
                case 2:
                    made[start] ^= 1 << int(random.integers(8))
                case 3:
                    made[start:start] = made[start : start + size]
                case 4:
                    made[start : start + 4] = EXTREMES[int(random.integers(len(EXTREMES)))]
        yield bytes(made)
