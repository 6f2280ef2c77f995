"""Simulated streams: what a policy comes to there is what it comes to in a stream."""

import numpy as np
import pytest

from anyscene.data.camera_paths import camera_clips
from anyscene.data.scenes import Scene
from anyscene.engine.clock import Clock
from anyscene.streams.looks import looks_of
from anyscene.streams.policies import NOTHING, FixedPeriod
from anyscene.streams.simulation import begin, by, outcome, record, simulate
from anyscene.streams.stream import Stream
from anyscene.streams.workers import StampedWorker
from tests.streams.toy import COSTS, recording, streams


def test_a_look_is_known_when_the_next_frame_has_come():
    start = streams([False])[0]
    assert start.after(NOTHING).memory.trust.max() == pytest.approx(0.25)
    assert start.after(2).memory.trust.min() > 1
    assert start.after(2).memory.seen_ms == 0
    assert (start.after(2).frames, start.after(NOTHING).frames) == (1, start.frames + 1)


def test_a_new_scene_begins_with_the_coarsest_look_alone():
    cut = recording(True)
    cut = type(cut)(cut.clip, (*cut.motions[:5], None, *cut.motions[6:]), cut.scores, cut.truth, cut.trusts)
    moments = [moment for moment, _ in simulate(begin(cut, COSTS), by(FixedPeriod(2, 1)))]
    assert moments[4].memory.trust.max() > 1
    assert moments[5].memory.trust.max() == pytest.approx(0.25)
    assert moments[5].memory.seen_ms == pytest.approx(5 * cut.interval_ms)


def test_frames_of_another_size_are_another_scene(engine, streets):
    stills = [streets.split("val")[0], streets.split("val")[1]]
    smaller = Scene("small", stills[1].image[:60, :80], stills[1].truth[:60, :80])
    clip = camera_clips([stills[0], smaller], np.random.default_rng(0), ["cut"], length=4)[0]
    motions = record(clip, looks_of(engine)).motions
    assert [motion is None for motion in motions] == [True, False, True, False]


def test_an_outcome_counts_what_was_spent_and_what_was_right():
    often, seldom = (outcome(streams([True]), by(FixedPeriod(2, period))) for period in (1, 5))
    assert (often.spent, seldom.spent) == (1.0, pytest.approx(0.2))
    assert often.loss < seldom.loss
    assert np.trace(often.counts) > np.trace(seldom.counts)
    assert often.counts.sum() == 20 * 6 * 8


def test_a_simulation_believes_what_a_stream_believes(engine, streets):
    clip = camera_clips([streets.split("val")[0]], np.random.default_rng(0), ["pan"], ["medium"], length=8)[0]
    looks = looks_of(engine)
    policy = FixedPeriod(1, 2)
    passed = simulate(begin(record(clip, looks), np.array([0.0, 1.0])), by(policy))
    stream = Stream(engine, looks, (1.0,), policy, StampedWorker())
    for turn, scene in enumerate(clip.frames):
        # Only the first frame has time for a look before it is labelled, as in the simulation.
        budget_ms = 1e4 if turn == 0 else 0.5
        out = stream.label(scene.image, turn * 1e3 / clip.frames_per_second, Clock(budget_ms))
        moment = passed[turn][0]
        assert out.age_ms == pytest.approx(turn * moment.recording.interval_ms - moment.memory.seen_ms)
