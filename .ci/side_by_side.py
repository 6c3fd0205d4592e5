"""Runs commands at once and waits for all: the status is 1 when one of them has failed.

Usage: python .ci/side_by_side.py COMMAND...

Each is one argument, which the shell reads. Where this is ended, so are they. A shell would have its
background commands ignore interrupts, and so would the programs under test.
"""

from __future__ import annotations

import signal
import subprocess
import sys


def main() -> int:
    """Run the commands of the command line."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in sys.argv[1:]:
            running.append(subprocess.Popen(f"exec {command}", shell=True))
        statuses = [process.wait() for process in running]
    except KeyboardInterrupt:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()
        return 130
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
