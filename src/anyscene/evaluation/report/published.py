"""The figures that the paper published, for its three tables; percentages, None where it has none."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One method: pixel accuracy, class accuracy and mean IoU on the test images of its paper."""

    method: str
    pixel: float
    class_mean: float | None = None
    iou: float | None = None


TITLES = {"camvid": "CamVid", "stanford": "Stanford Background", "siftflow": "SIFT Flow"}

TABLES: dict[str, tuple[Row, ...]] = {
    "camvid": (
        Row("Tighe and Lazebnik 2013", 83.3, 51.2),
        Row("SIM (Grubb et al. 2013)", 81.5, 54.8),
        Row("Brostow et al. 2008, with video", 69.1, 53.0),
        Row("Floros et al. 2011, with detectors", 83.2, 59.6, 49.3),
        Row("Sturgess et al. 2009, with video", 83.8, 59.2, 49.2),
        Row("DCRF", 83.2, 59.8, 46.3),
        Row("H-DCRF", 83.9, 60.0, 48.4),
        Row("HIM", 84.5, 60.5, 49.3),
        Row("D-NM", 84.7, 60.2, 48.8),
    ),
    "stanford": (
        Row("RCPN (Sharma et al. 2014)", 81.8, None, 61.3),
        Row("Tighe and Lazebnik 2013", 77.5),
        Row("Gould et al. 2009", 76.4),
        Row("Farabet et al. 2013", 81.4),
        Row("Pinheiro and Collobert 2014", 80.2),
        Row("Sharma et al. 2015", 82.3, None, 64.5),
        Row("H-DCRF", 82.6, None, 64.7),
        Row("S-M", 81.7, None, 61.4),
        Row("D-NM", 83.0, None, 64.7),
    ),
    "siftflow": (
        Row("RCPN (Sharma et al. 2014)", 79.6, None, 26.9),
        Row("Yang et al. 2014", 79.8),
        Row("Pinheiro and Collobert 2014", 77.7),
        Row("Liu et al. 2011", 76.7),
        Row("Tighe and Lazebnik 2013", 77.0),
        Row("FCN (Long et al. 2014)", 85.7, None, 36.7),
        Row("Farabet et al. 2013", 78.5),
        Row("Sharma et al. 2015", 80.8, None, 30.7),
        Row("H-DCRF", 85.8, None, 36.7),
        Row("S-M", 85.8, None, 35.8),
        Row("D-NM", 85.8, None, 36.7),
    ),
}
"""Tables 1 to 3 of the paper, by data set."""
