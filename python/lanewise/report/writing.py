"""Reports of runs, comparisons and measurements: what is on them by what they are about, and their files.

One run gives its own report, two give a comparison, more a table of all; measurements stand beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lanewise import _core
from lanewise.comparison import Comparison, compare_runs, names_of
from lanewise.errors import InputError
from lanewise.extras import need
from lanewise.files import refuse_unwritable, write_whole
from lanewise.report.comparison_part import comparison_part
from lanewise.report.content import Page
from lanewise.report.html import html
from lanewise.report.markdown import markdown
from lanewise.report.measurement_part import Measured, measurement_part
from lanewise.report.run_part import run_part
from lanewise.report.several_part import several_part
from lanewise.report.sides_part import sides_part
from lanewise.report.study_part import study_part
from lanewise.results import RunResult
from lanewise.side_by_side.several import LETTERS, SideBySide
from lanewise.study.study import StudyResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lanewise.report.content import Part

Subject: TypeAlias = RunResult | Comparison | SideBySide | Measured | StudyResult
"""What a report can be about."""

MARKDOWN = (".md", ".markdown")


def check_place(path: Path) -> None:
    """Raise InputError when a report could not be written here: before the work for it is done."""
    if not is_markdown(path):
        if path.suffix.lower() not in (".html", ".htm") and not str(path).startswith("/dev/"):
            raise InputError(f"a report is HTML or Markdown: '{path}' has to end in .html or .md")
        need("report", "a report in HTML")
    refuse_unwritable(path)


def write(subjects: Sequence[tuple[str, Subject]], path: Path) -> Path:
    """Write the report on some things, each with its name, whole or not at all.

    Markdown where the path ends in ``.md``, else HTML. InputError without anything to report on, and for a
    file that cannot be written.
    """
    check_place(path)
    return write_whole(path, text_of(subjects, as_markdown=is_markdown(path)))


def text_of(subjects: Sequence[tuple[str, Subject]], *, as_markdown: bool) -> str:
    """Return the text of the report on some things, each with its name."""
    if not subjects:
        raise InputError("there is nothing to report on: name a run, a comparison or a measurement")
    if as_markdown:
        return markdown(_page(subjects, drawn=False))
    from lanewise.report.plots import unchecked

    with unchecked():
        return html(_page(subjects, drawn=True))


def is_markdown(path: Path) -> bool:
    """Whether a report goes to this file as Markdown."""
    return path.suffix.lower() in MARKDOWN


def _page(subjects: Sequence[tuple[str, Subject]], *, drawn: bool) -> Page:
    parts = list(_parts(subjects, drawn=drawn))
    title = parts[0].title if len(parts) == 1 or not parts[0].folded else "Runs"
    return Page(title, parts, version=_core.VERSION)


def _parts(subjects: Sequence[tuple[str, Subject]], *, drawn: bool) -> list[Part]:
    runs = [(name, subject) for name, subject in subjects if isinstance(subject, RunResult)]
    comparisons = [subject for _, subject in subjects if isinstance(subject, Comparison)]
    measured = [subject for _, subject in subjects if isinstance(subject, Measured)]
    if len(runs) == 2:
        (name_a, a), (name_b, b) = runs
        comparisons.append(compare_runs(a, b, names=names_of((name_a, name_b), (a, b))))
    parts = []
    for comparison in comparisons:
        parts.append(comparison_part(comparison, drawn=drawn))
        parts += [
            run_part(run, drawn=drawn, folded=True, name=f"{letter}: {name}")
            for letter, name, run in zip("AB", comparison.names, comparison.runs, strict=True)
        ]
    for sides in (subject for _, subject in subjects if isinstance(subject, SideBySide)):
        parts.append(sides_part(sides))
        parts += [
            run_part(side.run, drawn=drawn, folded=True, name=f"{letter}: {side.name}")
            for letter, side in zip(LETTERS, sides.sides, strict=False)
            if side.run is not None
        ]
    if len(runs) > 2:
        parts.append(several_part(runs, drawn=drawn))
        parts += [run_part(run, drawn=drawn, folded=True, name=name) for name, run in runs]
    elif len(runs) == 1:
        parts.append(run_part(runs[0][1], drawn=drawn))
    studies = [subject for _, subject in subjects if isinstance(subject, StudyResult)]
    parts += [study_part(each, drawn=drawn) for each in studies]
    return parts + [measurement_part(each, drawn=drawn) for each in measured]
