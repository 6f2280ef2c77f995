"""anyscene labels every pixel of a scene within whatever time you have."""

__version__ = "0.1.0.dev0"
