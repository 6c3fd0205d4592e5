"""Where things are printed: stdout for data, stderr for talk.

Colour appears only on a terminal, and not when NO_COLOR is set. Without a terminal, tables are 100 columns
wide unless COLUMNS says otherwise.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segment

from lanewise.cli.streams import unwrapped, without_controls

if TYPE_CHECKING:
    from collections.abc import Iterable

_WIDTH_WITHOUT_TERMINAL = 100


class _Clean(Console):
    """A console that takes control characters out of texts; those that it colours with itself stay."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(
            each if each.control else Segment(without_controls(each.text), each.style) for each in buffer
        )


def stdout() -> Console:
    """Return the console that data is printed on."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH_WITHOUT_TERMINAL
    # Names and sources come from files; brackets and colons in them are no markup.
    return _Clean(
        file=unwrapped(sys.stdout), width=width, highlight=False, soft_wrap=False, markup=False, emoji=False
    )


def stderr() -> Console:
    """Return the console that talk and progress are printed on."""
    return _Clean(file=unwrapped(sys.stderr), highlight=False, markup=False, emoji=False)
