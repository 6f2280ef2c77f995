"""Images that trees are tried on: random, flat, tiny, thin, and some that are meant to break them."""

import numpy as np
from hypothesis import strategies as st
from sklearn.datasets import load_sample_image


def _noise(random, h, w):
    return random.integers(0, 256, (h, w, 3))


def _flat(random, h, w):
    return np.broadcast_to(random.integers(0, 256, 3), (h, w, 3))


def _blocks(random, h, w):
    """Flat rectangles with a little noise."""
    side = int(random.integers(1, 12))
    colors = random.integers(0, 256, (-(-h // side), -(-w // side), 3))
    return colors.repeat(side, 0).repeat(side, 1)[:h, :w] + random.integers(-2, 3, (h, w, 3))


def _ramp(random, h, w):
    """Equal weights everywhere: only the order of ties decides."""
    return np.broadcast_to((np.arange(h)[:, None, None] + np.arange(w)[None, :, None]) % 256, (h, w, 3))


def _checkers(random, h, w):
    """The strongest contrast at every edge."""
    return np.broadcast_to(255 * ((np.arange(h)[:, None, None] + np.arange(w)[None, :, None]) % 2), (h, w, 3))


def _comb(random, h, w):
    """Stripes that end in one region below them, which has many neighbours that are older than itself."""
    stripes = np.arange(w)[None, :, None] // 4 % 2 * np.array([200, 90, 30])
    below = np.arange(h)[:, None, None] > h // 2
    return np.where(below, 128, np.broadcast_to(stripes, (h, w, 3)))


def _spiral(random, h, w):
    """Two long, thin regions that wind around each other."""
    y, x = np.mgrid[:h, :w] - np.array([h / 2, w / 2])[:, None, None]
    turns = np.hypot(y, x) / 8 + np.arctan2(y, x) / np.pi
    return np.broadcast_to((turns.astype(int) % 2 * 255)[..., None], (h, w, 3))


def _dots(random, h, w):
    """One background and many small regions."""
    return np.broadcast_to(np.where(random.random((h, w, 1)) < 0.08, 255, 0), (h, w, 3))


KINDS = (_noise, _flat, _blocks, _ramp, _checkers, _comb, _spiral, _dots)


def make_image(kind, seed, h, w):
    made = KINDS[kind](np.random.default_rng(seed), h, w)
    return np.ascontiguousarray(np.clip(made, 0, 255).astype(np.uint8))


_small = st.tuples(st.integers(1, 20), st.integers(1, 20))
_medium = st.tuples(st.integers(40, 200), st.integers(40, 200))
_thin = st.tuples(st.just(1), st.integers(1, 4000))
_sizes = st.one_of(_small, _medium, _thin, _thin.map(lambda size: size[::-1]))

images = st.builds(
    lambda kind, seed, size: make_image(kind, seed, *size),
    st.integers(0, len(KINDS) - 1),
    st.integers(0, 2**32 - 1),
    _sizes,
)
"""Images of every kind, of one pixel up to several pyramid levels, of any aspect."""


def natural_image():
    """A photograph, uint8[427, 640, 3]."""
    return np.ascontiguousarray(load_sample_image("china.jpg"))
