"""Jobs over millions of images: where they lie, what was done of them, and who labels them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyscene.cluster.labeler import Labeler as Labeler
    from anyscene.cluster.labeler import Looks as Looks

__all__ = ["Labeler", "Looks"]


def __getattr__(name: str) -> Any:
    """Load what labels when it is asked for: commands that only count images need none of it."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from anyscene.cluster import labeler

    return getattr(labeler, name)
