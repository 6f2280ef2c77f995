"""The one family of errors that anyscene raises for its user.

A message names the file or value, says what was found, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class AnysceneError(Exception):
    """Base of every error that a user of anyscene may meet.

    Examples:
        >>> try:
        ...     anyscene.load("camvit")
        ... except anyscene.AnysceneError as error:
        ...     print(str(error).split("; ")[-1])
        did you mean 'camvid'?

    """


class ImageError(AnysceneError):
    """An image file cannot be read as an image.

    Examples:
        >>> try:
        ...     anyscene.data.read_image("nothing.jpg")
        ... except anyscene.ImageError:
        ...     print("no such picture")
        no such picture

    """


class DataError(AnysceneError):
    """A data set is missing, incomplete or contradicts itself.

    Examples:
        >>> try:
        ...     anyscene.data.open("camvid:nowhere")
        ... except anyscene.DataError:
        ...     print("no data set there")
        no data set there

    """


class ModelError(AnysceneError):
    """A model or backbone file is damaged, of another version, or does not fit the data.

    Examples:
        >>> try:
        ...     anyscene.load("nothing.anyscene")
        ... except anyscene.ModelError:
        ...     print("no such model")
        no such model

    """


class ConfigError(AnysceneError):
    """A setting has a value that cannot work.

    Examples:
        >>> streets = anyscene.data.open("streets:1")
        >>> truth = anyscene.Labeling(streets.split("all")[0].truth, streets.classes)
        >>> try:
        ...     truth.save("labels.jpg")
        ... except anyscene.ConfigError:
        ...     print("labels are saved as PNG")
        labels are saved as PNG

    """


class StreamError(AnysceneError):
    """A stream of frames cannot be labelled further as it was.

    Examples:
        >>> live = anyscene.load("camvid").live("5ms")  # without `with`
        >>> image = anyscene.data.open("streets:1").split("all")[0].image
        >>> try:
        ...     live.label(image)
        ... except anyscene.StreamError:
        ...     print("a stream is opened by `with`")
        a stream is opened by `with`

    """


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about a word that is unknown, if it is like one that is known; else nothing."""
    near = get_close_matches(word, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def what_is_wrong(error: ValidationError, known: Iterable[str], whole: str = "the settings together") -> str:
    """The first thing that is wrong with settings, in words. whole : what they are called all together."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or whole
    if first["type"] == "extra_forbidden":
        return f"unknown setting '{where}'{did_you_mean(where, known)}"
    return f"wrong value for {where}: {first['msg']}"
