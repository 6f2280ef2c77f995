"""Docstrings for the Python reference: what they say of parameters and fields becomes a list."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Parameters(griffe.Extension):  # type: ignore[misc]
    """Our docstrings say `name : meaning`, often several in a line; a page has a line for each."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """List the parameters of a function."""
        as_list(func, [parameter.name for parameter in func.parameters])

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """List the fields of a class."""
        as_list(cls, list(cls.members))


def as_list(thing: griffe.Object, names: list[str]) -> None:
    """Change the docstring of a function or class whose parameters or fields have these names."""
    if not (thing.docstring and names):
        return
    said, mark, examples = thing.docstring.value.partition("Examples:")
    name = "|".join(map(re.escape, names))
    some = rf"(?:{name})(?:, (?:{name}))*"
    # A colon without a space before it is also just a colon, unless a line begins so.
    listed = re.sub(rf"(?<!\S)({some}) :\s+", r"\n- `\1`: ", said)
    listed = re.sub(rf"^({some}):\s+", r"\n- `\1`: ", listed, flags=re.MULTILINE)
    first = listed.find("\n- `")
    if first >= 0:
        thing.docstring.value = (
            f"{listed[:first].rstrip()}\n{listed[first:]}".rstrip() + f"\n\n{mark}{examples}"
        )
