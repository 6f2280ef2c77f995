"""The one family of errors that anyscene raises for its user.

A message names the file or value, says what was found, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class AnysceneError(Exception):
    """Base of every error that a user of anyscene may meet."""


class ImageError(AnysceneError):
    """An image file cannot be read as an image."""


class DataError(AnysceneError):
    """A data set is missing, incomplete or contradicts itself."""


class ModelError(AnysceneError):
    """A model or backbone file is damaged, of another version, or does not fit the data."""


class ConfigError(AnysceneError):
    """A setting has a value that cannot work."""


class StreamError(AnysceneError):
    """A stream of frames cannot be labelled further as it was."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about a word that is unknown, if it is like one that is known; else nothing."""
    near = get_close_matches(word, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""
