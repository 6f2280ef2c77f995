"""Far more requests than there is time for: each is answered by its deadline, or refused at once."""

import asyncio
import time

import httpx
import numpy as np
import pytest

from tests.server.conftest import packed


@pytest.fixture(scope="module")
def picture(scene):
    return packed(np.tile(scene, (6, 6, 1)), "JPEG")


async def burst(server, data, count, query):
    """Send many requests at the same moment; (status, milliseconds, headers) of each."""
    limits = httpx.Limits(max_connections=count)
    async with httpx.AsyncClient(base_url=server.url, limits=limits, timeout=120) as client:

        async def one():
            begun = time.perf_counter()
            answer = await client.post(f"/v1/label{query}", content=data)
            return answer.status_code, (time.perf_counter() - begun) * 1e3, answer.headers

        return await asyncio.gather(*(one() for _ in range(count)))


def test_a_burst_is_served_or_refused_and_nothing_is_late_in_silence(server, picture):
    before = server.metric("anyscene_late_total")
    found = [
        answer
        for budget in ("20ms", "2s")  # the machine may be busy with other things: then the longer one fits
        for answer in asyncio.run(burst(server, picture, 100, f"?budget={budget}"))
    ]
    assert {status for status, _, _ in found} == {200, 429}
    for status, _, headers in found:
        if status == 429:
            assert int(headers["retry-after"]) >= 1
        else:
            assert headers["anyscene-deadline-met"] in ("true", "false")
    told_late = sum(headers.get("anyscene-deadline-met") == "false" for _, _, headers in found)
    assert server.metric("anyscene_late_total") - before >= told_late


def test_budgets_shrink_before_requests_are_refused(server, picture):
    time.sleep(2.5)  # budgets are shared with those who came within the last two seconds
    (alone,) = asyncio.run(burst(server, picture, 1, "?budget=20s"))
    together = asyncio.run(burst(server, picture, 12, "?budget=20s"))
    assert [status for status, _, _ in together] == [200] * 12
    budgets = [float(headers["anyscene-label-budget-ms"]) for _, _, headers in together]
    assert min(budgets) < 0.5 * float(alone[2]["anyscene-label-budget-ms"])


def test_who_has_priority_is_served_first(server, picture):
    async def mixed():
        async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:
            order = []

            async def one(priority):
                await client.post(f"/v1/label?budget=30s&priority={priority}", content=picture)
                order.append(priority)

            await asyncio.gather(*(one(9) for _ in range(10)), *(one(1) for _ in range(10)))
            return order

    order = asyncio.run(mixed())
    assert np.mean([place for place, priority in enumerate(order) if priority == 1]) < 9.5


def test_requests_without_a_deadline_are_served_as_well(server, picture):
    found = asyncio.run(burst(server, picture, 20, ""))
    assert [status for status, _, _ in found] == [200] * 20
