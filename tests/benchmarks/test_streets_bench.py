from benchmarks import streets
from benchmarks.figures import Request


def test_the_bench_counts_scenes_a_second(monkeypatch):
    monkeypatch.setattr(streets, "SCENES", 2)
    monkeypatch.setattr(streets, "ROUNDS", 1)
    (figure,) = streets.run(Request())
    assert (figure.bar.comparison, figure.bar.value) == ("at least", 20.0)
    assert abs(figure.value * figure.parts["milliseconds a scene"] - 1000) < 1e-6
