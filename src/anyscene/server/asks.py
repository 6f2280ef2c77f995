"""What a request asks for, read from its query, headers and body; and how a refusal is worded."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from python_multipart.multipart import parse_options_header
from starlette.datastructures import QueryParams

from anyscene.engine.clock import parse_budget
from anyscene.errors import ConfigError
from anyscene.server.sniffing import MOST_SCANS, claim_of, scans_of

FORMATS = {
    "ids": "image/png",
    "overlay": "image/png;profile=overlay",
    "json": "application/json",
    "npz": "application/x-npz",
}
"""How labels can be answered, and what clients call it in `Accept`; the first is the default."""

FIRST, USUAL, LAST = 1, 5, 9
"""Priorities."""

FIELDS = frozenset({"budget", "model", "until", "priority", "clock", "format"})
"""What a query or a form may name, beside the picture."""

MOST_PARTS = 16
"""Of a form."""

MOST_PART_HEAD_BYTES = 4096
"""Of a part of a form."""

_GRPC_UNITS_MS = {"H": 3.6e6, "M": 6e4, "S": 1e3, "m": 1.0, "u": 1e-3, "n": 1e-6}


class Refusal(Exception):
    """A request that is not answered with labels.

    status : HTTP's. reason : a word for the metrics. retry_s : when to try again, if that may help.
    """

    def __init__(self, status: int, reason: str, message: str, retry_s: float | None = None) -> None:
        super().__init__(message)
        self.status, self.reason, self.retry_s = status, reason, retry_s
        self.message = message.encode(errors="replace").decode()  # JSON may name halves of characters


@dataclass(frozen=True)
class Wish:
    """How a picture is to be labelled.

    budget_ms : None for as long as it pays.
    counts_all : whether the budget counts from the arrival of the request on; else for labeling alone.
    """

    model: str
    budget_ms: float | None = None
    counts_all: bool = True
    until: float | None = None
    priority: int = USUAL
    answer: str = "ids"


@dataclass(frozen=True)
class Picture:
    """A picture on its way to a worker. kind : "raw" for uint8[height, width, 3] without any header."""

    data: bytes
    kind: str
    width: int
    height: int

    @property
    def pixels(self) -> int:
        """How many there are."""
        return self.width * self.height


def fields_from(query: QueryParams) -> dict[str, str]:
    """The parameters of a query; one that is given twice is refused, since either could be meant."""
    fields = dict(query)
    if len(fields) < len(query.multi_items()):
        twice = next(name for name in fields if len(query.getlist(name)) > 1)
        raise Refusal(400, "wrong", f"the parameter '{twice[:40]}' is given twice")
    return fields


def wish_from(
    fields: Mapping[str, str], headers: Mapping[str, str], models: Mapping[str, Any], default_model: str
) -> Wish:
    """Read the wish of a request; the tightest of several deadlines counts."""
    unknown = sorted(fields.keys() - FIELDS)
    if unknown:
        raise Refusal(400, "wrong", f"there is no parameter '{unknown[0][:40]}'; there are {_listed(FIELDS)}")
    model = fields.get("model", default_model)
    if model not in models:
        raise Refusal(404, "wrong", f"there is no model '{model[:80]}' here; there are {_listed(models)}")
    clock = fields.get("clock", "request")
    if clock not in ("request", "labeling"):
        raise Refusal(400, "wrong", f"clock is 'request' or 'labeling', found '{clock[:40]}'")
    budgets = [_budget(fields["budget"])] if "budget" in fields else []
    budgets += _deadlines(headers)
    return Wish(
        model,
        min(budgets, default=None),
        clock == "request",
        _until(fields.get("until")),
        priority_of(fields.get("priority", USUAL)),
        _format(fields.get("format"), headers.get("accept", "*/*")),
    )


def _listed(names: Mapping[str, Any] | frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _budget(text: str) -> float:
    try:
        budget = parse_budget(f"{text}ms" if re.fullmatch(r"[0-9.]+", text) else text)
    except (ConfigError, ValueError):
        raise Refusal(
            400, "wrong", f"'{text[:40]}' is not a budget; write a number and its unit, such as 20ms or 1.5s"
        ) from None
    return checked_budget(budget)


def checked_budget(budget_ms: float) -> float:
    """Return a budget that can be worked with."""
    if not 0 < budget_ms < math.inf:
        raise Refusal(400, "wrong", f"a budget is longer than nothing and ends, found {budget_ms:g} ms")
    return budget_ms


def _deadlines(headers: Mapping[str, str]) -> list[float]:
    """Budgets that come as headers, as proxies and RPC clients send them."""
    found = []
    if (given := headers.get("x-request-deadline-ms")) is not None:
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", given):
            raise Refusal(
                400, "wrong", "X-Request-Deadline-Ms is the number of milliseconds that are left, such as 30"
            )
        found.append(checked_budget(float(given)))
    if (given := headers.get("grpc-timeout")) is not None:
        match = re.fullmatch(r"([0-9]{1,8})([HMSmun])", given)
        if match is None:
            raise Refusal(
                400, "wrong", "grpc-timeout is a number and a unit of H, M, S, m, u, n, such as 30m"
            )
        found.append(checked_budget(int(match[1]) * _GRPC_UNITS_MS[match[2]]))
    return found


def _until(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        until = float(text)
    except ValueError:
        until = math.nan
    if not 0 <= until <= 1:
        raise Refusal(400, "wrong", f"until is a mean confidence between 0 and 1, found '{text[:40]}'")
    return until


def priority_of(given: object) -> int:
    """Read a priority; 0 is Triton's word for the usual one."""
    text = str(given)
    if not re.fullmatch(r"[0-9]", text):
        raise Refusal(
            400, "wrong", f"priority is a number from {FIRST} (first) to {LAST} (last), found '{text[:40]}'"
        )
    return int(text) or USUAL


