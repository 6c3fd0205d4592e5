"""The verb `report`, and the option ``--report`` of others: what was run, to show to somebody.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli.options import AsJson
from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.report.writing import Subject

DEFAULT = "run-report.html"
"""Where a report goes when no file is named: only where there is none yet."""


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("report")(_report)


def _report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Folders of runs and studies, and files from 'run --json', 'import --json' or "
            "'measure --out'.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="File to write or to replace: HTML, or Markdown if it ends in .md. Without it: "
            f"{DEFAULT}, unless there is one.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report on runs that you kept.

    One run gives its report, two give a comparison, and more give a table. Measurements are shown beside
    what was possible.
    """
    from lanewise.output_format import stamped
    from lanewise.report.sources import read

    place = out or _free_place()
    check(place)
    found = read(runs)
    write(found, place)
    if as_json:
        document = stamped({"file": str(place), "runs": [name for name, _ in found]})
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _free_place() -> Path:
    """Return where a report goes when no file is named; InputError where that would replace one."""
    place = Path(DEFAULT)
    if place.exists():
        raise InputError(
            f"'{place}' exists, and is left as it is; --out names another file, or this one to replace it"
        )
    return place


def check(report: Path | None) -> None:
    """Raise InputError for a report that could not be written, before the work for it is done."""
    if report is not None:
        from lanewise.report.writing import check_place

        check_place(report)


def write(subjects: "Sequence[tuple[str, Subject]]", report: Path) -> None:
    """Write a report, and say where."""
    from lanewise.report.writing import write as write_file

    write_file(subjects, report)
    typer.echo(f"report: {report}", err=True)
