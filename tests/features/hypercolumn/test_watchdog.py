"""The watchdog: runs are told to end at their deadlines, each at its own, and never otherwise."""

import time
from threading import Timer

import pytest

from anyscene.features.hypercolumn.watchdog import GivenUp, OutOfTime, Watchdog


def run_until_told_to_end(options, at_most=5.0):
    """What ONNX Runtime does: look between nodes whether to go on."""
    begun = time.perf_counter()
    while not options.terminate and time.perf_counter() - begun < at_most:
        time.sleep(0.001)
    if options.terminate:
        raise RuntimeError("terminate flag was set")
    return time.perf_counter() - begun


def test_a_run_is_ended_at_its_deadline_and_not_before():
    watchdog = Watchdog()
    begun = time.perf_counter()
    with pytest.raises(OutOfTime), watchdog.watching(begun + 0.05) as options:
        run_until_told_to_end(options)
    assert time.perf_counter() - begun >= 0.05


def test_a_run_that_ends_in_time_is_left_alone():
    watchdog = Watchdog()
    with watchdog.watching(time.perf_counter() + 60) as options:
        assert run_until_told_to_end(options, at_most=0.02) >= 0.02
    assert watchdog._watched == []


def test_other_errors_are_not_taken_for_the_deadline():
    with pytest.raises(ValueError, match="a real one"), Watchdog().watching(time.perf_counter() + 60):
        raise ValueError("a real one")


def test_an_early_deadline_is_met_while_a_late_one_is_waited_for():
    watchdog = Watchdog()
    with watchdog.watching(time.perf_counter() + 60) as late:
        with pytest.raises(OutOfTime), watchdog.watching(time.perf_counter() + 0.02) as early:
            run_until_told_to_end(early)
        assert not late.terminate


def test_a_deadline_is_met_after_earlier_runs_that_ended_in_time():
    watchdog = Watchdog()
    for patience in (0.03, 0.02):  # the thread still waits for a deadline of which nobody needs to be told
        with watchdog.watching(time.perf_counter() + patience):
            pass
    with pytest.raises(OutOfTime), watchdog.watching(time.perf_counter() + 0.06) as options:
        run_until_told_to_end(options)


def test_a_deadline_in_a_thousand_years_does_not_end_the_watch():
    watchdog = Watchdog()
    with watchdog.watching(time.perf_counter() + 3e10):
        time.sleep(0.02)
        with pytest.raises(OutOfTime), watchdog.watching(time.perf_counter() + 0.02) as options:
            run_until_told_to_end(options)


@pytest.mark.parametrize("raises", [OutOfTime, GivenUp])
def test_all_runs_can_be_ended_at_once(raises):
    watchdog = Watchdog()
    Timer(0.1, watchdog.end_all, [raises]).start()
    with pytest.raises(raises), watchdog.watching(time.perf_counter() + 60) as options:
        run_until_told_to_end(options)
