"""A process that is watched while it opens hostile files: what ends it, and whether it hangs, is told."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 20.0
"""A file that takes longer to open hangs."""

FIRST_SECONDS = 240.0
"""The first file of a process may wait until kernels are compiled."""


class Ward:
    """A victim, started anew whenever a file was its end."""

    def __init__(self, kind: str, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._command = [sys.executable, "-m", "tests.hostile.victim", kind]
        self._process: subprocess.Popen | None = None

    def open(self, path: Path) -> dict:
        """Let the victim open a file; what came of it."""
        seconds = self._seconds
        if self._process is None:
            env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                self._command,
                stdin=pipe,
                stdout=pipe,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=ROOT,
                env=env,
            )
            seconds = FIRST_SECONDS
        process = self._process
        process.stdin.write(f"{path}\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        line = process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.close()
        return {"verdict": "crash" if ready else "hang", "text": f"ended with {process.returncode}"}

    def close(self) -> None:
        """End the victim."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
