"""What is shown while one run goes on: a bar, or with ``--live`` its flows too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise.cli.progress import RunProgress


def run_progress(description: str, live_s: float | None) -> RunProgress:
    """Return the bar of a run, with a table of its flows when they are asked for every so many seconds."""
    if live_s is None:
        from lanewise.cli.progress import RunProgress

        return RunProgress(description)
    from lanewise.cli.live import LiveProgress

    return LiveProgress(description, live_s)
