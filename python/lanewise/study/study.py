"""A study: what is asked, doing it, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.study.axes import Axis, parse_axis
from lanewise.study.columns import measured_column, parameter_column, unit_of_values
from lanewise.study.measures import ALWAYS, GOODPUT, Measure, unit_of_measure
from lanewise.study.points import SEED, Point, check, grid, sample_size, samplers
from lanewise.study.points import sample as sampled
from lanewise.study.search import Search, makers
from lanewise.study.store import StudyFolderError, read_asked, read_finished
from lanewise.study.trials import OF_TRIALS, best_of, search_document, trial_columns, trials_of
from lanewise.study.worker import Outcome, Work
from lanewise.written import counted, in_short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from lanewise.results import ExplainResult
    from lanewise.runs.simulator import Scenario
    from lanewise.study.sobol import SobolIndex
    from lanewise.study.trials import Trial

_MOST_SEEDS = 10_000
RUN_UNTIL = "run.until"
UNTIL_LATENCY = (RUN_UNTIL, "latency")
"""What has a run go on until its 99th percentiles are known, as they are not where throughput is alone."""


@dataclass(frozen=True)
class Study:
    """What a study asks."""

    name: str
    """What messages call the scenario."""
    text: str
    """The scenario."""
    over: tuple[str | Axis, ...]
    """Axes, as they are written, or as they are."""
    seeds: tuple[int, ...] = ()
    """The same ones at each point; none means the scenario's own."""
    sample: str | None = None
    """A sample instead of the grid, like ``lhs:100``."""
    metrics: tuple[str, ...] = ()
    """Numbers beside those that every study has."""
    overrides: tuple[tuple[str, str], ...] = ()
    """Of all points."""
    search: Search | None = None
    """Trials that are chosen one after another, instead of all points."""

    @property
    def goes_on_for_percentiles(self) -> bool:
        """Whether runs go on until percentiles are known because the search asks for them."""
        return self.search is not None and self.search.needs_percentiles and UNTIL_LATENCY in self.overrides

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes. AxisError for one that means nothing."""
        return tuple(
            parse_axis(axis, is_sampled=self.sample is not None) if isinstance(axis, str) else axis
            for axis in self.over
        )

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
        """The points, in their order; those of a search are not known before.

        InputError for axes that do not go together. A sample needs the extra ``calibrate``.
        """
        assert self.search is None
        made = (
            grid(self.axes, self.seeds)
            if self.sample is None
            else sampled(self.axes, self.seeds, self.sample)
        )
        return [replace(point, overrides=(*self.overrides, *point.overrides)) for point in made]

    @cached_property
    def size(self) -> int:
        """How many points there are; none of a sample or a search is made for that."""
        if self.search is not None:
            return self.search.size(self.axes) * max(len(self.seeds), 1)
        if self.sample is None:
            return len(self.points)
        return sample_size(self.sample, len(self.axes)) * max(len(self.seeds), 1)

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
        return Work(self.name, self.text, self.metrics, self._own_parts)

    def asked(self) -> dict[str, object]:
        """Return all that determines the results, as JSON has it."""
        from lanewise import __version__
        from lanewise.runs.cache import core_hash

        return {
            "name": self.name,
            "axes": [
                axis
                if isinstance(axis, str)
                else {"paths": list(axis.paths), "rows": [list(row) for row in axis.rows]}
                for axis in self.over
            ],
            "sample": self.sample,
            "samplers": self._makers(),
            "seeds": list(self.seeds),
            "measures": list(self.metrics),
            "overrides": [list(pair) for pair in self.overrides],
            "search": None if self.search is None else self.search.asked(),
            "lanewise_version": __version__,
            "core": core_hash(),
            "scenario": self.text,
            **({"own_parts": own} if (own := self._own_parts) else {}),
        }

    @cached_property
    def _own_parts(self) -> dict[str, str]:
        """Texts of files with parts that the scenario, an override or an axis names; a file may change."""
        from lanewise.kept import part_files

        of_axes = [
            pair for axis in self.axes for row in axis.rows for pair in zip(axis.paths, row, strict=True)
        ]
        return part_files(self.name, self.text, [*self.overrides, *of_axes])

    def _makers(self) -> str | None:
        if self.search is not None:
            return makers()
        return None if self.sample is None else samplers()

    @classmethod
    def of_asked(cls, asked: Mapping[str, object]) -> Study:
        """Return the study that a folder keeps; StudyFolderError for what is none."""
        try:
            return cls(
                str(asked["name"]),
                str(asked["scenario"]),
                tuple(map(_axis, _list(asked["axes"]))),
                tuple(int(str(seed)) for seed in _list(asked["seeds"])),
                None if asked["sample"] is None else str(asked["sample"]),
                _texts(asked["measures"]),
                tuple((str(path), str(value)) for path, value in map(_list, _list(asked["overrides"]))),
                Search.of_asked(asked.get("search")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StudyFolderError(f"the study is damaged: what it asks lacks or mistakes {error}") from error


@dataclass(frozen=True, eq=False)
class StudyResult:
    """What came of a study, as far as it is."""

    study: Study
    outcomes: Sequence[Outcome]
    """Of finished points, in the order of the points."""

    def __repr__(self) -> str:
        """Say what was varied, and how much is done."""
        done = f"{len(self.outcomes)} of {counted(self.study.size, 'point')} finished"
        return in_short(self, self.study.name, ", ".join(self.study.paths), done)

    @property
    def is_complete(self) -> bool:
        """Whether every point is finished."""
        return len(self.outcomes) == self.study.size

    @cached_property
    def units(self) -> dict[str, str]:
        """Units of axes whose values are numbers, by path."""
        return {path: unit for path in self.study.paths if (unit := unit_of_values(self._texts(path)))}

    @property
    def units_of_columns(self) -> dict[str, str]:
        """Units of axes and of metrics, '' for one without; other columns state theirs in their names."""
        return {**{name: unit_of_measure(name) for name in self.study.metrics}, **self.units}

    @cached_property
    def trials(self) -> list[Trial]:
        """Of a search its trials, as far as all runs of one are finished; none of other studies."""
        return trials_of(self)

    @property
    def best(self) -> list[Trial]:
        """Of a search the trials that keep all limits and that no other such one beats.

        One, or those that are as good; with several goals the Pareto front, the best in the first goal first.
        """
        return [] if self.study.search is None else best_of(self.trials, self.study.search.goals)

    def sobol_indices(self, number: str = GOODPUT) -> list[SobolIndex]:
        """Return the Sobol indices of a number of the table, one for each axis, of a sample ``saltelli:N``.

        InputError for a study that has none, with the reason. Needs the extra ``calibrate``.
        """
        from lanewise.study.sobol import indices

        return indices(self, number)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each finished point: number, parameters, `status`, what is kept of it, and `error`.

        Parameters are numbers where all values are, in the unit of the first, and texts otherwise. `status`
        is `done`, `refused` (it cannot be built) or `failed`. A metric that a run does not have is null, and
        `error` says so.
        """
        import polars as pl

        rows = [outcome.row for outcome in self.outcomes]
        columns: list[pl.Series] = [
            pl.Series("point", [outcome.number for outcome in self.outcomes], pl.Int64)
        ]
        for path in self.study.paths:
            columns.append(parameter_column(path, self._texts(path), self.units.get(path, "")))
        columns.append(pl.Series("status", [outcome.status for outcome in self.outcomes], pl.String))
        if self.study.search is not None:
            columns += trial_columns(self)
        columns += [measured_column(name, rows) for name in (*ALWAYS, *self.study.metrics)]
        columns.append(pl.Series("error", [outcome.error for outcome in self.outcomes], pl.String))
        return pl.DataFrame(columns)

    def to_document(self) -> dict[str, object]:
        """Return the study as ``sweep --json`` prints it: axes, units, rows of the points, and the knees."""
        from dataclasses import asdict

        from lanewise.output_format import stamped
        from lanewise.study.knees import knees
        from lanewise.study.sobol import all_indices, for_json

        return stamped(
            {
                "scenario": self.study.name,
                "axes": [{"paths": list(axis.paths), "values": len(axis.rows)} for axis in self.study.axes],
                "units": self.units,
                "is_complete": self.is_complete,
                "points": self.table.to_dicts(),
                "knees": [{**asdict(knee), "others": dict(knee.others)} for knee in knees(self)],
                **search_document(self),
                **for_json(all_indices(self)),
            }
        )

    @cached_property
    def _overrides(self) -> list[dict[str, str]]:
        return [dict(outcome.overrides) for outcome in self.outcomes]

    def _texts(self, path: str) -> list[str | None]:
        return [row.get(path) for row in self._overrides]


