"""Where things are printed: stdout for data, stderr for talk.

Colour appears only on a terminal, and not when NO_COLOR is set. Without a terminal, tables are 100 columns
wide unless COLUMNS says otherwise.
"""

from __future__ import annotations

import os
import sys

from rich.console import Console

_WIDTH_WITHOUT_TERMINAL = 100


def stdout() -> Console:
    """Return the console that data is printed on."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH_WITHOUT_TERMINAL
    # Names and sources come from files; brackets and colons in them are no markup.
    return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False, markup=False, emoji=False)


def stderr() -> Console:
    """Return the console that talk and progress are printed on."""
    return Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
