"""The benches of streams on toy streams and on a small model: every figure can fail."""

import numpy as np
import pytest

from anyscene.data.clips import Clip
from anyscene.streams.learning import StreamSettings, learn
from anyscene.streams.policies import FixedPeriod
from anyscene.streams.simulation import by, outcome
from benchmarks.stream_policies import Reached, _against_equals, _in_equal_parts, _needed, compared, scored
from benchmarks.streams import Shown
from benchmarks.streams_soak import mixed_frames, mortal, soaked
from tests.streams.toy import streams


def test_what_deciding_needs_is_a_share_of_the_best_fixed_cost():
    fixed = {"often": Reached(1.0, 90.0, 60.0), "seldom": Reached(0.5, 89.0, 60.0)}
    learned = {"dear": Reached(0.7, 91.0, 59.0), "cheap": Reached(0.4, 90.0, 58.0)}
    assert _needed(fixed, learned, "pixel") == 0.4
    assert np.isnan(_needed(fixed, learned, "miou"))
    assert _needed(fixed, {"as good": Reached(0.25, 0.0, 60.0)}, "miou") == 0.5  # of the cheaper of two
    assert _against_equals(fixed, learned, "pixel") == 0.4  # nothing fixed is as good as the dear one


def test_policies_are_compared_on_the_same_streams():
    starts = streams([True, False] * 3)
    settings = StreamSettings(prices=(0.02, 0.1, 0.5), horizon=4, iterations=1)
    policy = learn(starts, starts[:2], (2,), settings, np.random.default_rng(0))
    figures = {figure.name: figure for figure in compared(starts, policy, 2)}
    first = next(iter(figures.values()))
    assert first.bar is not None
    assert (
        0
        < figures["cost of D-NM against a fixed policy of its accuracy, median over prices: pixel"].value
        < 1
    )
    assert set(first.parts) == {"S-M", "D-NM", "RS", "oracle"}
    assert first.parts["S-M"]["look 2 every 1"]["spent"] == pytest.approx(1.0)
    assert first.parts["oracle"]["loss"] > 0


def test_scores_are_those_of_all_clips_together():
    starts = streams([True, False])
    whole = outcome(starts, by(FixedPeriod(2, 2)))
    apart = scored([outcome([start], by(FixedPeriod(2, 2))) for start in starts])
    assert apart.spent == pytest.approx(whole.spent)
    assert apart.pixel == pytest.approx(100 * np.trace(whole.counts) / whole.counts.sum())


def test_kinds_of_cameras_count_alike_however_many_clips_they_have():
    starts = streams([True, False])
    found = [
        outcome([start], by(FixedPeriod(2, period))) for start, period in zip(starts, (1, 4), strict=True)
    ]
    clips = [Clip("", "still", "", ()), Clip("", "pan", "fast", ())]
    alike = _in_equal_parts(found, clips)
    assert alike.spent == pytest.approx(scored(found).spent)
    assert vars(_in_equal_parts([found[0], *found], [clips[0], *clips])) == pytest.approx(vars(alike))
    assert _in_equal_parts(found[:1], clips[:1]).spent == pytest.approx(found[0].spent)


def test_flicker_is_what_changes_where_the_truth_stays():
    shown = Shown(2)
    truth = np.array([[0, 0, 1, -1]], np.int16)
    shown.add(np.array([[0, 1, 1, 0]], np.int16), truth)
    shown.add(np.array([[0, 0, 0, 1]], np.int16), np.array([[0, 0, 0, -1]], np.int16))
    assert shown.flicker == pytest.approx(50.0)
    assert shown.pixel == pytest.approx(100 * 5 / 6)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_soak_tells_every_death_of_the_worker(engine, streets, monkeypatch):
    from itertools import islice

    from anyscene.streams.live import make_stream
    from anyscene.streams.looks import looks_of
    from anyscene.streams.policies import FixedPeriod
    from anyscene.streams.workers import ThreadWorker
    from benchmarks import streams_soak

    monkeypatch.setattr(streams_soak, "DEATH_EVERY", 5)
    monkeypatch.setattr(streams_soak, "SIZES", ((90, 120), (60, 80)))
    monkeypatch.setattr(streams_soak, "ROUND", 20)
    monkeypatch.setattr(streams_soak, "CUT", 0.0)
    deaths: list[int] = []
    looks = mortal(looks_of(engine), deaths)
    stream = make_stream(engine, ThreadWorker(), 1.0, FixedPeriod(1, 1), looks)
    images = [scene.image for scene in streets.split("val")][:1]
    late, told, resident = soaked(stream, islice(mixed_frames(images), 60))
    assert len(late) + told == 60
    assert len(resident) == 3
    assert 1 <= told <= len(deaths)
