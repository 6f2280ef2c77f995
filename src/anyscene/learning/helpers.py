"""Who does tasks that do not depend on one another: this machine, or others that help it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Inputs = TypeVar("Inputs")
Handed = TypeVar("Handed", covariant=True)
Job = TypeVar("Job")
Result = TypeVar("Result")

Report = Callable[[str, int, int, str], None]
"""Told of progress: (stage, done, of how many, a word on the latest)."""

Work = Callable[[Inputs, Job], Result]
"""What a job gives, by nothing but the inputs that all jobs share and the job itself.

So it gives the same wherever and whenever it is done; what is random comes from a generator of the job's own.
"""


class Share(Protocol[Handed]):
    """Does jobs with inputs that were handed over once."""

    def __call__(self, work: Work[Handed, Job, Result], jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
        """Yield every job with its result as they come, in any order."""
        ...


class Helpers(Protocol):
    """Those who do jobs."""

    @property
    def threads(self) -> int:
        """Threads that a job may use."""
        ...

    @property
    def report(self) -> Report:
        """Whom a job may tell of its progress."""
        ...

    def share(self, inputs: Inputs) -> Share[Inputs]:
        """Hand over what all jobs need."""
        ...


def unheard(stage: str, done: int, total: int, note: str) -> None:
    """A report that nobody hears: of other machines, for instance."""


@dataclass(frozen=True)
class Here:
    """One job after the other, in this process."""

    threads: int = 1
    report: Report = unheard

    def share(self, inputs: Inputs) -> Share[Inputs]:
        """Keep the inputs as they are."""

        def do(work: Work[Inputs, Any, Any], jobs: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
            return ((job, work(inputs, job)) for job in jobs)

        return do
