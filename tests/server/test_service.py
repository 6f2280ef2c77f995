import asyncio
import gc
import math
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from anyscene.server.asks import Picture, Refusal, Wish
from anyscene.server.config import Settings
from anyscene.server.estimates import Estimates, Running
from anyscene.server.service import Service


def test_a_server_that_was_starved_does_not_refuse_for_ever():
    service = Service(Settings({"small": Path("small.anyscene")}))
    usual = service.returning.high
    for _ in range(50):
        service.returning.note(400.0)  # answers waited that long for the processor
    assert service.returning.high > 100 * usual
    for _ in range(200):  # requests that seem not to fit, though nobody else is served
        service._forget()
    assert service.returning.high < 2 * usual


def test_a_request_whose_worker_ends_while_the_server_stops_is_told():
    async def lose():
        service = Service(Settings({"small": Path("small.anyscene")}))
        wish, picture = Wish("small"), Picture(b"abc", "png", 1000, 1)
        service.links = [link := busy_for(0.0)]
        link.job = job = service._make_job(wish, picture, time.perf_counter(), lambda: False, None)
        service.is_stopping, link.is_ready = True, False
        service._on_lost(link)
        await asyncio.wait_for(job.answer, 10)

    with pytest.raises(Refusal, match="the worker on this request ended"):
        asyncio.run(lose())


def busy_for(ms):
    """A worker that is busy for so long; first labels take 5 ms, a look 50."""
    measured = [("first", "small", 1000, 5.0), ("look", "small", 1000, 50.0), ("whole", "small", 1000, 90.0)]
    return SimpleNamespace(
        is_ready=True,
        job=SimpleNamespace(rank=(0, 0.0)),
        expected_end=time.perf_counter() + ms / 1e3,
        frees_at=lambda now: math.inf,
        estimates=Estimates(measured),
        sending=Running(0.0),
    )


def admitted(budget_ms, busy_ms):
    """What a service that is busy for so long makes of a request."""

    async def ask():
        service = Service(Settings({"small": Path("small.anyscene")}))
        service.links = [busy_for(busy_ms)]
        wish, picture = Wish("small", budget_ms=budget_ms), Picture(b"abc", "png", 1000, 1)
        job = service._make_job(wish, picture, time.perf_counter(), lambda: False, None)
        service._admit(job)
        job.timer.cancel()
        return job

    return asyncio.run(ask())


def test_a_busy_server_gives_first_labels_where_there_is_no_time_for_a_look():
    calm, hurried = admitted(300.0, 100.0), admitted(140.0, 100.0)
    assert calm.look_ms > calm.least_ms
    assert hurried.look_ms == hurried.least_ms


def test_a_request_is_refused_where_not_even_first_labels_can_be_there_in_time():
    with pytest.raises(Refusal, match="no labels can be there within 102 ms"):
        admitted(102.0, 100.0)


WISH = Wish("small")
LABELS = {
    "received": 0.0,
    "stages": {"decode": 1.0, "label": 1.0, "encode": 1.0},
    "pixels": 1000,
    "plan": [],
    "steps": [],
    "budget_ms": None,
}
REFUSAL = {"error": "this is no picture", "status": 400, "reason": "wrong"}


@pytest.mark.parametrize("reply", [LABELS, REFUSAL])
def test_a_picture_is_gone_when_its_answer_is(reply):
    async def ask():
        service = Service(Settings({"small": Path("small.anyscene")}))
        service.links = [link := busy_for(0.0)]
        link.job, link.sent_at = None, 0.0
        link.send = lambda job, *_: setattr(link, "job", job)
        picture = Picture(b"abc", "png", 1000, 1)
        kept = weakref.ref(picture)
        asking = asyncio.create_task(service.label(WISH, picture, time.perf_counter(), lambda: False))
        del picture
        await asyncio.sleep(0)
        assert link.job is not None
        service._on_reply(link, reply, b"labels")
        with suppress(Refusal):
            assert (await asking).body == b"labels"
        del asking
        await asyncio.sleep(0)
        return kept()

    gc.disable()  # cycles would keep it until a collection, and pictures may be large
    try:
        assert asyncio.run(ask()) is None
    finally:
        gc.enable()
