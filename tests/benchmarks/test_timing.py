import time

from benchmarks.timing import Timings, interleave


def test_rivals_take_turns_and_the_first_call_of_each_does_not_count():
    calls = []
    timings = interleave({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=3)
    assert "".join(calls) == "ab" + "ab" + "ba" + "ab"
    assert {name: len(times) for name, times in timings.seconds.items()} == {"a": 3, "b": 3}


def test_speedup_is_the_median_of_ratios_taken_side_by_side():
    # In the second round the machine was ten times slower for both.
    timings = Timings({"fast": (1.0, 10.0, 1.0), "slow": (3.0, 30.0, 4.0)})
    assert timings.speedup("fast", "slow") == 3.0
    assert timings.medians() == {"fast": 1.0, "slow": 4.0}


def test_what_takes_longer_is_slower_even_on_a_busy_machine():
    timings = interleave({"short": lambda: time.sleep(0.005), "long": lambda: time.sleep(0.05)}, rounds=3)
    assert timings.speedup("short", "long") > 1
    assert timings.median("long") >= 0.05
