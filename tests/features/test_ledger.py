"""Charges: each step pays for itself alone."""

import time

from anyscene.features.ledger import Ledger, Work


def spin(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        pass


def test_inner_work_is_charged_to_itself_only():
    ledger = Ledger()
    with ledger.charge(Work("outer")):
        spin(4)
        with ledger.charge(Work("inner")):
            spin(8)
    inner, outer = ledger.charges
    assert (inner.work.step, outer.work.step) == ("inner", "outer")
    assert 8 <= inner.ms < 11
    assert 4 <= outer.ms < 7
    assert ledger.total_ms == inner.ms + outer.ms
