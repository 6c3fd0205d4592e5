"""A study: what is asked, doing it, and what came of it."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.study.axes import Axis, in_base_unit, number_of, parse_axis
from lanewise.study.measures import ALWAYS, Measure, is_number
from lanewise.study.points import SEED, Point, grid, sample
from lanewise.study.store import StudyFolderError, journal, open_study, read_asked, read_finished, write_table
from lanewise.study.worker import Outcome, Work

if TYPE_CHECKING:
    import polars as pl

    from lanewise.runs.simulator import Scenario

PointsDone = Callable[[int, int], None]
"""Called with how many points are finished and how many there are."""

_TOGETHER = 64
"""Finished points that are written at once at most; each write waits for the disk."""
_SOON_S = 0.5
"""A finished point waits so long at most until it is written."""

_KEYS = {"scenario", "over", "seeds", "sample", "metrics", "set"}


@dataclass(frozen=True)
class Study:
    """What a study asks."""

    name: str
    """What messages call the scenario."""
    text: str
    """The scenario."""
    over: tuple[str, ...]
    """Axes, as they are written."""
    seeds: tuple[int, ...] = ()
    """The same ones at each point; none means the scenario's own."""
    how: str | None = None
    """A sample instead of the grid, like ``lhs:100``."""
    metrics: tuple[str, ...] = ()
    """Numbers beside those that every study has."""
    overrides: tuple[tuple[str, str], ...] = ()
    """Of all points."""

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes. AxisError for one that means nothing."""
        return tuple(parse_axis(text) for text in self.over)

    @cached_property
    def points(self) -> list[Point]:
        """The points, in their order. InputError for axes that do not go together."""
        made = grid(self.axes, self.seeds) if self.how is None else sample(self.axes, self.seeds, self.how)
        return [replace(point, overrides=(*self.overrides, *point.overrides)) for point in made]

    def work(self) -> Work:
        """Return what every process needs to run points. InputError for a metric that means nothing."""
        for text in self.metrics:
            Measure.parse(text)
        return Work(self.name, self.text, self.metrics)

    def asked(self) -> dict[str, object]:
        """Return all that determines the results, as JSON has it."""
        from lanewise import __version__
        from lanewise.runs.cache import core_hash

        return {
            "name": self.name,
            "axes": list(self.over),
            "sample": self.how,
            "seeds": list(self.seeds),
            "measures": list(self.metrics),
            "overrides": [list(pair) for pair in self.overrides],
            "lanewise_version": __version__,
            "core": core_hash(),
            "scenario": self.text,
        }

    @classmethod
    def of_asked(cls, asked: Mapping[str, object]) -> Study:
        """Return the study that a folder keeps; StudyFolderError for what is none."""
        try:
            return cls(
                str(asked["name"]),
                str(asked["scenario"]),
                _texts(asked["axes"]),
                tuple(int(str(seed)) for seed in _list(asked["seeds"])),
                None if asked["sample"] is None else str(asked["sample"]),
                _texts(asked["measures"]),
                tuple((str(path), str(value)) for path, value in map(_list, _list(asked["overrides"]))),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StudyFolderError(f"the study is damaged: what it asks lacks or mistakes {error}") from error


@dataclass(frozen=True, eq=False)
class StudyResult:
    """What came of a study, as far as it is."""

    study: Study
    outcomes: Sequence[Outcome] = field(repr=False)
    """Of finished points, in the order of the points."""

    @property
    def is_complete(self) -> bool:
        """Whether every point is finished."""
        return len(self.outcomes) == len(self.study.points)

    @cached_property
    def units(self) -> dict[str, str]:
        """Units of axes whose values are numbers, by path."""
        found = {}
        for path in self._paths:
            parsed = [number_of(row[path]) for row in self._overrides if path in row]
            if parsed and all(parsed):
                found[path] = next((value[1] for value in parsed if value), "")
        return {path: unit for path, unit in found.items() if unit}

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each finished point: number, parameters, `status`, what is kept of it, and `error`.

        Parameters are numbers where all values are, in the unit of the first, and texts otherwise. `status`
        is `done`, `refused` (it cannot be built) or `failed`.
        """
        import polars as pl

        rows = [outcome.row for outcome in self.outcomes]
        columns: list[pl.Series] = [
            pl.Series("point", [outcome.number for outcome in self.outcomes], pl.Int64)
        ]
        columns += [self._parameter(path) for path in self._paths]
        columns.append(pl.Series("status", [outcome.status for outcome in self.outcomes], pl.String))
        for name in (*ALWAYS, *self.study.metrics):
            values = [row.get(name) for row in rows]
            kind = pl.Float64 if is_number(name, rows) or name not in ALWAYS else pl.String
            if name in ALWAYS and all(value is None for value in values):
                kind = pl.String if name in _TEXTS else pl.Float64
            columns.append(pl.Series(name, values, kind, strict=False))
        columns.append(pl.Series("error", [outcome.error for outcome in self.outcomes], pl.String))
        return pl.DataFrame(columns)

    def to_document(self) -> dict[str, object]:
        """Return the study as ``sweep --json`` prints it: axes, units, rows of the points, and the knees."""
        from dataclasses import asdict

        from lanewise.output_format import stamped
        from lanewise.study.knees import knees

        return stamped(
            {
                "scenario": self.study.name,
                "axes": [{"paths": list(axis.paths), "values": len(axis.rows)} for axis in self.study.axes],
                "units": self.units,
                "is_complete": self.is_complete,
                "points": self.table.to_dicts(),
                "knees": [{**asdict(knee), "others": dict(knee.others)} for knee in knees(self)],
            }
        )

    @cached_property
    def _paths(self) -> list[str]:
        paths = [path for axis in self.study.axes for path in axis.paths]
        return paths + [SEED] * (bool(self.study.seeds) and SEED not in paths)

    @cached_property
    def _overrides(self) -> list[dict[str, str]]:
        points = self.study.points
        return [dict(points[outcome.number].overrides) for outcome in self.outcomes]

    def _parameter(self, path: str) -> pl.Series:
        import polars as pl

        texts = [row.get(path) for row in self._overrides]
        numbers = [None if text is None else in_base_unit(text) for text in texts]
        known = [number for number in numbers if number is not None]
        is_numeric = (
            len(known) == sum(text is not None for text in texts) and len({unit for _, unit in known}) == 1
        )
        if not is_numeric:
            return pl.Series(path, texts, pl.String)
        unit = in_base_unit(f"1 {self.units[path]}") if path in self.units else None
        scale = unit[0] if unit else 1
        values = [None if number is None else number[0] / scale for number in numbers]
        if all(value is None or value.denominator == 1 for value in values):
            return pl.Series(path, [None if value is None else int(value) for value in values], pl.Int64)
        return pl.Series(path, [None if value is None else float(value) for value in values], pl.Float64)


