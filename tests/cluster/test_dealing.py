"""Budgets are dealt from what is left, and the job ends when nothing is."""

import pytest

from anyscene.cluster.dealing import Caps, Dealer, Took
from anyscene.cluster.todo import Chunk


def play(dealer, chunks, around_ms=2.0):
    """Workers that take all of their budgets, and some time around."""
    spent, budgets = 0.0, []
    for chunk in chunks:
        deal = dealer.deal(chunk)
        if deal.is_over:
            break
        labeling = deal.budget_ms * chunk.size
        took = labeling + around_ms * chunk.size
        spent += took
        budgets.append(deal.budget_ms)
        dealer.took(chunk, Took(chunk.size, took, took, labeling))
    return spent, budgets


CHUNKS = [Chunk(0, start, start + 10) for start in range(0, 1000, 10)]


def test_cpu_time_of_a_job_is_spent_and_not_exceeded():
    spent, budgets = play(Dealer(Caps(cpu_ms=10_000), 1000, 1), CHUNKS)
    assert spent == pytest.approx(10_000, rel=0.05)
    assert len(budgets) == 100


def test_a_cap_that_is_too_low_ends_the_job():
    spent, budgets = play(Dealer(Caps(cpu_ms=1000), 1000, 1), CHUNKS)
    assert spent <= 1050
    assert len(budgets) < 100


def test_earlier_runs_count():
    assert play(Dealer(Caps(cpu_ms=10_000), 1000, 1, spent_ms=10_000), CHUNKS) == (0.0, [])


def halves_by_two_dealers(caps):
    """Half of a job, and the other half by a dealer that knows no more than what came back."""
    spent, budgets = play(Dealer(caps, 1000, 1), CHUNKS[:50])
    second = Dealer(caps, 1000, 1)
    second.seen(500, spent, spent)
    more, later = play(second, CHUNKS[50:])
    return spent + more, budgets + later, second


def test_a_dealer_that_is_set_up_again_spends_what_is_left_and_no_more():
    spent, budgets, second = halves_by_two_dealers(Caps(cpu_ms=10_000))
    assert spent == pytest.approx(10_000, rel=0.05)
    assert second.spent_ms == pytest.approx(spent)
    assert len(budgets) == 100
    assert halves_by_two_dealers(Caps(mean_cpu_ms=8))[0] / 1000 == pytest.approx(8, rel=0.05)


def test_what_was_told_and_came_back_counts_once():
    dealer = Dealer(Caps(cpu_ms=10_000), 1000, 1)
    spent, _ = play(dealer, CHUNKS[:50])
    dealer.seen(500, spent, spent)
    assert dealer.spent_ms == pytest.approx(spent)


def test_a_mean_is_kept_and_never_ends_a_job():
    spent, _ = play(Dealer(Caps(mean_cpu_ms=8), 1000, 1), CHUNKS)
    assert spent / 1000 == pytest.approx(8, rel=0.05)
    assert len(play(Dealer(Caps(mean_cpu_ms=1), 1000, 1), CHUNKS)[1]) == 100


def test_chunks_that_are_under_way_are_reserved_for():
    dealer = Dealer(Caps(cpu_ms=1000), 100, 2)
    first, second = dealer.deal(CHUNKS[0]), dealer.deal(CHUNKS[1])
    assert first.budget_ms == pytest.approx(second.budget_ms)


def test_a_chunk_that_is_begun_again_is_told_so():
    dealer = Dealer(Caps(), 100, 1)
    assert [dealer.deal(CHUNKS[0]).attempt for _ in range(3)] == [1, 2, 3]
    dealer.took(CHUNKS[0], Took(10, 1.0, 1.0, 1.0))
    assert dealer.deal(CHUNKS[0]).attempt == 1
    assert [dealer.suspect(b"image") for _ in range(2)] == [1, 2]
