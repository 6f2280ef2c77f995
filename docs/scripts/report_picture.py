"""Make docs/images/report.png, the top of a report of `anyscene evaluate`; Debian's chromium draws the page.

python docs/scripts/report_picture.py           # some minutes
python docs/scripts/report_picture.py FOLDER    # keeps the report there, and goes on where it was stopped
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURE = Path(__file__).parents[1] / "images" / "report.png"
DATA, MODEL = "streets:60", "camvid"
"""Generated streets, so that anybody can make the picture; they have the classes of CamVid."""

SYSTEMS = "dnm,dnmd,dm,sm,rs,oracle,cnn"
"""All but those that have to be fitted first, which takes long."""

WIDTH, HEIGHT = 1300, 2300
"""Of the picture, in pixels: the curves and the beginning of the first table."""

COLORS = 128
"""Of the picture's palette: the page has few colours, and its file shall be small."""

QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
"""Options of chromium: no window, and no connection to anywhere."""


def main(folder: Path) -> None:
    """Score systems on generated streets, and take a picture of the page."""
    report = folder / "report"
    evaluate = ["anyscene", "evaluate", "--data", DATA, "--model", MODEL, "--systems", SYSTEMS]
    subprocess.run([sys.executable, "-m", *evaluate, "-o", str(report), "--jobs", "1"], check=True)
    shot = folder / "shot.png"
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser(),
                *QUIET,
                f"--user-data-dir={profile}",
                f"--window-size={WIDTH},{HEIGHT}",
                f"--screenshot={shot}",
                (report / "index.html").resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
        )
    Image.open(shot).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


def browser() -> str:
    """The path of chromium."""
    found = shutil.which("chromium")
    if not found:
        raise SystemExit("there is no chromium; on Debian: apt-get install chromium")
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as kept:
            main(Path(kept))
