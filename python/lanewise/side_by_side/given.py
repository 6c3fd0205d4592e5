"""What is to be compared, found out and read: scenarios, runs, and outputs of benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.health.judge.detect import MOST_BYTES, decoded, parse_measurement, read_measurement
from lanewise.inputs import STANDARD_INPUT, read_file
from lanewise.results import ExplainResult, RunResult
from lanewise.runs.folder import load_resolved, load_run, run_of
from lanewise.runs.simulator import is_file, standard_input
from lanewise.scenario_text import said_of_a_scenario, written_tables
from lanewise.study.store import is_study
from lanewise.tools.instruments.measurement import ImportProblemError, Measurement

if TYPE_CHECKING:
    from lanewise.runs.simulator import Scenario

_OF_SCENARIOS = frozenset(("host", "switch", "endpoint", "storage", "network", "system", "workload"))
_OF_RUNS = frozenset(("flows", "links", "fingerprint"))
_OF_RECORDS = frozenset(("tool", "cases", "commands"))
"""What `measure --out` writes has what the tool printed."""
_OF_JUDGEMENTS = frozenset(("format", "results"))


@dataclass(frozen=True)
class Given:
    """A side as it was given, read and found to be right."""

    name: str
    scenario: Scenario | None = None
    """What is to be run; None for what is there already."""
    overrides: tuple[tuple[str, str], ...] = ()
    run: RunResult | None = None
    measurement: Measurement | None = None
    resolved: ExplainResult | None = None
    """Every parameter of the scenario; None where that is not known."""


def read(side: Scenario | RunResult | Measurement) -> Given:
    """Find out what a side is, and read it, but for scenarios; InputError for what cannot be one."""
    if isinstance(side, RunResult):
        return Given(side.title, run=side)
    if isinstance(side, Measurement):
        return Given(side.source or side.tool, measurement=side)
    if not is_file(side):
        return Given("", scenario=side)
    path = Path(str(side))
    return _folder(path) if path.is_dir() else _file(path)


def _folder(path: Path) -> Given:
    if is_study(path):
        raise InputError(f"'{path}' is a study: 'lanewise study show {path}' compares its points")
    if not (path / "manifest.json").exists():
        raise InputError(
            f"'{path}' is not a run folder: it has no manifest.json\n"
            "hint: 'lanewise run --out' writes run folders; of outputs of benchmarks, name the files"
        )
    document = load_resolved(path)
    return Given(
        str(path), run=load_run(path), resolved=None if document is None else ExplainResult(document)
    )


def _file(path: Path) -> Given:
    """Read a file by its content; what cannot be read is left to the core, which says why."""
    name = str(path)
    is_input = name == STANDARD_INPUT
    text = standard_input() if is_input else _text_of(path)
    tables = {} if text is None else written_tables(text)
    if tables.keys() >= _OF_RUNS:
        return Given(name, run=run_of(tables, path))
    if tables.keys() >= _OF_RECORDS and isinstance(tables["commands"], list):
        commands = [each for each in tables["commands"] if isinstance(each, dict)]
        printed = "\n".join(str(each.get("output", "")) for each in commands)
        return Given(name, measurement=_measured(name, printed, printed))
    if tables.keys() >= _OF_JUDGEMENTS:
        raise InputError(
            f"'{name}' is what 'lanewise import --json' said of a result: give the output that it was made "
            "from"
        )
    is_scenario = (
        path.suffix.lower() == ".toml"
        or bool(tables.keys() & _OF_SCENARIOS)
        or (text is not None and said_of_a_scenario(text, name) is not None)
    )
    if is_scenario or not (is_input or path.exists()):
        return Given(name, scenario=name)
    return Given(name, measurement=_measured(name, text, text if is_input else None))


def _text_of(path: Path) -> str | None:
    """Return the text of a file; None for one that is none, is too large or cannot be read."""
    try:
        data = read_file(path, MOST_BYTES)
        return decoded(data, str(path)) if len(data) <= MOST_BYTES else None
    except (OSError, ImportProblemError):
        return None


def _measured(name: str, text: str | None, printed: str | None = None) -> Measurement:
    """Read a benchmark's output: what was `printed`, or the file; InputError says what a side can be."""
    if text is not None and not text.strip():
        raise InputError(f"'{name}' is empty: give a scenario, a run folder, or the output of a benchmark")
    try:
        return read_measurement(name) if printed is None else parse_measurement(printed, source=name)
    except ImportProblemError as error:
        said = str(error) if name in str(error) else f"'{name}': {error}"
        raise InputError(
            f"{said}; beside outputs, 'compare' takes scenarios, run folders and files of 'run --json'"
        ) from error
