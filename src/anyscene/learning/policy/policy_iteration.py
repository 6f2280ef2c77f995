"""Least-squares policy iteration over any deterministic process with finitely many actions (section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from anyscene.learning.helpers import Helpers, Here
from anyscene.learning.policy.regression import fit_linear_q
from anyscene.model.loss import returns
from anyscene.policy.phi import Phi
from anyscene.policy.policies import LinearQ

Floats = NDArray[np.float64]


class Visit(Protocol):
    """One state of a process, as policy iteration sees it."""

    @property
    def offered(self) -> NDArray[np.bool_]:
        """Which actions may be taken here, bool[A]; none: the end."""
        ...

    @property
    def ends(self) -> bool:
        """Whether nothing is offered here; cheaper to ask."""
        ...

    @property
    def phi(self) -> Phi:
        """The meta-features of this state and of every action in it."""
        ...

    @property
    def state_features(self) -> Floats:
        """`phi.state` alone."""
        ...

    def take(self, action: int) -> tuple[float, Visit]:
        """Return the reward of an offered action and the state it leads to."""
        ...


WORST = 0.3
"""Rewards below minus this share of the largest in their state count as no worse."""

Behaviour = Callable[[Visit, tuple[int, ...]], int | None]
"""Picks an action by the visit and the actions taken before it; None: stop."""


@dataclass(frozen=True)
class IterationSettings:
    """How the policy is learned.

    gamma : how much the future counts. beta : weight of the ridge.
    noise : share of random actions in rollouts. iterations : at most so many. patience : iterations without
    improvement on held-out images before it stops. sweeps : backups of the value function an iteration.
    """

    gamma: float = 0.5
    beta: float = 1e-3
    noise: float = 0.1
    iterations: int = 6
    patience: int = 2
    sweeps: int = 4


@dataclass
class Experience:
    """Every state visited so far, and what every action offered there led to.

    Of the states: features `state`, the last policy's return `value` where known (nan elsewhere).
    Of the (state, action) pairs: the state's position `of`, `action`, the action's part of φ, `reward`, the
    features of the state it led to, and whether that was the end.
    """

    state: list[Floats] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    of: list[int] = field(default_factory=list)
    action: list[int] = field(default_factory=list)
    action_features: list[Floats] = field(default_factory=list)
    own: list[Floats] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)
    next_state: list[Floats] = field(default_factory=list)
    ends: list[bool] = field(default_factory=list)

    def explore(self, start: Visit, behaviour: Behaviour, gamma: float) -> None:
        """Follow a behaviour from a start to its end, trying every offered action on the way."""
        visit = start
        taken: tuple[int, ...] = ()
        rewards: list[float] = []
        first = len(self.state)
        while True:
            action = None if visit.ends else behaviour(visit, taken)
            if action is None:
                break
            reward, visit = self._try_all(visit, action)
            rewards.append(reward)
            taken = (*taken, action)
        self.value[first:] = returns(rewards, gamma).tolist()

    def _try_all(self, visit: Visit, chosen: int) -> tuple[float, Visit]:
        phi = visit.phi
        followed: tuple[float, Visit] | None = None
        for action in np.flatnonzero(visit.offered):
            reward, following = visit.take(int(action))
            if action == chosen:
                followed = reward, following
            self.of.append(len(self.state))
            self.action.append(int(action))
            self.action_features.append(phi.action[action].astype(np.float32))
            self.own.append(phi.own[action].astype(np.float32))
            self.reward.append(reward)
            self.next_state.append(following.state_features.astype(np.float32))
            self.ends.append(following.ends)
        assert followed is not None, "a behaviour picks offered actions"
        self.state.append(phi.state)
        self.value.append(np.nan)
        return followed

    def add(self, other: Experience) -> None:
        """Put what was explored elsewhere behind this."""
        self.of += [len(self.state) + state for state in other.of]
        for name in ("state", "value", "action", "action_features", "own", "reward", "next_state", "ends"):
            getattr(self, name).extend(getattr(other, name))

    def forget_values(self) -> None:
        """Mark the returns seen so far as another policy's."""
        self.value = [np.nan] * len(self.value)


