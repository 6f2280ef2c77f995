"""The files of the page, all read once when the server starts: no request ever names a path."""

from __future__ import annotations

import importlib.util
from importlib import resources
from pathlib import Path

MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".jpg": "image/jpeg",
}

NAMES = {"index.html": "/", "api.html": "/docs", "openapi.json": "/openapi.json"}
"""Where files are found that are not under /page/."""


def page_files() -> dict[str, tuple[Path, str]]:
    """Paths of URLs, and for each the file and its media type."""
    folder = Path(str(resources.files("anyscene.server"))) / "page"
    files = {
        NAMES.get(file.name, f"/page/{file.name}"): (file, MEDIA[file.suffix])
        for file in sorted(folder.iterdir())
        if file.suffix in MEDIA
    }
    photo = _photo()
    return files | ({"/page/temple.jpg": (photo, MEDIA[".jpg"])} if photo else {})


def _photo() -> Path | None:
    """A real photo to try: scikit-learn, which we need in any case, has one (CC BY 2.0, over.net)."""
    found = importlib.util.find_spec("sklearn")
    file = (
        Path(found.submodule_search_locations[0]) / "datasets/images/china.jpg"
        if found and found.submodule_search_locations
        else None
    )
    return file if file and file.is_file() else None
