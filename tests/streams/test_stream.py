"""Streams: labels for every frame, never of another scene, whatever frames come and whatever fails."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from anyscene.data.camera_paths import PathFrames, camera_path
from anyscene.engine.clock import Clock
from anyscene.errors import ConfigError, DataError, StreamError
from anyscene.features.hypercolumn.watchdog import OutOfTime
from anyscene.streams.engine import StreamingEngine
from anyscene.streams.live import label_video, make_stream
from anyscene.streams.looks import Looks, looks_of
from anyscene.streams.policies import FixedPeriod
from anyscene.streams.stream import Stream
from anyscene.streams.workers import StampedWorker, ThreadWorker

INTERVAL = 50.0


@pytest.fixture(scope="module")
def pan(streets):
    still = streets.split("val")[0]
    return list(PathFrames(still, camera_path("pan", 0.01, 12, np.random.default_rng(0)), 0))


@pytest.fixture(scope="module")
def other_scene(streets):
    return list(PathFrames(streets.split("val")[1], camera_path("pan", 0.01, 4, np.random.default_rng(1)), 0))


def new_stream(engine, cpu=1.0, worker=None, looks=None, policy=None):
    looks, policy = looks or looks_of(engine), policy or FixedPeriod(1, 1)
    return Stream(engine, looks, (5.0,) * len(looks), policy, worker or StampedWorker(), cpu)


def run(stream, images, start=0.0):
    return [
        stream.label(image, start + INTERVAL * turn, Clock(1.0)) for turn, image in enumerate(images)
    ]  # in one millisecond no look fits into the call


def test_every_frame_gets_labels_of_its_size_and_evidence_is_one_frame_old(engine, pan):
    results = run(new_stream(engine), [scene.image for scene in pan])
    assert all(out.labels.shape == pan[0].image.shape[:2] for out in results)
    assert [out.age_ms for out in results[2:]] == [INTERVAL] * (len(pan) - 2)


def test_moved_beliefs_are_about_as_right_as_labels_of_each_frame_alone(engine, pan):
    moved = run(new_stream(engine), [scene.image for scene in pan])[2:]
    right = np.mean([np.mean(out.labels == scene.truth) for out, scene in zip(moved, pan[2:], strict=True)])
    alone = np.mean([np.mean(engine.label(scene.image).labels == scene.truth) for scene in pan[2:]])
    assert right > alone - 0.05  # in a millisecond whole cells are painted


def test_a_cut_begins_anew(engine, pan, other_scene):
    stream = new_stream(engine)
    run(stream, [scene.image for scene in pan])
    first = run(stream, [other_scene[0].image], INTERVAL * len(pan))[0]
    assert first.age_ms == 0.0
    assert (first.labels == run(new_stream(engine), [other_scene[0].image])[0].labels).all()
    assert stream.spent.restarts == 2


def test_another_size_and_a_long_pause_begin_anew(engine, pan):
    images = [scene.image for scene in pan]
    stream = new_stream(engine)
    run(stream, images[:4])
    smaller = np.ascontiguousarray(images[4][:60, :80])
    assert run(stream, [smaller], 4 * INTERVAL)[0].labels.shape == (60, 80)
    assert stream.spent.restarts == 2
    run(stream, [smaller], 5_000.0)
    assert stream.spent.restarts == 3


def test_a_jump_in_exposure_begins_anew(engine, pan):
    stream = new_stream(engine)
    run(stream, [pan[0].image, pan[1].image])
    run(stream, [(pan[2].image * 0.4).astype(np.uint8)], 2 * INTERVAL)
    assert stream.spent.restarts == 2


def test_a_still_camera_is_not_painted_or_moved_again(engine, streets):
    still = list(PathFrames(streets.split("val")[0], camera_path("still", 0, 8, np.random.default_rng(0)), 0))
    stream = new_stream(engine, cpu=0.0)
    stream.label(still[0].image, 0.0, Clock(1e3))
    outs = run(stream, [scene.image for scene in still[1:]], INTERVAL)
    assert all((out.labels == outs[0].labels).all() for out in outs)
    outs[0].labels[:] = 0  # what a caller does with labels is nobody else's business
    assert (run(stream, [still[0].image], 8 * INTERVAL)[0].labels == outs[1].labels).all()


def test_a_new_scene_is_labelled_as_a_single_image_where_a_closer_look_follows(engine, pan):
    image = pan[0].image
    stream = Stream(engine, looks_of(engine), (5_000.0,), FixedPeriod(1, 1), StampedWorker(), 1.0)
    found = stream.label(image, 0.0, Clock(1e3))
    assert (found.labels == engine.label(image, 1e3).labels).all()
    assert found.age_ms == 0.0
    assert stream.label(image, INTERVAL, Clock(1e3)).age_ms == 0.0  # alone again: the look is not done
    assert stream.label(image, 5_050.0, Clock(1e3)).age_ms is not None


def test_a_look_that_is_stopped_at_new_scenes_gives_way_to_a_coarser_one(engine, pan):
    honest, tried = looks_of(engine), []

    def run_out_of_time(frame, look, deadline):
        tried.append(look)
        if look == 0:
            return honest.run(frame, 0, None)
        time.sleep(max(0.0, deadline - time.perf_counter()))
        raise OutOfTime

    looks = Looks(("coarse", "fine"), (0.1, 1.0), run_out_of_time)
    stream = Stream(engine, looks, (0.0, 20.0), FixedPeriod(1, 1), StampedWorker(), cpu=0)
    scenes = 40
    for turn in range(scenes):  # the pauses between them make each a new scene
        stream.label(pan[0].image, 1e5 * turn, Clock(50.0))
    assert tried[0] == 1
    assert tried.count(0) > 0.8 * scenes
    assert tried.count(1) > 1  # it may have become quicker


def test_what_a_call_is_said_to_take_includes_the_decision_on_the_next_look(engine, pan):
    class Slow(FixedPeriod):
        def choose(self, situation):
            time.sleep(0.03)
            return super().choose(situation)

    stream = new_stream(engine, policy=Slow(1, 1))
    stream.label(pan[0].image, 0.0, Clock(1.0))  # a new scene is looked at without a decision
    out = stream.label(pan[1].image, INTERVAL, Clock(1.0))
    assert out.cost > 30
    assert out.deadline_met is False


def test_looks_between_recorded_frames_are_no_part_of_a_call(engine, pan):
    class Slow(StreamingEngine):
        def label(self, image, budget=None, *others, **named):
            if budget is None:  # a look between two frames
                time.sleep(0.2)
            return super().label(image, budget, *others, **named)

    slow = Slow(engine.learned, engine.local, {one.name: one for one in engine.feature_sets})
    images = [scene.image for scene in pan[:4]]
    outs = list(label_video(slow, images, 50.0, frames_per_second=2, policy=FixedPeriod(1, 1)))
    assert any(out.age_ms for out in outs)  # looks of earlier frames came in
    assert np.median([out.cost for out in outs]) < 200


def test_a_late_look_is_moved_through_the_frames_since(engine, pan):
    looks = looks_of(engine)
    slow = Stream(engine, looks, (120.0,), FixedPeriod(1, 1), StampedWorker(), 1.0)
    ages = [out.age_ms for out in run(slow, [scene.image for scene in pan])]
    assert max(ages) == 5 * INTERVAL  # 3 frames until it is done, and 2 more until the next one is
    assert slow.spent.looks > 2


def test_without_cpu_nothing_is_done_between_frames(engine, pan):
    stream = new_stream(engine, cpu=0.0)
    run(stream, [scene.image for scene in pan])
    assert stream.spent.looks == 0


def test_without_cpu_a_long_budget_is_spent_in_the_calls(engine, pan):
    stream = new_stream(engine, cpu=0.0)
    for turn, scene in enumerate(pan):
        assert stream.label(scene.image, INTERVAL * turn, Clock(1e3)).age_ms == 0.0
    assert stream.spent.looks == 0


def test_a_small_share_of_the_cpu_is_kept(engine, pan):
    images = [pan[turn % len(pan)].image for turn in range(120)]
    freely, sparing = new_stream(engine), new_stream(engine, cpu=0.01)
    run(freely, images)
    run(sparing, images)
    saved_up, earned = 100, 0.01 * INTERVAL * len(images)
    assert sparing.spent.looks_ms <= saved_up + earned + 2 * freely.spent.looks_ms / freely.spent.looks
    assert sparing.spent.looks < 0.6 * freely.spent.looks


def test_a_look_that_fails_is_one_error_and_the_stream_goes_on(engine, pan):
    sound = looks_of(engine)
    calls = []

    def fails_once(frame, look, deadline):
        calls.append(look)
        if len(calls) == 2:
            raise MemoryError("no memory")
        return sound.run(frame, look, deadline)

    stream = new_stream(engine, looks=replace(sound, run=fails_once))
    errors, labelled = [], 0
    for turn, scene in enumerate(pan):
        try:
            stream.label(scene.image, turn * INTERVAL, Clock(1.0))
            labelled += 1
        except StreamError as error:
            errors.append(str(error))
    assert len(errors) == 1
    assert "no memory" in errors[0]
    assert labelled == len(pan) - 1
    assert stream.spent.looks > 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_death_of_the_worker_is_one_error_and_the_stream_goes_on(engine, pan):
    sound = looks_of(engine)
    deaths = []

    def dies_once(frame, look, deadline):
        if not deaths:
            deaths.append(threading.current_thread())
            raise SystemExit  # ends the thread, and nothing tells
        return sound.run(frame, look, deadline)

    stream = new_stream(engine, worker=ThreadWorker(), looks=replace(sound, run=dies_once))
    errors, labelled = [], 0
    for scene in [*pan, *pan]:
        try:
            stream.label(scene.image, time.perf_counter() * 1e3, Clock(1.0))
            labelled += 1
        except StreamError as error:
            errors.append(str(error))
        time.sleep(0.05)
    stream.close()
    assert deaths[0] is not threading.main_thread()
    assert len(errors) == 1
    assert "its thread ended" in errors[0]
    assert labelled == 2 * len(pan) - 1
    assert stream.spent.looks >= 1


def test_a_new_scene_is_looked_at_once_however_long_that_takes(engine, pan):
    class Counting(StampedWorker):
        submitted = 0

        def submit(self, job, now_ms, cost_ms):
            assert not self.is_busy
            self.submitted += 1
            super().submit(job, now_ms, cost_ms)

        def collect(self, now_ms):
            return None  # it takes longer than expected

    worker = Counting()
    stream = Stream(engine, looks_of(engine), (50.0,), FixedPeriod(1, 1), worker, 1.0)
    run(stream, [scene.image for scene in pan[:6]])
    assert worker.submitted == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_death_of_the_worker_is_told_even_if_its_look_was_set_aside(engine, pan, other_scene):
    sound = looks_of(engine)
    may_die, deaths = threading.Event(), []

    def dies_once(frame, look, deadline):
        if threading.current_thread() is not threading.main_thread() and not deaths:
            may_die.wait(10)
            deaths.append(look)
            raise SystemExit
        return sound.run(frame, look, deadline)

    worker = ThreadWorker()
    stream = new_stream(engine, worker=worker, looks=replace(sound, run=dies_once))

    def label(image):
        return stream.label(image, time.perf_counter() * 1e3, Clock(1.0))

    label(pan[0].image)
    label(other_scene[0].image)  # the look at the pan is set aside
    doomed = worker._thread
    may_die.set()
    doomed.join(10)
    told = 0
    for scene in 4 * other_scene[1:]:
        try:
            label(scene.image)
        except StreamError as error:
            told += "its thread ended" in str(error)
        time.sleep(0.05)
    stream.close()
    assert deaths
    assert told == 1
    assert stream.spent.looks >= 1


def test_what_a_look_took_counts_even_when_it_was_set_aside(engine, pan, other_scene):
    slow = (120.0,)  # milliseconds, so that the look is not done when another scene comes
    stream = Stream(engine, looks_of(engine), slow, FixedPeriod(1, 1), StampedWorker(), 1.0)
    run(stream, [pan[0].image, other_scene[0].image])
    assert stream.spent.looks == 0
    assert stream.spent.looks_ms > 0


def test_a_thread_looks_between_calls(engine, pan):
    stream = new_stream(engine, worker=ThreadWorker())
    for scene in pan[:6]:
        out = stream.label(scene.image, time.perf_counter() * 1e3, Clock(1.0))
        time.sleep(0.2)
    stream.close()
    assert stream.spent.looks >= 2
    assert 0 < out.age_ms < 1_000


def test_frames_too_small_for_motion_are_labelled_alone(engine):
    tiny = np.random.default_rng(0).integers(0, 256, (9, 11, 3), dtype=np.uint8)
    outs = run(new_stream(engine), [tiny, tiny])
    assert [out.labels.shape for out in outs] == [(9, 11)] * 2


def test_the_frame_may_be_written_over_after_the_call(engine, pan):
    buffer = pan[0].image.copy()
    kept, reused = new_stream(engine), new_stream(engine)
    for turn, scene in enumerate(pan[:4]):
        buffer[:] = scene.image
        expected = kept.label(scene.image.copy(), turn * INTERVAL, Clock(1.0))
        found = reused.label(buffer, turn * INTERVAL, Clock(1.0))
        buffer[:] = 0
        assert (found.labels == expected.labels).all()


def test_what_is_no_frame_is_refused(engine):
    with pytest.raises(DataError, match="uint8"):
        new_stream(engine).label(np.zeros((4, 4)), 0.0, Clock(1.0))


def test_live_and_video_are_methods_of_a_loaded_model(engine, pan):
    images = [scene.image for scene in pan]
    with engine.live(budget="50ms", cpu=0.5) as live:
        out = live.label(images[0], confidence=True)
        assert out.confidence.shape == out.labels.shape
        assert live.status.frames == 1
    outs = list(engine.video(images, budget=1.0, frames_per_second=20))
    assert len(outs) == len(images)
    stamped = list(engine.video([(50.0 * turn, image) for turn, image in enumerate(images)], budget=1.0))
    assert len(stamped) == len(images)
    assert all(out.age_ms % 50.0 == 0 for out in stamped)  # time runs by the stamps


def test_a_stream_that_is_not_open_says_so(engine, pan):
    with pytest.raises(StreamError, match="is not open"):
        engine.live("5ms").label(pan[0].image)


@pytest.mark.parametrize("cpu", [-0.1, 1.5, "all", True])
def test_a_share_of_the_cpu_lies_between_0_and_1(engine, cpu):
    with pytest.raises(ConfigError, match="from 0 to 1"):
        engine.live("5ms", cpu=cpu)


def test_memory_stays_flat_over_many_frames(engine, pan, other_scene):
    import tracemalloc

    stream = make_stream(engine, StampedWorker(), 1.0)
    images = [*(scene.image for scene in pan), *(scene.image for scene in other_scene)]
    run(stream, images * 2)
    tracemalloc.start()
    run(stream, images * 2, 10_000.0)
    first = tracemalloc.get_traced_memory()[0]
    run(stream, images * 6, 20_000.0)
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    assert grown < 500_000
