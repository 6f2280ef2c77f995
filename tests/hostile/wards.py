"""Processes that are watched while they meet hostile files: what ends them, how much they take."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 20.0
"""A file that takes longer to open hangs."""

FIRST_SECONDS = 240.0
"""The first file of a process may wait until kernels are compiled."""

COMMAND_SECONDS = 600.0
"""A whole command that takes longer hangs."""

LOOK_SECONDS = 0.1
"""Processes are looked at so often. Waits are counted in looks: a campaign may be suspended and go on."""

MOST_MEMORY = 2 * 2**30
"""Bytes that one case may take, all of its processes together."""


def environment() -> dict[str, str]:
    """Where a process finds these tests and the anyscene beside them."""
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


class Ward:
    """A victim that opens one file after the other, started anew whenever one was its end."""

    def __init__(self, *words: str, seconds: float = SECONDS, module: str = "tests.hostile.victim") -> None:
        self._seconds = seconds
        self._command = [sys.executable, "-m", module, *words]
        self._process: subprocess.Popen | None = None

    def open(self, what: object) -> dict:
        """Let the victim open a file, or whatever else it understands; what came of it."""
        seconds = self._seconds
        if self._process is None:
            pipe, away = subprocess.PIPE, subprocess.DEVNULL
            self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, stderr=away, text=True, cwd=ROOT, env=environment()
            )
            seconds = max(FIRST_SECONDS, seconds)
        process = self._process
        process.stdin.write(f"{what}\n")
        process.stdin.flush()
        ready = self._wait(seconds)
        line = process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.close()
        return {"verdict": "crash" if ready else "hang", "text": f"ended with {process.returncode}"}

    def _wait(self, seconds: float) -> bool:
        """Wait for an answer as long as the victim may work on it; it works less where others work, too."""
        process, begun = self._process, work_of(self._process.pid)
        for _ in range(round(10 * seconds)):
            if select.select([process.stdout], [], [], 1.0)[0]:
                return True
            if work_of(process.pid) - begun > seconds:
                break
        return False

    def close(self) -> None:
        """End the victim."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@dataclass(frozen=True)
class Ended:
    """How a command ended. code : None if it hung. said : all its output. peak : bytes of its processes."""

    code: int | None
    said: str
    peak: int

    @property
    def fault(self) -> str | None:
        """What is wrong whatever the command was; None if nothing is."""
        if self.code is None:
            return "hang"
        if self.peak > MOST_MEMORY:
            return "memory"
        if "Traceback" in self.said:
            return "traceback"
        return "crash" if self.code < 0 else None


class Command:
    """A command of anyscene that runs, and is watched with all the processes that it starts.

    forbid : what the kernel shall forbid it, see `internet`.
    """

    def __init__(self, *arguments: object, forbid: Callable[[], None] | None = None) -> None:
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the command has ended
        words = [word if isinstance(word, bytes) else str(word) for word in arguments]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "anyscene", *words],
            stdout=self._out,
            stderr=self._out,
            env=environment(),
            preexec_fn=forbid,
        )
        self._peaks: dict[int, int] = {}

    def watch(self, seconds: float) -> bool:
        """Let it go on for a while; tell whether it has ended."""
        for _ in range(round(seconds / LOOK_SECONDS)):
            if self._process.poll() is not None:
                break
            for pid in self.processes():
                self._peaks[pid] = max(self._peaks.get(pid, 0), peak_of(pid))
            if sum(self._peaks.values()) > 2 * MOST_MEMORY:
                self._end()
            time.sleep(LOOK_SECONDS)
        return self._process.poll() is not None

    def finish(self, seconds: float = COMMAND_SECONDS) -> Ended:
        """Wait for its end, which may be by force."""
        ended = self.watch(seconds)
        if not ended:
            self._end()
        self._process.wait()
        self._out.seek(0)
        said = self._out.read().decode(errors="replace")
        self._out.close()
        return Ended(self._process.returncode if ended else None, said, sum(self._peaks.values()))

    def processes(self) -> list[int]:
        """It, and all that it has started, directly or not."""
        found = [self._process.pid]
        parents = parents_of_all()
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def _end(self) -> None:
        for pid in reversed(self.processes()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def parents_of_all() -> dict[int, int]:
    """The parent of every process that lives."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            found[int(stat.parent.name)] = int(parent)
    return found


def outlives(process: int, most_work: float = 1.0, seconds: float = 15.0) -> bool:
    """Tell whether a process does not end soon: it works on for a second, or waits for many.

    Where others work too, it takes longer to notice that its parent is gone.
    """
    begun = work_of(process)
    for _ in range(round(seconds / LOOK_SECONDS)):
        if process not in parents_of_all():
            return False
        if work_of(process) - begun > most_work:
            return True
        time.sleep(LOOK_SECONDS)
    return True


def work_of(process: int) -> float:
    """The seconds that a process has worked so far."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_of(process: int | str = "self") -> int:
    """The most bytes that a process has had; `getrusage` would count those of what started it."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)
