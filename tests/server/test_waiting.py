from hypothesis import given
from hypothesis import strategies as st

from anyscene.server.asks import Picture, Wish
from anyscene.server.waiting import Job, Waiting, without_look


def job(due, least_ms=4.0, priority=5, worker=None):
    wish, picture = Wish("small", priority=priority), Picture(b"abc", "png", 1, 1)
    return Job(wish, picture, 0.0, due, due, least_ms, 2 * least_ms, None, lambda: False, None, worker)


jobs = st.builds(job, st.floats(0.001, 0.2), st.floats(0.5, 20), st.integers(1, 9))


@given(st.lists(jobs, max_size=30))
def test_priority_comes_first_then_the_earliest_deadline(found):
    waiting = Waiting()
    for one in found:
        waiting.add(one)
    served = []
    while (one := waiting.next_for(0)) is not None:
        waiting.remove(one)
        served.append((one.wish.priority, one.due))
    assert served == sorted(served)
    assert waiting.bytes == 0


@given(st.lists(jobs, max_size=12), st.integers(1, 3))
def test_whoever_gets_a_look_in_the_plan_gets_it_in_time(found, workers):
    lost = without_look(found, [0.0] * workers)
    free = [0.0] * workers
    for one in found:
        first = free.index(min(free))
        if one not in lost:
            free[first] += one.look_ms / 1e3
            assert free[first] <= one.due
        elif free[first] <= one.latest_start:
            free[first] += one.least_ms / 1e3
            assert free[first] <= one.due + 1e-9


def test_a_newcomer_that_would_break_a_promise_is_seen():
    waiting = Waiting()
    promised = job(0.010, least_ms=4.0)
    waiting.add(promised)
    assert waiting.broken_by([job(0.100)], [0.0]) == []
    assert waiting.broken_by([job(0.009)], [0.0]) == [promised]
    unlucky = job(0.011)
    assert waiting.broken_by([unlucky], [0.0]) == [unlucky]  # there is time for first labels, not for a look


def test_a_newcomer_is_not_blamed_for_what_was_lost_before():
    waiting = Waiting()
    waiting.add(job(0.010, least_ms=4.0))
    assert waiting.broken_by([job(0.100)], [0.005]) == []


@given(st.lists(jobs, min_size=1, max_size=12))
def test_everybody_can_have_the_share(found):
    waiting = Waiting()
    for one in found:
        waiting.add(one)
    share = waiting.share_ms(0.0, 1) / 1e3
    assert all((place + 1) * share <= one.due + 1e-9 for place, one in enumerate(waiting.jobs))


def test_a_frame_waits_for_the_worker_that_has_its_state():
    waiting = Waiting()
    bound, other = job(0.01, worker=1), job(0.02)
    waiting.add(bound)
    waiting.add(other)
    assert waiting.next_for(0) is other
    assert waiting.next_for(1) is bound
