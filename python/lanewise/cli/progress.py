"""Progress on stderr, one way for each kind of work. Nothing is drawn unless stderr is a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from lanewise.cli.console import stderr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from rich.progress import Task

    from lanewise import documents


_WIDE = 120
"""Terminals of fewer columns have no room for the number of events beside the time left."""

_SOON_S = 1.0
"""Before so many seconds an estimate of the rest says little."""


class RunProgress:
    """Shows how far a run is; called by the core now and then."""

    flows_every_s: float | None = None
    """How often it wants to hear of the flows, too."""

    def __init__(self, description: str) -> None:
        """Name what is running."""
        self._bar = _share_bar()
        self._task = self._bar.add_task(description, total=1.0, note="")

    def __enter__(self) -> Self:
        """Start drawing."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove what was drawn."""
        self.stop()

    def start(self) -> None:
        """Draw the bar."""
        self._bar.start()

    def stop(self) -> None:
        """Remove the bar."""
        self._bar.stop()

    def __call__(self, report: documents.Progress) -> None:
        """Take a report of the core: simulated time and limit in seconds, events so far."""
        done = report["simulated_s"] / report["time_limit_s"] if report["time_limit_s"] else 0.0
        events = f", {report['events']:,} events" if self._bar.console.width >= _WIDE else ""
        note = f"{1e3 * report['simulated_s']:.2f} ms simulated{events}{self._left(done)}"
        self._bar.update(self._task, completed=done, note=note)

    def _left(self, done: float) -> str:
        """Say how long it takes at most: a run ends sooner when its results are narrow enough."""
        elapsed = self._bar.tasks[self._task].elapsed or 0.0
        if done <= 0.0 or elapsed < _SOON_S:
            return ""
        minutes, seconds = divmod(round(elapsed * (1.0 - done) / done), 60)
        return f", at most {minutes}:{seconds:02} left"


class RunsProgress:
    """Shows how many runs are done of those to do, how many a second, and the time left."""

    def __init__(self, bar: Progress, description: str) -> None:
        """Name what is running."""
        self._bar = bar
        self._task = bar.add_task(description, total=None)
        self.counted = (0, 0)
        """Runs done, and runs to do."""

    def __call__(self, done: int, total: int) -> None:
        """Count."""
        self.counted = (done, total)
        self._bar.update(self._task, completed=done, total=total)

    def note(self, text: str) -> None:
        """Say something beside the count, on a line that stays."""
        self._bar.console.print(f"note: {text}", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def runs_progress(description: str, *, goes_on: str | None = None) -> Iterator[RunsProgress]:
    """Count runs done of runs to do; an interrupt says that the finished ones are kept, and what goes on."""
    bar = _count_bar()
    progress = RunsProgress(bar, description)
    with bar:
        try:
            yield progress
        except KeyboardInterrupt:
            if goes_on is None:
                raise
            done, total = progress.counted
            raise KeyboardInterrupt(f"{done} of {total} runs are finished and kept; {goes_on}") from None


@contextmanager
def fits_progress(doing: str) -> Iterator[Callable[[str, int], None]]:
    """Name the work in progress, like the fit being done, and count its runs."""
    line = _spinner()
    task = line.add_task(doing)
    with line:
        yield lambda name, runs: line.update(task, description=f"{doing} {name}: {runs} runs")


@contextmanager
def names_progress(verb: str) -> Iterator[Callable[[str], None]]:
    """Name the item in progress."""
    line = _spinner()
    task = line.add_task(verb)
    with line:
        yield lambda name: line.update(task, description=f"{verb} {name}")


def _share_bar() -> Progress:
    """Return a bar for one task whose share done is known."""
    return _progress(TextColumn("{task.percentage:>3.0f} %"), TextColumn("{task.fields[note]}"))


def _count_bar() -> Progress:
    """Return a bar that counts runs, with an estimate of the time left."""
    return _progress(
        MofNCompleteColumn(), TextColumn("runs"), _RateColumn(), TimeRemainingColumn(compact=True)
    )


class _RateColumn(ProgressColumn):
    """How many are done a second, lately."""

    def render(self, task: Task) -> Text:
        rate = task.finished_speed or task.speed
        if not rate:
            return Text()
        return Text(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s")


def _spinner() -> Progress:
    """Return a line for work whose length is unknown."""
    console = stderr()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _progress(*after_the_bar: ProgressColumn) -> Progress:
    console = stderr()
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), *after_the_bar, TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