_FIXED = ("point", "status", *OF_TRIALS, *ALWAYS, "error")
"""Columns of every study, and those of a search."""


def load_study(folder: Path) -> StudyResult:
    """Read what a folder has of a study, whether it is complete, was interrupted, or goes on now.

    Raises StudyFolderError for a folder that holds none. A sample is not made again: the points are as they
    were run.
    """
    study = Study.of_asked(read_asked(folder))
    finished = {outcome.number: outcome for outcome in read_finished(folder)}
    known = range(study.size)
    return StudyResult(study, [finished[number] for number in sorted(finished) if number in known])


def make_study(
    scenario: Scenario,
    *,
    over: Sequence[str | Axis],
    seeds: int | Sequence[int] = (),
    sample: str | None = None,
    search: Search | None = None,
    metrics: Sequence[str] = (),
    overrides: Sequence[tuple[str, str]] = (),
) -> Study:
    """Return a study of a scenario; `seeds` is how many, from 1 on, or which.

    What a search is after is kept of each run, too; where that is a percentile, runs go on until theirs are
    known, unless the scenario or an override says until when they go on.

    Raises `lanewise.ScenarioError` for a scenario that cannot be resolved, and InputError for no axis.
    """
    from lanewise.runs.simulator import given, resolve

    # First: of a file that is broken it is not known what it would say.
    explained = resolve(scenario, overrides)
    if not over and not seeds:
        raise InputError("a study varies something: give an axis, like 'ssd.count=1..24', or seeds")
    count = seeds if isinstance(seeds, int) else len(seeds)
    if not 0 <= count <= _MOST_SEEDS:
        raise InputError(f"a study has at most {_MOST_SEEDS:,} seeds; found {count}")
    which = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else tuple(seeds)
    if len(set(which)) < len(which) or any(seed < 0 for seed in which):
        raise InputError(f"seeds are different whole numbers from 0 on; found {', '.join(map(str, which))}")
    name, text = given(scenario)
    if text is None:
        text = Path(name).read_text(encoding="utf-8")
    if search is not None:
        if sample is not None:
            raise InputError("a search chooses its points itself: leave out the sample")
        axes = tuple(parse_axis(axis) if isinstance(axis, str) else axis for axis in over)
        check(axes, which)
        search.check(axes)
        metrics = tuple(dict.fromkeys((*metrics, *search.measures)))
        if search.needs_percentiles and _is_default(explained, RUN_UNTIL, axes):
            overrides = (*overrides, UNTIL_LATENCY)
    return Study(name, text, tuple(over), which, sample, tuple(metrics), tuple(overrides), search)


def _is_default(explained: ExplainResult, path: str, axes: Sequence[Axis]) -> bool:
    """Whether nothing sets a parameter: neither the scenario or an override, nor an axis."""
    places = [each["place"] for each in explained.document["parameters"] if each["path"] == path]
    return places == ["default"] and not any(path in axis.paths for axis in axes)


def _axis(value: object) -> str | Axis:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise TypeError(f"{value!r}")
    paths, rows = _texts(value["paths"]), tuple(map(_texts, _list(value["rows"])))
    if not paths or not rows or any(len(row) != len(paths) for row in rows):
        raise ValueError(f"{value!r}")
    return Axis(paths, rows)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(each) for each in _list(value))
