"""The one family of errors that anyscene raises for its user.

A message names the file or value, says what was found, and what to do about it.
"""


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
