"""Reports as a function: `write_report`, and the verb `report`. Typed, quiet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.results import RunResult

if TYPE_CHECKING:
    from lanewise.comparison import Comparison
    from lanewise.experiment.reproduction import Reproduction
    from lanewise.report import writing
    from lanewise.side_by_side.several import SideBySide


def write_report(
    *subjects: RunResult | Comparison | SideBySide | Reproduction | str | Path, out: str | Path
) -> Path:
    """Write a report on what was run, compared, measured or reproduced: one file, whole or not at all.

    `subjects` are results of `run`, `why`, `compare`, `whatif` or `reproduce`, run folders, and files that
    ``run --json``, ``import --json`` or ``measure --out`` wrote. One run gives its own report, two a
    comparison, more a table of all; a reproduction has a report of its own. `out` ends in ``.html``, or in
    ``.md`` for Markdown without pictures; HTML needs the extra ``report``. Returns the path. Raises
    `lanewise.InputError` for what cannot be read or written.

    >>> import lanewise, tempfile
    >>> run = lanewise.run("scenarios/switch.toml")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lanewise.write_report(run, out=f"{folder}/run.md").read_text(encoding="utf-8").splitlines()[0]
    '# Two Gen3 x4 cards behind one switch'
    """
    from lanewise.comparison import Comparison as Compared
    from lanewise.experiment.reproduction import Reproduction as Reproduced
    from lanewise.report import writing
    from lanewise.report.sources import read
    from lanewise.side_by_side.several import SideBySide

    path = Path(out)
    writing.check_place(path)
    reproduced = [subject for subject in subjects if isinstance(subject, Reproduced)]
    if reproduced:
        from lanewise.report.page import write_report as write_reproduction

        if len(subjects) > 1 or writing.is_markdown(path):
            raise InputError("a reproduction has a report of its own, in HTML")
        return write_reproduction(reproduced[0], path)
    found: list[tuple[str, writing.Subject]] = []
    for subject in subjects:
        if isinstance(subject, RunResult):
            found.append((subject.title, subject))
        elif isinstance(subject, Compared | SideBySide):
            found.append((" and ".join(subject.names), subject))
        elif isinstance(subject, str | Path):
            found += read([Path(subject)])
        else:
            raise InputError(f"a report is on runs, comparisons and files of them, not {subject!r}")
    return writing.write(found, path)