@dataclass(frozen=True)
class _Table:
    """Experience as arrays. common : state features, then action features, of each pair."""

    state: Floats
    value: Floats
    of: NDArray[np.int64]
    action: NDArray[np.int64]
    common: Floats
    own: Floats
    reward: Floats
    next_state: Floats
    ends: NDArray[np.bool_]
    weight: Floats

    @classmethod
    def of_experience(cls, experience: Experience) -> _Table:
        state = np.array(experience.state)
        of = np.array(experience.of)
        reward = np.array(experience.reward)
        # Rewards shrink by orders of magnitude along a trajectory. Actions are ranked within a state, so a
        # state counts the less the more there is to be had in it. (By the square would be too much: states
        # where hardly anything is left to gain would decide.)
        largest = np.zeros(len(state))
        np.maximum.at(largest, of, reward)
        largest = np.maximum(largest, 0.1 * np.median(largest))
        weight = 1 / largest
        # How bad a bad action is does not matter, and would drown what does.
        reward = np.maximum(reward, -WORST * largest[of])
        return cls(
            state=state,
            value=np.array(experience.value),
            of=of,
            action=np.array(experience.action),
            common=np.hstack([state[of], np.array(experience.action_features)]),
            own=np.array(experience.own, dtype=np.float64),
            reward=reward,
            next_state=np.array(experience.next_state, dtype=np.float64),
            ends=np.array(experience.ends),
            weight=weight,
        )

    def targets(self, following: Floats, gamma: float) -> Floats:
        """R + γ·[V(s')]₊ of every pair (Eq. 10); following : V(s')."""
        return np.asarray(self.reward + gamma * np.maximum(following, 0.0))

    def following_values(self, chosen: NDArray[np.int64], settings: IterationSettings, seed: int) -> Floats:
        """V(s') of every pair, for the policy that takes pair chosen[s] in state s.

        Where the policy's own rollouts passed, V is their return; elsewhere it is backed up one step, some
        sweeps over. Between states V is averaged by a forest, in logarithms: values span orders of magnitude,
        and what is off by a factor on one state must not drown the rewards of the next.
        """
        following = np.zeros(len(self.reward))
        if settings.gamma == 0:
            return following
        small = 1e-3 * float(np.median(np.maximum(self.reward[chosen], 0.0))) + 1e-12
        for _ in range(settings.sweeps):
            backed_up = self.targets(following, settings.gamma)[chosen]
            value = np.maximum(np.where(np.isnan(self.value), backed_up, self.value), 0.0)
            forest = ExtraTreesRegressor(30, min_samples_leaf=5, random_state=seed)
            forest.fit(self.state, np.log(value + small))
            following = np.where(self.ends, 0.0, np.exp(forest.predict(self.next_state)) - small)
        return following

    def fit_q(self, following: Floats, settings: IterationSettings, action_count: int) -> LinearQ:
        """Fit Q̂ to R + γ·[V(s')]₊ of every action tried."""
        return fit_linear_q(
            self.common,
            self.own,
            self.action,
            self.targets(following, settings.gamma),
            self.weight[self.of],
            settings.beta,
            action_count,
            self.state.shape[1],
        )

    def greedy_pairs(self, q: LinearQ) -> NDArray[np.int64]:
        """The pair of largest Q̂ in each state."""
        weights = np.concatenate([q.state, q.action])
        values = self.common @ weights + np.einsum("ik,ik->i", self.own, q.own[self.action])
        return self._best_pairs(values)

    def best_reward_pairs(self) -> NDArray[np.int64]:
        """The pair of largest immediate reward in each state."""
        return self._best_pairs(self.reward)

    def _best_pairs(self, values: Floats) -> NDArray[np.int64]:
        order = np.lexsort((-values, self.of))
        _, first = np.unique(self.of[order], return_index=True)
        return np.asarray(order[first])


Start = Callable[[], Visit]
"""Makes the first visit to an image anew."""

Walk = tuple[int, Behaviour]
"""From the start at this position, by this behaviour. A behaviour that draws has a generator of its own."""


class Explorer:
    """Walks from some starts, alone or with helpers. starts : one for each image."""

    def __init__(self, starts: Sequence[Start], helpers: Helpers | None = None) -> None:
        self.starts = tuple(starts)
        self._share = (helpers or Here()).share(self.starts)

    @property
    def action_count(self) -> int:
        """How many actions there are."""
        return int(self.starts[0]().phi.own.shape[0])

    def explore(self, walks: Sequence[Walk], gamma: float = 0.0) -> Experience:
        """What was seen on walks, one behind the other."""
        jobs = ((order, walk, gamma) for order, walk in enumerate(walks))
        seen = {job[0]: found for job, found in self._share(_explored, jobs)}
        experience = Experience()
        for order in range(len(walks)):
            experience.add(seen.pop(order))
        return experience


def _explored(starts: Sequence[Start], job: tuple[int, Walk, float]) -> Experience:
    _, (position, behaviour), gamma = job
    experience = Experience()
    experience.explore(starts[position](), behaviour, gamma)
    return experience


def greedy(q: LinearQ, noise: float = 0.0, random: np.random.Generator | None = None) -> Behaviour:
    """Take the offered action of largest Q̂, with probability `noise` any offered one."""

    def behaviour(visit: Visit, taken: tuple[int, ...]) -> int | None:
        if random is not None and random.random() < noise:
            return int(random.choice(np.flatnonzero(visit.offered)))
        return int(np.argmax(np.where(visit.offered, q.values(visit.phi), -np.inf)))

    return behaviour


def iterate(
    explorer: Explorer,
    experience: Experience,
    settings: IterationSettings,
    random: np.random.Generator,
    held_out_score: Callable[[LinearQ], float],
    on_iteration: Callable[[int, float], None] = lambda iteration, score: None,
) -> LinearQ:
    """Learn a Q-function whose greedy policy does best (Eq. 6); return the best seen by `held_out_score`.

    experience : what was explored before there is a policy; it grows with every iteration.
    """
    seed = int(random.integers(2**31))
    table = _Table.of_experience(experience)
    following = table.following_values(table.best_reward_pairs(), settings, seed)
    best: tuple[float, LinearQ] | None = None
    since_best = 0
    for iteration in range(settings.iterations):
        q = table.fit_q(following, settings, explorer.action_count)
        score = held_out_score(q)
        on_iteration(iteration, score)
        if best is None or score > best[0]:
            best, since_best = (score, q), 0
        else:
            since_best += 1
        if since_best == settings.patience or iteration == settings.iterations - 1:
            break
        experience.forget_values()
        own = random.spawn(len(explorer.starts))
        walks = [(i, greedy(q, settings.noise, generator)) for i, generator in enumerate(own)]
        experience.add(explorer.explore(walks, settings.gamma))
        table = _Table.of_experience(experience)
        following = table.following_values(table.greedy_pairs(q), settings, seed)
    assert best is not None
    return best[1]


def fit_myopic(experience: Experience, settings: IterationSettings, action_count: int) -> LinearQ:
    """The Q-function for γ = 0: what every action tried was worth at once; nothing more to explore."""
    table = _Table.of_experience(experience)
    return table.fit_q(np.zeros(len(table.reward)), replace(settings, gamma=0.0), action_count)
