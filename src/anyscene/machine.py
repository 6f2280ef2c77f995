"""What this machine is, for the record of whatever was measured on it."""

from __future__ import annotations

import platform
from pathlib import Path


def processor_name() -> str:
    """The processor's name; Linux keeps it in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
