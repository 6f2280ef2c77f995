"""The account of CPU time: it fills as time passes, up to a limit, and pays for looks."""

import pytest

from anyscene.streams.credit import Credit


def test_time_fills_the_account_up_to_what_can_be_saved():
    credit = Credit(0.5, 40.0, 40.0)
    credit.spend(40.0)
    credit.earn(0.0)
    credit.earn(30.0)
    assert credit.balance_ms == pytest.approx(15.0)
    assert credit.filled == pytest.approx(15 / 40)
    credit.earn(1_000.0)
    assert credit.balance_ms == 40.0


def test_debts_are_paid_before_anything_is_begun():
    credit = Credit(1.0, 40.0, 40.0)
    credit.spend(60.0)
    credit.earn(0.0)
    assert credit.filled == 0.0
    assert not credit.pays_for(1.0)
    credit.earn(25.0)
    assert credit.pays_for(5.0)
    assert not credit.pays_for(10.0)


def test_without_a_share_nothing_is_paid_for():
    credit = Credit(0.0, 40.0, 0.0)
    credit.earn(0.0)
    credit.earn(1e6)
    assert not credit.pays_for(0.1)
