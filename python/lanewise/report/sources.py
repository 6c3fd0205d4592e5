"""What a report is about, read from where it was kept: run folders, and documents that verbs printed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.output_format import FORMAT
from lanewise.report.measurement_part import Measured, measured_of, measurement_part
from lanewise.report.run_part import run_part
from lanewise.runs.folder import load_run, run_of
from lanewise.scenario_text import said_of_a_scenario
from lanewise.study.store import is_study
from lanewise.study.study import load_study

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from lanewise.results import RunResult
    from lanewise.study.study import StudyResult

_MOST_BYTES = 256 << 20


def read(paths: Iterable[Path]) -> list[tuple[str, RunResult | Measured | StudyResult]]:
    """Read folders of runs and studies, and files that `run`, `import` or `measure` wrote as JSON, by name.

    InputError for what is neither, is damaged, or of another version.
    """
    found: list[tuple[str, RunResult | Measured | StudyResult]] = []
    for path in paths:
        found += [(str(path), each) for each in _read(path)]
    return found


def _read(path: Path) -> Sequence[RunResult | Measured | StudyResult]:
    if is_study(path):
        return [load_study(path)]
    if path.is_dir():
        return [_checked(load_run(path), path)]
    document = _document(path)
    if "flows" in document and "links" in document:
        return [_checked(run_of(document, path), path)]
    measured = measured_of(document)
    if not measured:
        raise InputError(
            f"'{path}' is neither a run nor a measurement: a report is made of run folders ('run --out'), "
            "and of what 'run --json', 'import --json' and 'measure --out' write"
        )
    for each in measured:
        try:
            measurement_part(each, drawn=False)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"'{path}' is a damaged measurement: it lacks or has a wrong {error}") from error
    return measured


def _checked(result: RunResult, path: Path) -> RunResult:
    """Raise InputError for a run of which something cannot be told; that is seen without drawing it."""
    try:
        run_part(result, drawn=False)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"'{path}' is a damaged run: its results lack or have a wrong {error}") from error
    return result


def _document(path: Path) -> dict[str, object]:
    text = ""
    try:
        if path.is_file() and path.stat().st_size > _MOST_BYTES:
            raise InputError(f"'{path}' has more than {_MOST_BYTES >> 20} MiB")
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        if (scenario := said_of_a_scenario(text, str(path))) is not None:
            raise InputError(f"{scenario}, and 'run --report' makes its report") from None
        raise InputError(
            f"'{path}' is neither a run folder nor JSON that a verb of Lanewise wrote: {error}"
        ) from error
    if not isinstance(document, dict):
        raise InputError(f"'{path}' is not a document of Lanewise: it is not a JSON object")
    if document.get("format", FORMAT) != FORMAT:
        raise InputError(
            f"'{path}' has format {document['format']!r}, and this version reads format {FORMAT}"
        )
    return document
