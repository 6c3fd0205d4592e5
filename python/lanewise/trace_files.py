"""Traces in files: the listing, and what other people's tools read.

What is in each form is told in ``docs/reference/trace-formats.md``. The core writes row by row while the run
goes on; a file is whole, or as it was before.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias, cast, get_args

from lanewise.errors import InputError
from lanewise.files import refuse_folder, whole_file
from lanewise.runs.simulator import Scenario, write_wires

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from lanewise.documents import Progress, TraceEnd

TraceForm: TypeAlias = Literal["text", "jsonl", "perfetto"]
"""Forms in which a trace is written."""

FORMS: tuple[TraceForm, ...] = get_args(TraceForm)

_FOR_TERMINALS = ("text", "jsonl")

_EVERY_KIND = ("tlp", "dllp", "skp", "flit", "blocked", "queued", "error")


def form_named(name: str, *, is_for_terminal: bool = False) -> TraceForm:
    """Return a form by its name. InputError for one that there is not, or that no terminal shows."""
    if name not in FORMS:
        raise InputError(f"no format of traces is called '{name}'; there are {', '.join(FORMS)}")
    if is_for_terminal and name not in _FOR_TERMINALS:
        raise InputError(f"{name} is no text for a terminal\nhint: name a file with --out FILE")
    return name


@dataclass(frozen=True)
class Wires:
    """What is traced, as in `lanewise.write_trace`."""

    scenario: Scenario
    overrides: Sequence[tuple[str, str]]
    window: tuple[str, str]
    links: Sequence[str]
    kinds: Sequence[str]
    last: int
    view: tuple[str | None, str | None]
    progress: Callable[[Progress], bool | None] | None

    def write_to_file(self, place: str | os.PathLike[str] | BinaryIO, form: str) -> TraceEnd:
        """Write it to a file, whole or not at all, or to an open one."""
        known = form_named(form)
        if not isinstance(place, (str, Path)) and hasattr(place, "write"):
            return self._write(cast("BinaryIO", place), known)
        path = Path(cast("str", place))
        refuse_folder(path)
        with whole_file(path) as file:
            return self._write(file, known)

    def _write(self, file: BinaryIO, form: TraceForm) -> TraceEnd:
        return self._traced(form, file.write, self._kinds(form))

    def _kinds(self, form: TraceForm) -> Sequence[str]:
        """Return which kinds it has where nobody says: Perfetto has counters of how many wait."""
        is_window = self.view == (None, None)
        return _EVERY_KIND if form == "perfetto" and is_window and not self.kinds else self.kinds

    def _traced(self, form: str, put: Callable[[bytes], object], kinds: Sequence[str]) -> TraceEnd:
        return write_wires(
            self.scenario,
            self.overrides,
            self.window,
            self.links,
            kinds,
            form,
            put,
            self.progress,
            last=self.last,
            view=self.view,
        )
