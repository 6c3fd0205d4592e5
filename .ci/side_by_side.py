"""Runs commands at once and waits for all: the status is 1 when one has failed, and the end says which.

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
    # What they said of it stands above what the others have said since.
    for command, status in zip(sys.argv[1:], statuses, strict=True):
        if status:
            print(f"FAILED  {command}", file=sys.stderr)
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