_TEXTS = {"limited_by", "limited_kind", "end_reason", "fingerprint"}


def run_study(
    study: Study,
    folder: Path | None = None,
    *,
    processes: int | None = None,
    on_progress: PointsDone | None = None,
) -> StudyResult:
    """Run the points of a study that are not finished yet; keep each in a folder as soon as it is.

    Without a folder nothing is kept. A study that was interrupted goes on where it was. Raises InputError for
    a study that means nothing, and StudyFolderError for a folder of another one.
    """
    points, work = study.points, study.work()
    finished = {} if folder is None else open_study(folder, study.asked())
    left = [point for point in points if point.number not in finished]
    with contextlib.ExitStack() as stack:
        keep = None if folder is None else stack.enter_context(journal(folder)).add
        if left:
            _run_left(left, work, finished, processes, keep, lambda: _tell(on_progress, finished, points))
    result = StudyResult(study, [finished[number] for number in sorted(finished)])
    if folder is not None:
        write_table(folder, result.table, result.units)
    return result


def _run_left(
    left: Sequence[Point],
    work: Work,
    finished: dict[int, Outcome],
    processes: int | None,
    keep: Callable[[Sequence[Outcome]], None] | None,
    tell: Callable[[], None],
) -> None:
    from time import monotonic

    from lanewise.study.pool import run_points

    tell()
    fresh: list[Outcome] = []
    since = monotonic()

    def write() -> None:
        if keep is not None and fresh:
            keep(fresh)
        fresh.clear()

    try:
        for outcome in run_points(left, work, processes):
            finished[outcome.number] = outcome
            fresh.append(outcome)
            if len(fresh) >= _TOGETHER or monotonic() - since > _SOON_S:
                write()
                since = monotonic()
                tell()
    finally:
        write()
    tell()


