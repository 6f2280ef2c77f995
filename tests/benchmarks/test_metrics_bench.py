from benchmarks import metrics
from benchmarks.figures import Request


def test_the_bench_counts_as_scikit_learn_does_and_scales_to_the_test_sets_size():
    figures = {figure.name: figure for figure in metrics.run(Request("streets:10?size=96x72", "val"))}
    time = figures["metric time, 233 images of 480x360"]
    assert time.parts["images"] == 2
    assert time.value == time.parts["seconds"] * 233 * 480 * 360 / (2 * 96 * 72)
    assert figures["cells that differ from scikit-learn's"].value == 0
