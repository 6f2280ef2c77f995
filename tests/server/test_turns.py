import multiprocessing
from pathlib import Path

import pytest

from anyscene.server.turns import take_short_turns


def _slice(pid):
    text = Path(f"/proc/{pid}/sched").read_text()
    return next(
        (line.split(":")[1].strip() for line in text.splitlines() if line.startswith("se.slice")), None
    )


def _ask(answers):
    before = _slice("self")
    agreed = take_short_turns()
    answers.put((before, agreed, _slice("self")))


def test_turns_are_short_where_the_kernel_agrees():
    context = multiprocessing.get_context("spawn")  # a process of its own: the wish cannot be taken back
    answers = context.Queue()
    process = context.Process(target=_ask, args=(answers,))
    process.start()
    before, agreed, after = answers.get(timeout=60)
    process.join()
    if before is None or not agreed:
        pytest.skip("this kernel does not tell the length of turns, or does not change them")
    assert float(after) != float(before)
