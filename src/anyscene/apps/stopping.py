"""Ctrl-C, and being told to end: a command stops within a second, leaves no process, and says how to go on.

The first signal raises KeyboardInterrupt, so that half-written files are removed. Where that does not help,
because a thread or a compiled loop goes on, the process ends all the same a moment later: whatever is
written is written whole or not at all.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass

from anyscene.processes import end_processes

GRACE_SECONDS = 0.4
"""How long a command may take to stop by itself."""

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@dataclass
class _Standing:
    """What this process, which runs one command, would say if it were stopped now."""

    words: str = "stopped"
    signal: int | None = None


_standing = _Standing()


def stands_at(how_far: str, way_on: str = "the same command") -> None:
    """Note how far a command is, such as "3 of 10", that can go on later. way_on : what to run for that."""
    _standing.words = f"stopped after {how_far}; {way_on} goes on"


def stop_on_signals() -> None:
    """From now on signals stop this process as described above; those that are ignored stay so."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    for one in SIGNALS:
        if signal.getsignal(one) not in (signal.SIG_IGN, None):
            signal.signal(one, _on_signal)
    # The interpreter runs handlers only between two steps of the main thread; this it writes at once.
    signal.set_wakeup_fd(theirs.detach())
    threading.Thread(target=_insist, args=(ours,), daemon=True).start()


def leave_signals_to_others() -> None:
    """From now on let a library heed signals, in its own time; those that it does not heed stop us still."""
    signal.set_wakeup_fd(-1)


def end_if_stopped() -> None:
    """Say how far the command came and end, if a signal said so."""
    if _standing.signal is not None:
        _end(_standing.signal)


def end_well_if_stopped() -> None:
    """End at once, as a command that is meant to be stopped, if a signal did: teardown may take seconds."""
    if _standing.signal is not None:
        with _ending:  # never left again
            end_processes(multiprocessing.active_children())
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


def _on_signal(number: int, _: object) -> None:
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    _standing.signal = number
    raise KeyboardInterrupt


def _insist(wakeups: socket.socket) -> None:
    number = wakeups.recv(1)
    if number:
        time.sleep(GRACE_SECONDS)
        _end(number[0])


_ending = threading.Lock()


def _end(number: int) -> None:
    with _ending:  # never left again
        end_processes(multiprocessing.active_children())
        if sys.stderr.isatty():
            sys.stderr.write("\x1b[?25h")  # progress bars hide the cursor
        sys.stdout.flush()
        sys.stderr.write(f"{_standing.words}\n")
        sys.stderr.flush()
        os._exit(128 + number)
