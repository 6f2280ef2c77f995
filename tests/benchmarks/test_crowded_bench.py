"""What the bench of crowds counts."""

from benchmarks.crowded import crowd


def test_every_thread_calls_until_the_time_is_up(engine, streets):
    images = [streets.split("val").image(0)]
    found = crowd(engine, images, threads=3, budget=30, seconds=0.3)
    assert len(found) >= 3
    assert all(ms > 0 and actions >= 0 for ms, actions in found)
