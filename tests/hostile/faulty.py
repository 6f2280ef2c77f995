"""`python -m tests.hostile.faulty N COMMAND` runs a command of anyscene on a disk that fails at action N."""

import sys

from anyscene.apps.console import run_commands
from anyscene.apps.main import app
from tests.hostile.faults import failing_disk


def main() -> None:
    """Run the command."""
    fails_at = int(sys.argv.pop(1))
    with failing_disk(fails_at) as disk:
        try:
            run_commands(app)
        finally:
            print(f"the disk was asked {disk.count} times", file=sys.stderr)


if __name__ == "__main__":
    main()
