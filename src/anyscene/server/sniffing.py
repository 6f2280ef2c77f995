"""What a picture claims to be, read off its first bytes: nothing is decoded and no library is trusted.

The listening process needs the size to foretell what decoding takes; the worker checks it once more with the
decoder's own eyes.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

HEAD_BYTES = 256 * 1024
"""A JPEG's size comes after its metadata, a thumbnail among it; further in nobody looks for it."""

MOST_SEGMENTS = 1000
"""Pieces of a JPEG's metadata; usual files have some dozens, and each takes time of the listening process."""

MOST_SCANS = 64
"""Progressive JPEGs have about ten scans of the picture; thousands of them make a small file take minutes."""


class Claim(NamedTuple):
    """The kind of a picture, and the size that it is stored with."""

    kind: str
    width: int
    height: int

    @property
    def pixels(self) -> int:
        """How many there are to decode."""
        return self.width * self.height


def claim_of(data: bytes) -> Claim | None:
    """Tell what a picture claims to be; None if it is of no kind that the server takes."""
    try:
        if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR":
            return Claim("png", *struct.unpack(">II", data[16:24]))
        if data[:2] == b"\xff\xd8":
            return _jpeg(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return Claim("gif", *struct.unpack("<HH", data[6:10]))
        if data[:2] == b"BM":
            width, height = struct.unpack("<ii", data[18:26])
            return Claim("bmp", abs(width), abs(height))
    except struct.error:  # cut short
        return None
    return None


def scans_of(data: bytes) -> int:
    """How many scans a JPEG has: inside of compressed data, 0xFF is never followed by 0xDA."""
    return data.count(b"\xff\xda")


def _jpeg(data: bytes) -> Claim | None:
    place = 2
    for _ in range(MOST_SEGMENTS):
        if place + 9 > min(len(data), HEAD_BYTES) or data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:  # filler
            place += 1
            continue
        if marker == 0xDA:  # the picture itself begins, and no size was named
            return None
        is_frame = 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)
        if is_frame:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return Claim("jpeg", width, height)
        place += 2 + struct.unpack(">H", data[place + 2 : place + 4])[0]
    return None


def _webp(data: bytes) -> Claim | None:
    chunk = data[12:16]
    if chunk == b"VP8X":
        width = 1 + int.from_bytes(data[24:27], "little")
        height = 1 + int.from_bytes(data[27:30], "little")
        return Claim("webp", width, height)
    if chunk == b"VP8L" and data[20] == 0x2F:
        bits = struct.unpack("<I", data[21:25])[0]
        return Claim("webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if chunk == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return Claim("webp", width & 0x3FFF, height & 0x3FFF)
    return None
