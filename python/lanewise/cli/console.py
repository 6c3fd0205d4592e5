"""Where tables and progress are printed: stdout for data, stderr for talk.

Colour appears only on a terminal, and not when NO_COLOR is set. Without a terminal, tables are 100 columns
wide unless COLUMNS says otherwise.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

_WIDTH_WITHOUT_TERMINAL = 100


def stdout() -> Console:
    """Return the console that data is printed on."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH_WITHOUT_TERMINAL
    # Names and sources come from files; brackets in them are no markup.
    return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False, markup=False)


def stderr() -> Console:
    """Return the console that talk and progress are printed on."""
    return Console(file=sys.stderr, highlight=False, markup=False)


def share_bar() -> Progress:
    """Return a bar for one task whose share done is known; nothing is drawn unless stderr is a terminal."""
    return _progress(TextColumn("{task.percentage:>3.0f} %"), TextColumn("{task.fields[note]}"))


def count_bar() -> Progress:
    """Return a bar that counts runs; nothing is drawn unless stderr is a terminal."""
    return _progress(MofNCompleteColumn(), TextColumn("runs"))


def spinner() -> Progress:
    """Return a line for work whose length is unknown; nothing is drawn unless stderr is a terminal."""
    console = stderr()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _progress(*after_the_bar: ProgressColumn) -> Progress:
    console = stderr()
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), *after_the_bar, TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
