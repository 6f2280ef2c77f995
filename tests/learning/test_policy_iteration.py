"""Policy iteration on a toy process whose optimum is known and where greed is provably worse."""

from dataclasses import dataclass

import numpy as np
import pytest

from anyscene.learning.helpers import Here
from anyscene.learning.policy.policy_iteration import (
    Explorer,
    IterationSettings,
    fit_myopic,
    greedy,
    iterate,
)
from anyscene.learning.policy.regression import fit_linear_q
from anyscene.policy.phi import Phi

# Three doors. The near door pays 1 at once and then little; the far door pays nothing and leads to a room
# that pays 10. With γ = 0.9 the far door is worth 9, the near one 1.9; with γ = 0 only the 1 counts.
START, NEAR, FAR, END = range(4)
GO_NEAR, GO_FAR, COLLECT = range(3)
MOVES = {
    START: {GO_NEAR: (1.0, NEAR), GO_FAR: (0.0, FAR)},
    NEAR: {COLLECT: (1.0, END)},
    FAR: {COLLECT: (10.0, END)},
    END: {},
}


@dataclass(frozen=True)
class ToyVisit:
    room: int

    @property
    def offered(self):
        return np.array([action in MOVES[self.room] for action in range(3)])

    @property
    def ends(self):
        return not MOVES[self.room]

    @property
    def state_features(self):
        return np.eye(4)[self.room]

    @property
    def phi(self):
        return Phi(self.state_features, np.ones((3, 1)), np.tile(self.state_features, (3, 1)))

    def take(self, action):
        reward, room = MOVES[self.room][action]
        return reward, ToyVisit(room)


def follow(q):
    visit, total, taken = ToyVisit(START), 0.0, []
    while visit.offered.any():
        action = greedy(q)(visit, ())
        reward, visit = visit.take(action)
        total += reward
        taken.append(action)
    return taken, total


def explored(images, helpers=None):
    """An explorer from so many starts, and what it sees where it takes the first action that is offered."""

    def nearest_first(visit, taken):
        return int(np.flatnonzero(visit.offered)[0])

    explorer = Explorer([lambda: ToyVisit(START)] * images, helpers)
    experience = explorer.explore([(image, nearest_first) for image in range(images)])
    experience.forget_values()
    return explorer, experience


def learn(gamma, noise=0.3, seed=0, helpers=None):
    settings = IterationSettings(gamma=gamma, beta=1e-6, noise=noise, iterations=8, patience=8)
    # The score counts iterations, so that the last policy is the one returned.
    count = iter(range(100))
    return iterate(
        *explored(20, helpers),
        settings,
        np.random.default_rng(seed),
        lambda q: float(next(count)),
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_policy_iteration_finds_the_optimum_where_greed_is_worse(seed):
    taken, total = follow(learn(gamma=0.9, seed=seed))
    assert taken == [GO_FAR, COLLECT]
    assert total == 10.0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_lookahead_it_finds_the_greedy_policy(seed):
    taken, total = follow(learn(gamma=0.0, seed=seed))
    assert taken == [GO_NEAR, COLLECT]
    assert total == 2.0


def test_the_myopic_policy_comes_from_what_was_explored_with_lookahead():
    settings = IterationSettings(gamma=0.9, beta=1e-6, noise=0.5, iterations=3, patience=3)
    explorer, experience = explored(10)
    iterate(explorer, experience, settings, np.random.default_rng(0), lambda q: 0.0)
    assert follow(fit_myopic(experience, settings, 3))[0] == [GO_NEAR, COLLECT]


def test_q_values_are_the_known_ones():
    q = learn(gamma=0.9)
    values = q.values(ToyVisit(START).phi)
    assert values[GO_NEAR] == pytest.approx(1.9, abs=0.05)
    assert values[GO_FAR] == pytest.approx(9.0, abs=0.05)


class LastFirst(Here):
    """Helpers who begin with the last job."""

    def share(self, inputs):
        return lambda work, jobs: [(job, work(inputs, job)) for job in reversed(list(jobs))]


def test_what_is_learned_does_not_depend_on_the_order_of_walks():
    here, helped = learn(gamma=0.9), learn(gamma=0.9, helpers=LastFirst())
    np.testing.assert_array_equal(helped.own, here.own)
    np.testing.assert_array_equal(helped.state, here.state)


def test_the_best_policy_seen_is_kept_not_the_last():
    scores = iter([1.0, 5.0, 2.0, 3.0])
    seen = []

    def score(q):
        seen.append(q)
        return next(scores)

    settings = IterationSettings(gamma=0.9, iterations=4, patience=9)
    best = iterate(*explored(1), settings, np.random.default_rng(0), score)
    assert best is seen[1]


def test_it_stops_when_held_out_images_stop_improving():
    rounds = []
    settings = IterationSettings(iterations=9, patience=2)
    iterate(
        *explored(1),
        settings,
        np.random.default_rng(0),
        lambda q: 0.0,
        lambda iteration, score: rounds.append(iteration),
    )
    assert rounds == [0, 1, 2]


def test_blockwise_q_fit_is_ridge_on_the_full_phi():
    random = np.random.default_rng(1)
    n, actions = 200, 3
    common, own = random.normal(size=(n, 4)), random.normal(size=(n, 2))
    common /= np.sqrt((common**2).mean(axis=0))
    own /= np.sqrt((own**2).mean(axis=0))
    action, target = random.integers(0, actions, n), random.normal(size=n)
    q = fit_linear_q(common, own, action, target, np.ones(n), 0.05, actions, 3)
    blocks = np.einsum("na,nk->nak", np.eye(actions)[action], own).reshape(n, -1)
    phi = np.hstack([common, blocks])
    eta = np.linalg.solve(phi.T @ phi / n + 0.05 * np.eye(phi.shape[1]), phi.T @ target / n)
    np.testing.assert_allclose(np.concatenate([q.state, q.action, q.own.ravel()]), eta, atol=1e-10)