def _format(named: str | None, accept: str) -> str:
    if named is not None:
        if named not in FORMATS:
            raise Refusal(400, "wrong", f"there is no format '{named[:40]}'; there are {', '.join(FORMATS)}")
        return named
    ranges = []
    for place, part in enumerate(accept.split(",")):
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        values = dict(word.partition("=")[::2] for word in parameters)
        ranges.append((-_quality(values.pop("q", "1")), place, kind, values.get("profile")))
    for quality, _, kind, profile in sorted(ranges, key=lambda one: one[:2]):
        if quality == 0:
            continue
        wanted = kind + (f";profile={profile}" if profile else "")
        for name, media in FORMATS.items():
            if wanted in (media, "*/*", media.partition("/")[0] + "/*"):
                return name
    raise Refusal(
        406, "wrong", f"labels come as {', '.join(FORMATS.values())}; Accept allows for none of these"
    )


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def picture_from(data: bytes, most_pixels: int) -> Picture:
    """Judge a picture by its first bytes."""
    if not data:
        raise Refusal(400, "wrong", "the request has no picture in its body; send a PNG, JPEG or WebP file")
    claim = claim_of(data)
    if claim is None or not claim.pixels:
        raise Refusal(415, "wrong", "this is no picture that can be read; use PNG, JPEG, WebP, GIF or BMP")
    check_pixels(claim.width, claim.height, most_pixels)
    if claim.kind == "jpeg" and scans_of(data) > MOST_SCANS:
        raise Refusal(
            413, "too large", f"this JPEG has more than {MOST_SCANS} scans and would take long to decode"
        )
    return Picture(data, *claim)


def check_pixels(width: int, height: int, most: int) -> None:
    """Refuse what is too large to decode."""
    if width * height > most:
        raise Refusal(
            413,
            "too large",
            f"the picture claims {width}x{height} pixels and was not decoded; "
            f"at most {most // 10**6} million are taken",
        )


def form_from(content_type: str, body: bytes) -> tuple[bytes, dict[str, str]]:
    """Take the picture and the other fields out of a form (multipart/form-data)."""
    boundary = parse_options_header(content_type)[1].get(b"boundary")
    if not boundary:
        raise Refusal(400, "wrong", "the form names no boundary")
    # Split at once: a parser that looks at the bytes one by one would hold up everybody else.
    first, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary, MOST_PARTS + 2)
    if len(parts) > MOST_PARTS + 1:  # the last one is the end
        raise Refusal(400, "wrong", f"the form has more than {MOST_PARTS} parts")
    if first or not parts or not parts.pop().startswith(b"--"):
        raise _damaged_form()
    image, fields = None, {}
    for part in parts:
        field, content = _field_from(part)
        if field == "image":
            image = content
        else:
            fields[field] = content[:256].decode("utf-8", "replace")
    if image is None:
        raise Refusal(400, "wrong", "the form has no field 'image' with the picture")
    return image, fields


def _field_from(part: bytes) -> tuple[str, bytes]:
    """The name of a part of a form, and what it holds."""
    head, gap, _ = part[:MOST_PART_HEAD_BYTES].partition(b"\r\n\r\n")
    if not part.startswith(b"\r\n") or not gap:
        raise _damaged_form()
    name = b""
    for line in head.split(b"\r\n"):
        key, _, value = line.partition(b":")
        if key.strip().lower() == b"content-disposition":
            name = parse_options_header(value)[1].get(b"name", b"")
    return name.decode("utf-8", "replace"), part[len(head) + len(gap) :]


def _damaged_form() -> Refusal:
    return Refusal(400, "wrong", "the form is damaged or cut short")
