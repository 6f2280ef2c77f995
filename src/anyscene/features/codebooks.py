"""Codebooks: each vector of a map is replaced by the nearest of a few words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_array
from anyscene.errors import DataError

Vectors = NDArray[np.float32]

MOST_WORDS = 256
"""Words are named by bytes."""

LARGEST = 1e6
"""The largest number in a word from a file; the squares of larger ones could overflow."""


def learn_codebook(samples: Vectors, words: int, rng: np.random.Generator) -> Vectors:
    """Cluster samples[n, d] into a codebook float32[words, d]."""
    from sklearn.cluster import MiniBatchKMeans  # slow to import, and needed for learning only

    if len(samples) < words:
        raise DataError(
            f"{len(samples)} samples are too few for a codebook of {words} words; give more images"
        )
    seed = int(rng.integers(2**31))
    means = MiniBatchKMeans(words, random_state=seed, batch_size=4096, n_init=3, max_iter=60)
    return np.asarray(means.fit(samples).cluster_centers_, np.float32)


def check_codebook(words: NDArray[Any], dimensions: int) -> None:
    """Raise a ValueError unless a codebook from a file has 1 to 256 words of `dimensions` numbers."""
    check_array("the codebook", words, np.float32, (None, dimensions), -LARGEST, LARGEST)
    if not 1 <= len(words) <= MOST_WORDS:
        raise ValueError(f"a codebook has {len(words)} words, not 1 to {MOST_WORDS}")


def nearest_words(vectors: Vectors, codebook: Vectors) -> NDArray[np.uint8]:
    """The word nearest to each of vectors[..., d], uint8[...]; codebooks have at most 256 words."""
    flat = vectors.reshape(-1, vectors.shape[-1])
    # |v - c|^2 = |v|^2 - 2 (v.c - |c|^2 / 2): the largest bracket is the nearest word.
    closeness = flat @ codebook.T
    closeness -= 0.5 * np.einsum("wd,wd->w", codebook, codebook)
    words: NDArray[np.uint8] = closeness.argmax(axis=1).astype(np.uint8)
    return words.reshape(vectors.shape[:-1])


def sample_rows(rows: Vectors, count: int, rng: np.random.Generator) -> Vectors:
    """At most `count` rows, at random and without repetition."""
    return rows if len(rows) <= count else rows[rng.choice(len(rows), count, replace=False)]
