"""Figures of the shipped models, read off made-up reports."""

import json

import pytest

from anyscene.errors import ConfigError
from benchmarks import models
from benchmarks.figures import Request

HEADLINE = {
    "him_cost_share": {"90": 0.02, "99": 0.2, "100": None},
    "sm_cost_ratio": {"best": 0.4},
    "frontier": {"mean_difference": 0.012, "lowest_difference": -0.001},
    "oracle_gain_share": 0.5,
}


@pytest.fixture
def report(tmp_path):
    def write(name, data, headline, **pixels):
        systems = [
            {"name": system.replace("_", "-"), "pixel": pixel, "class": 0.8, "iou": 0.7, "curve": []}
            for system, pixel in pixels.items()
        ]
        folder = tmp_path / name
        folder.mkdir()
        document = {"data": data, "systems": systems, "headline": headline}
        (folder / "results.json").write_text(json.dumps(document))
        return str(folder)

    return write


def run(**reports):
    named = {name.replace("_", "-"): folder for name, folder in reports.items()}
    return {figure.name: figure for figure in models.run(Request(reports=named))}


def test_every_bar_gets_its_verdict(report):
    figures = run(camvid=report("c", "camvid", HEADLINE, D_NM=0.93, CNN=0.925))
    camvid = [figure for name, figure in figures.items() if name.startswith("CamVid,")]
    missed = {figure.name for figure in camvid if figure.holds is False}
    assert missed == {
        f"CamVid, D-NM, share of HIM's cost for {share} % of its pixel accuracy" for share in (99, 100)
    }
    assert figures["CamVid, D-NM unlimited above the network at full size"].value == pytest.approx(0.5)
    assert figures["CamVid, D-NM unlimited, pixel accuracy"].value == pytest.approx(93)
    assert figures["CamVid, D-NM above the static frontier, mean over log cost"].value == pytest.approx(1.2)


def test_what_no_report_says_is_skipped(report):
    figures = run(stanford=report("s", "stanford", {}, D_NM=0.88), camvid=report("c", "camvid", {}, D_NM=0.9))
    assert figures["Stanford Background, D-NM unlimited, pixel accuracy"].holds
    assert figures["SIFT Flow, D-NM unlimited, mean IoU"].skipped == "no report was given"
    assert figures["CamVid, D-NM unlimited above the network at full size"].skipped == "the report has no CNN"
    assert figures["CamVid, share of the oracle's gain over S-M"].skipped


def test_plain_runs_are_the_rival_by_deadline_in_pixels_and_in_classes(report):
    frontier = {
        "mean_difference": 0.004,
        "lowest_difference": -0.004,
        "iou_mean_difference": 0.001,
        "iou_lowest_difference": -0.004,
    }
    harder = {**frontier, "mean_difference": 0.002}
    plain = {"by_deadline": {"frontier": frontier}}
    squeezed = {"by_deadline": {"frontier": frontier, "squeezed_frontier": harder}}
    figures = run(
        stanford=report("s", "stanford", plain, D_NM=0.88), camvid_a=report("a", "camvid", squeezed, D_NM=0.9)
    )
    named = {name: figure.holds for name, figure in figures.items() if "best plain run" in name}
    words = "by deadline less the best plain run"
    assert named[f"stanford, {words}, mean difference"]
    assert named[f"stanford, {words}, lowest difference"] is False
    assert named[f"stanford, {words}, iou mean difference"]
    assert named[f"stanford, {words}, iou lowest difference"]
    assert named[f"camvid-a, {words}, mean difference"] is False
    assert named[f"siftflow, {words}, mean difference"] is None


def test_halves_are_averaged(report):
    worse = {**HEADLINE, "frontier": {"mean_difference": -0.02}}
    figures = run(
        camvid_a=report("a", "camvid", HEADLINE, D_NM=0.86), camvid_b=report("b", "camvid", worse, D_NM=0.88)
    )
    above = figures["CamVid cross-fit, above the static frontier, mean over log cost"]
    assert above.value == pytest.approx(-0.4)
    assert above.holds is False
    assert figures["CamVid cross-fit, D-NM unlimited, pixel accuracy"].value == pytest.approx(87)


def test_reports_that_cannot_be_meant(report):
    with pytest.raises(ConfigError, match="needs reports"):
        run()
    with pytest.raises(ConfigError, match="no report 'kitti'"):
        run(kitti="anywhere")
    with pytest.raises(ConfigError, match="report on stanford"):
        run(camvid=report("s", "stanford", {}, D_NM=0.9))
