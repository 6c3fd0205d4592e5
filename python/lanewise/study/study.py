"""A study: what is asked, doing it, and what came of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.study.axes import Axis, parse_axis
from lanewise.study.columns import measured_column, parameter_column, unit_of_values
from lanewise.study.measures import ALWAYS, Measure
from lanewise.study.points import SEED, Point, grid, sample_size, samplers
from lanewise.study.points import sample as sampled
from lanewise.study.store import StudyFolderError, open_study, read_asked, read_finished
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

_MOST_SEEDS = 10_000

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
    sample: str | None = None
    """A sample instead of the grid, like ``lhs:100``."""
    metrics: tuple[str, ...] = ()
    """Numbers beside those that every study has."""
    overrides: tuple[tuple[str, str], ...] = ()
    """Of all points."""

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes. AxisError for one that means nothing."""
        return tuple(parse_axis(text) for text in self.over)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Paths that vary, without the seed."""
        return tuple(path for axis in self.axes for path in axis.paths if path != SEED)

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths that vary, with the seed where it does."""
        paths = tuple(path for axis in self.axes for path in axis.paths)
        return paths if SEED in paths or not self.seeds else (*paths, SEED)

    @cached_property
    def points(self) -> list[Point]:
        """The points, in their order. InputError for axes that do not go together.

        A sample needs the extra ``calibrate``.
        """
        made = (
            grid(self.axes, self.seeds)
            if self.sample is None
            else sampled(self.axes, self.seeds, self.sample)
        )
        return [replace(point, overrides=(*self.overrides, *point.overrides)) for point in made]

    @cached_property
    def size(self) -> int:
        """How many points there are; none of a sample is made for that."""
        if self.sample is None:
            return len(self.points)
        return sample_size(self.sample) * max(len(self.seeds), 1)

    def work(self) -> Work:
        """Return what every process needs to run points.

        InputError for a metric that means nothing, and for two columns of one name.
        """
        for text in self.metrics:
            Measure.parse(text)
        seen: set[str] = set()
        for name in (*_FIXED, *self.paths, *self.metrics):
            if name in seen:
                raise InputError(f"two columns of the study would be called '{name}': leave one of them out")
            seen.add(name)
        return Work(self.name, self.text, self.metrics)

    def asked(self) -> dict[str, object]:
        """Return all that determines the results, as JSON has it."""
        from lanewise import __version__
        from lanewise.runs.cache import core_hash

        return {
            "name": self.name,
            "axes": list(self.over),
            "sample": self.sample,
            "samplers": None if self.sample is None else samplers(),
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
        return len(self.outcomes) == self.study.size

    @cached_property
    def units(self) -> dict[str, str]:
        """Units of axes whose values are numbers, by path."""
        return {path: unit for path in self.study.paths if (unit := unit_of_values(self._texts(path)))}

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
        for path in self.study.paths:
            columns.append(parameter_column(path, self._texts(path), self.units.get(path, "")))
        columns.append(pl.Series("status", [outcome.status for outcome in self.outcomes], pl.String))
        columns += [measured_column(name, rows) for name in (*ALWAYS, *self.study.metrics)]
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
    def _overrides(self) -> list[dict[str, str]]:
        return [dict(outcome.overrides) for outcome in self.outcomes]

    def _texts(self, path: str) -> list[str | None]:
        return [row.get(path) for row in self._overrides]


_FIXED = ("point", "status", *ALWAYS, "error")
"""Columns of every study."""


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
    work, points = study.work(), study.points
    if folder is None:
        found = _run_left(points, work, {}, processes, None, on_progress)
        return StudyResult(study, [found[number] for number in sorted(found)])
    with open_study(folder, study.asked()) as journal:
        found = _run_left(points, work, journal.finished, processes, journal.add, on_progress)
        result = StudyResult(study, [found[number] for number in sorted(found)])
        journal.write_table(result.table, result.units)
    return result


def _run_left(
    points: Sequence[Point],
    work: Work,
    before: Mapping[int, Outcome],
    processes: int | None,
    keep: Callable[[Sequence[Outcome]], None] | None,
    on_progress: PointsDone | None,
) -> dict[int, Outcome]:
    """Run what is not finished; return all that is, by number. An outcome counts once it is written."""
    from time import monotonic

    from lanewise.study.pool import run_points

    finished = {number: before[number] for number in before if number < len(points)}
    fresh: list[Outcome] = []
    since = 0.0

    def tell() -> None:
        if on_progress is not None:
            on_progress(len(finished), len(points))

    def write() -> None:
        if not fresh:
            return
        if keep is not None:
            keep(fresh)
        finished.update({outcome.number: outcome for outcome in fresh})
        fresh.clear()
        tell()

    def write_in_time() -> float | None:
        left = since + _SOON_S - monotonic()
        if fresh and left <= 0:
            write()
        return left if fresh else None

    tell()
    left = [point for point in points if point.number not in finished]
    try:
        for outcome in run_points(left, work, processes, write_in_time) if left else ():
            since = since if fresh else monotonic()
            fresh.append(outcome)
            if len(fresh) >= _TOGETHER or monotonic() - since > _SOON_S:
                write()
    finally:
        write()
    return finished


def load_study(folder: Path) -> StudyResult:
    """Read what a folder has of a study, whether it is complete, was interrupted, or goes on now.

    Raises StudyFolderError for a folder that holds none. A sample is not made again: the points are as they
    were run.
    """
    study = Study.of_asked(read_asked(folder))
    finished = {outcome.number: outcome for outcome in read_finished(folder)}
    known = range(study.size)
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
        sample=document.get("sample"),
        metrics=_listed(path, document, "metrics"),
        overrides=tuple((str(key), override(value)) for key, value in overrides.items()),
    )


def make_study(
    scenario: Scenario,
    *,
    over: Sequence[str],
    seeds: int | Sequence[int] = (),
    sample: str | None = None,
    metrics: Sequence[str] = (),
    overrides: Sequence[tuple[str, str]] = (),
) -> Study:
    """Return a study of a scenario; `seeds` is how many, from 1 on, or which.

    Raises `lanewise.ScenarioError` for a scenario that cannot be resolved, and InputError for no axis.
    """
    from lanewise.runs.simulator import given, resolve

    if not over and not seeds:
        raise InputError("a study varies something: give an axis, like 'ssd.count=1..24', or seeds")
    count = seeds if isinstance(seeds, int) else len(seeds)
    if not 0 <= count <= _MOST_SEEDS:
        raise InputError(f"a study has at most {_MOST_SEEDS:,} seeds; found {count}")
    which = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else tuple(seeds)
    if len(set(which)) < len(which) or any(seed < 0 for seed in which):
        raise InputError(f"seeds are different whole numbers from 0 on; found {', '.join(map(str, which))}")
    resolve(scenario, overrides)
    name, text = given(scenario)
    if text is None:
        text = Path(name).read_text(encoding="utf-8")
    return Study(name, text, tuple(over), which, sample, tuple(metrics), tuple(overrides))


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
