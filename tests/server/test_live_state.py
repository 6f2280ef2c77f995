"""What a worker keeps of live streams, frame by frame."""

import threading
import time

import numpy as np
import pytest

from anyscene.server.live_state import MOST, LiveStates
from tests.server.conftest import wait_for

BUDGET_MS = 500.0
TOO_SHORT_FOR_A_LOOK_MS = 2.0


@pytest.fixture(scope="module")
def pan(streets):
    """A camera that turns: parts of one scene, one after the other."""
    image = streets.split("val").image(0)
    return [np.ascontiguousarray(image[:, place : place + 100]) for place in range(0, 20, 2)]


@pytest.fixture
def states(engine):
    made = LiveStates({"small": engine})
    yield made
    for session in list(made._states):
        made.close(session)


def watch(states, session, frames, pause=0.03):
    """Label frames as they come; how old the evidence of each is."""
    ages = []
    for frame in frames:
        ages.append(states.label(session, "small", frame, time.perf_counter(), BUDGET_MS).age_ms)
        time.sleep(pause)
    return ages


def looks_under_way():
    return [thread for thread in threading.enumerate() if thread.name == "anyscene stream"]


def is_at_rest(worker):
    """Whether the look that was asked for last is done."""
    return worker._job is None and not worker._running


def test_beliefs_move_along_with_the_image(states, engine, pan):
    for frame in pan:
        last = states.label("one", "small", frame, time.perf_counter(), TOO_SHORT_FOR_A_LOOK_MS)
        wait_for(lambda: is_at_rest(states._states["one"]._worker))
    assert last.age_ms > 0  # beliefs of frames before were moved
    now = engine.label(pan[-1]).labels
    as_they_were = (engine.label(pan[0]).labels == now).mean()
    assert (last.labels == now).mean() > as_they_were + 0.1


def test_each_stream_has_a_state_of_its_own(states, pan):
    watch(states, "one", pan)
    first = states.label("other", "small", pan[0], time.perf_counter(), BUDGET_MS)
    assert first.age_ms == 0.0
    assert len(states._states) == 2


def test_a_request_of_somebody_else_ends_the_look(states, pan):
    watch(states, "one", pan[:3], pause=0.0)
    begun = time.perf_counter()
    states.make_way(None)
    assert time.perf_counter() - begun < 0.5
    wait_for(lambda: not states._states["one"]._worker.is_busy, seconds=5)
    assert watch(states, "one", pan[3:])  # and the stream goes on


def test_where_looks_are_always_ended_a_stream_begins_anew(states, pan):
    ages = []
    until = time.perf_counter() + 1.5
    while time.perf_counter() < until:
        for frame in pan:
            ages += watch(states, "one", [frame], pause=0.0)
            states._states["one"]._was_ended = True
            time.sleep(0.02)
    assert max(ages) < 1000


def test_a_stream_that_is_closed_leaves_no_thread(states, pan):
    before = len(looks_under_way())
    watch(states, "one", pan)
    states.close("one")
    states.close("one")
    wait_for(lambda: len(looks_under_way()) <= before, seconds=5)


def test_states_are_bounded(states, pan):
    for number in range(MOST + 5):
        states.label(str(number), "small", pan[0], time.perf_counter(), BUDGET_MS)
    assert len(states._states) == MOST
    assert "0" not in states._states