def _tell(on_progress: PointsDone | None, finished: Mapping[int, Outcome], points: Sequence[Point]) -> None:
    if on_progress is not None:
        on_progress(len(finished), len(points))


def load_study(folder: Path) -> StudyResult:
    """Read what a folder has of a study, whether it is complete, was interrupted, or goes on now.

    Raises StudyFolderError for a folder that holds none.
    """
    study = Study.of_asked(read_asked(folder))
    finished = {outcome.number: outcome for outcome in read_finished(folder)}
    known = range(len(study.points))
    return StudyResult(study, [finished[number] for number in sorted(finished) if number in known])


def study_of_file(path: Path) -> Study | None:
    """Read a study file; None for a TOML file that is none, as a scenario. InputError for a wrong one."""
    from lanewise.inputs import read_input

    try:
        document = tomllib.loads(read_input(str(path), 4 << 20).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None  # The core says what is wrong with a scenario.
    if "over" not in document and not isinstance(document.get("scenario"), str):
        return None
    unknown = sorted(set(document) - _KEYS)
    if unknown:
        raise InputError(f"'{path}': unknown key '{unknown[0]}'; a study has {', '.join(sorted(_KEYS))}")
    scenario = document.get("scenario")
    if not isinstance(scenario, str):
        raise InputError(f"'{path}' names no scenario: write scenario = \"FILE\"")
    overrides = document.get("set", {})
    if not isinstance(overrides, Mapping):
        raise InputError(f"'{path}': 'set' is a table of paths and values")
    from lanewise.toml import override

    seeds = document.get("seeds", ())
    return make_study(
        path.parent / scenario,
        over=_listed(path, document, "over"),
        seeds=seeds if isinstance(seeds, int) else _numbers(path, seeds),
        how=document.get("sample"),
        metrics=_listed(path, document, "metrics"),
        overrides=tuple((str(key), override(value)) for key, value in overrides.items()),
    )


def make_study(
    scenario: Scenario,
    *,
    over: Sequence[str],
    seeds: int | Sequence[int] = (),
    how: str | None = None,
    metrics: Sequence[str] = (),
    overrides: Sequence[tuple[str, str]] = (),
) -> Study:
    """Return a study of a scenario; `seeds` is how many, from 1 on, or which.

    Raises `lanewise.ScenarioError` for a scenario that cannot be resolved, and InputError for no axis.
    """
    from lanewise.runs.simulator import given, resolve

    if not over and not seeds:
        raise InputError("a study varies something: give an axis, like 'ssd.count=1..24', or seeds")
    which = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else tuple(seeds)
    if len(set(which)) < len(which) or any(seed < 0 for seed in which):
        raise InputError(f"seeds are different whole numbers from 0 on; found {', '.join(map(str, which))}")
    resolve(scenario, overrides)
    name, text = given(scenario)
    if text is None:
        text = Path(name).read_text(encoding="utf-8")
    return Study(name, text, tuple(over), which, how, tuple(metrics), tuple(overrides))


def _listed(path: Path, document: Mapping[str, object], key: str) -> list[str]:
    found = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InputError(f"'{path}': '{key}' is a list of texts")
    return found


def _numbers(path: Path, found: object) -> list[int]:
    if not isinstance(found, list | tuple) or not all(isinstance(each, int) for each in found):
        raise InputError(f"'{path}': 'seeds' is how many, or a list of whole numbers")
    return list(found)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(each) for each in _list(value))
