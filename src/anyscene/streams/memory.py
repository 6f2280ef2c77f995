"""`Memory`: what is believed about the frame at hand, and how far it can be trusted, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.painting.cells import best_classes
from anyscene.painting.outlines import follow_outlines
from anyscene.streams import kernels
from anyscene.streams.motion import Motion, Sight, after_another, move

KEEP = 0.7
"""How much of its trust older evidence keeps when newer comes, so that trust has a limit."""

SETTLED_DOUBT = 1 / (1 + 1 / (1 - KEEP))
"""How much beliefs are doubted after many looks at what does not move: they lack nothing."""

LEAST_TRUST = 0.02
"""Where trust is lower, labels would be noise: beliefs keep at least so much of their strength."""


@dataclass(frozen=True, eq=False)
class Memory:
    """Beliefs about the cells of a frame.

    scores : log-beliefs but for something that all classes share, float32[h, w, C]. trust : float32[h, w]; 1
    is what one run at the finest size is worth. seen_ms : when the newest frame that was looked at arrived.
    moved : how far the image moved since then, in widths of the frame. outlined : the scores mixed along the
    outlines of the frame, float32[h, w, C]; None if nobody had time for that.
    """

    scores: NDArray[np.float32]
    trust: NDArray[np.float32]
    seen_ms: float
    moved: float = 0.0
    outlined: NDArray[np.float32] | None = None

    @cached_property
    def entropy(self) -> float:
        """The mean entropy of the beliefs, in nats."""
        scores = cv2.resize(self.scores, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_NEAREST)
        chances = np.exp(scores - scores.max(axis=2, keepdims=True))
        chances /= chances.sum(axis=2, keepdims=True)
        return float(-(chances * np.log(np.maximum(chances, 1e-9))).sum(axis=2).mean())

    @property
    def painted_by(self) -> NDArray[np.float32]:
        """The scores that labels are painted from: along outlines if they were followed."""
        return self.scores if self.outlined is None else self.outlined

    @cached_property
    def best(self) -> NDArray[np.int16]:
        """The likeliest class of each cell, int16[h, w]."""
        return best_classes(self.painted_by, self.scores.shape[2])

    def along_outlines(self, sight: Sight) -> Memory:
        """The same, with scores mixed along the outlines of the frame that it is about."""
        return replace(self, outlined=follow_outlines(self.scores, sight.colors))


def memory_of(scores: NDArray[np.float32], trust: float, seen_ms: float) -> Memory:
    """What one look tells of the frame that it was taken at."""
    return Memory(scores, np.full(scores.shape[:2], trust, np.float32), seen_ms)


@dataclass(frozen=True, eq=False)
class Carried:
    """Beliefs about an earlier frame, and how the image moved since; None if it did not.

    They are moved from there all at once: moved from frame to frame they would blur, and small things vanish.
    """

    known: Memory
    since: Motion | None = None

    def along(self, motion: Motion) -> Carried:
        """The same, one frame later."""
        return Carried(self.known, motion if self.since is None else after_another(self.since, motion))

    @cached_property
    def trust(self) -> NDArray[np.float32]:
        """How far beliefs can be trusted, float32[h, w]: less where the image does not match."""
        since = self.since
        return self.known.trust if since is None else move(self.known.trust, since) * since.match

    @cached_property
    def doubt(self) -> float:
        """How little beliefs are trusted on the whole, from 1 for nothing known down to SETTLED_DOUBT."""
        trust, since = self.known.trust, self.since
        if since is None:
            return float((1 / (1 + trust[::2, ::2])).mean())
        return float(kernels.mean_doubt(trust, since.columns, since.rows, since.match))

    @property
    def moved(self) -> float:
        """How far the image moved since it was last looked at, in widths of the frame."""
        return self.known.moved + (0.0 if self.since is None else self.since.speed)

    @cached_property
    def memory(self) -> Memory:
        """What is believed of the frame at hand."""
        if self.since is None:
            return self.known
        return Memory(move(self.known.scores, self.since), self.trust, self.known.seen_ms, self.moved)

    @property
    def painted_by(self) -> NDArray[np.float32]:
        """The scores that labels are painted from, moved to the frame at hand, float32[h, w, C]."""
        known = self.known.painted_by
        return known if self.since is None else move(known, self.since)

    def best(self) -> NDArray[np.int16]:
        """The likeliest class of each cell, int16[h, w]; quicker than to move all beliefs, and rougher."""
        if self.since is None:
            return self.known.best
        columns, rows = self.since.columns, self.since.rows
        return np.asarray(
            cv2.remap(self.known.best, columns, rows, cv2.INTER_NEAREST, borderMode=cv2.BORDER_REPLICATE)
        )


def merged(carried: Carried | None, newer: Memory) -> Memory:
    """Mix what is believed of a frame with what a look at it tells, by their trust."""
    if carried is None:
        return newer
    older = carried.memory
    kept = KEEP * older.trust
    total = kept + newer.trust
    share = kept / np.maximum(total, np.float32(1e-6))
    scores = newer.scores + share[..., None] * (older.scores - newer.scores)
    newest = newer if newer.seen_ms >= older.seen_ms else older
    return Memory(scores, total, newest.seen_ms, newest.moved)


def shown(memory: Memory) -> NDArray[np.float32]:
    """Log-beliefs as they are painted: what is not trusted gives way to neighbours of like colour."""
    return memory.scores * np.clip(memory.trust, LEAST_TRUST, 1.0)[..., None]
