"""Studies as functions: a scenario at every point of a grid, or a search for its best ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.api import run_pairs
from lanewise.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from lanewise.api import Overrides
    from lanewise.runs.simulator import Scenario
    from lanewise.study.axes import Axis
    from lanewise.study.running import PointsDone
    from lanewise.study.study import StudyResult


def sweep(
    scenario: Scenario,
    over: Mapping[str, Iterable[object]] | Sequence[str] = (),
    *,
    seeds: int | Sequence[int] = (),
    sample: str | None = None,
    metrics: Sequence[str] = (),
    overrides: Overrides = (),
    out: str | Path | None = None,
    processes: int | None = None,
    ray: str | None = None,
    on_progress: PointsDone | None = None,
    on_note: Callable[[str], None] | None = None,
) -> StudyResult:
    """Run a scenario at every point of a grid, on all cores.

    `scenario` is as in `run`, or the path of a study file, which says all that is asked, a search included:
    then nothing else says what is asked. `over` is a mapping of paths and their values, each taken as it is,
    or axes as the command line has them, like "ssd.count=1..24". `seeds` is how many, from 1 on, or which:
    the same ones at each point.
    `sample` takes points between the ends of the axes instead: "lhs:100", "sobol:128" or "random:50"; with
    "saltelli:64", which takes 64 for each axis and twice 64 more, the result has ``sobol_indices``.
    `metrics` are numbers beside those that every study has, like "max links.utilisation where link=sw0".
    `overrides` hold at every point. `out` is the folder of the study: what is finished there is not run
    again, so that a study which was interrupted goes on. `processes` are as many as there are cores where
    nothing is said. `on_progress` hears how many points are finished and how many there are.

    `ray` runs the points on a Ray cluster: "ray://HOST:10001", "HOST:6379" on one of its nodes, "auto" for
    the one that runs on this machine or that RAY_ADDRESS names, "local" for one that is started on this
    machine. Results are the same, bit for bit. `processes` are then at most so many on each node, and
    `on_note` hears of nodes that are lost. Needs the extra ``cluster``.

    A point that cannot be built is a row with its error. Raises `lanewise.ScenarioError` for a scenario that
    cannot be resolved, and `lanewise.InputError` for axes that mean nothing, for a folder of another study,
    and for a cluster that cannot be used: it is not there, a node has another Ray or Lanewise, or none is
    left.

    >>> import lanewise
    >>> found = lanewise.sweep("scenarios/switch.toml", {"card0.link.force_width": ["x1", "x4", "x64"]})
    >>> found.table["status"].to_list()
    ['done', 'done', 'refused']
    >>> found.table["limited_by"].to_list()[:2]
    ['card0.downstream', 'sw0.downstream']
    """
    from lanewise.study.running import run_study
    from lanewise.study.study_file import study_asked

    study = study_asked(
        scenario,
        over=_axes(over),
        seeds=seeds,
        sample=sample,
        metrics=metrics,
        overrides=run_pairs(overrides, None, None),
    )
    folder = None if out is None else Path(out)
    return run_study(study, folder, processes=processes, ray=ray, on_progress=on_progress, on_note=on_note)


def search(
    scenario: Scenario,
    over: Mapping[str, Iterable[object]] | Sequence[str],
    *,
    maximize: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    subject_to: str | Sequence[str] = (),
    trials: int = 100,
    search_seed: int = 0,
    batch: int = 8,
    seeds: int | Sequence[int] = (),
    metrics: Sequence[str] = (),
    overrides: Overrides = (),
    out: str | Path | None = None,
    processes: int | None = None,
    ray: str | None = None,
    on_progress: PointsDone | None = None,
    on_note: Callable[[str], None] | None = None,
) -> StudyResult:
    """Search a grid for its best points, on all cores: ``lanewise sweep --maximize``.

    `scenario`, `over`, `seeds`, `metrics`, `overrides`, `out`, `processes`, `ray`, `on_progress` and
    `on_note` are as in `sweep`; with several seeds a trial's numbers are means over them. `maximize` and
    `minimize` are numbers: "goodput" (GB/s), "operations" (1/s), "mean_us", "p99_us", "lanes", or what
    `metrics` takes. `subject_to` are limits: "lanes<=96, p99_us<200". No point is tried twice; there are at
    most `trials` trials. `batch` of them are chosen at once: the result depends on it, on `search_seed`, and
    on the versions of Optuna and NumPy, and on nothing else of the machine. ``best`` of the result has the
    best trials: one, or with several goals the Pareto front. Needs the extra ``search``.

    Raises `lanewise.ScenarioError` and `lanewise.InputError` as `sweep` does, the latter for goals and limits
    that mean nothing, too.

    >>> import lanewise
    >>> found = lanewise.search(
    ...     "scenarios/switch.toml", ["card0.link.force_width=x1,x2,x4"], maximize="goodput", trials=3
    ... )
    >>> found.best[0].parameters
    {'card0.link.force_width': 'x4'}
    """
    from lanewise.study.running import run_study
    from lanewise.study.search import Search
    from lanewise.study.study import make_study

    study = make_study(
        scenario,
        over=_axes(over),
        seeds=seeds,
        search=Search(
            _several(maximize), _several(minimize), _several(subject_to), trials, search_seed, batch
        ),
        metrics=metrics,
        overrides=run_pairs(overrides, None, None),
    )
    folder = None if out is None else Path(out)
    return run_study(study, folder, processes=processes, ray=ray, on_progress=on_progress, on_note=on_note)


def load_study(folder: str | Path) -> StudyResult:
    """Read the folder of a study, whether it is complete, was interrupted, or goes on now.

    Raises `lanewise.InputError` for a `folder` that holds none.
    """
    from lanewise.study.study import load_study as load

    return load(Path(folder))


def query_study(folder: str | Path, sql: str) -> pl.DataFrame:
    """Ask the table ``points`` of a study in SQL, as DuckDB has it. Needs the extra ``serve``.

    `sql` is one query; the rows come back with its columns. Raises `lanewise.InputError` for a `folder` that
    holds no study, and for a query that DuckDB refuses.
    """
    from lanewise.study.query import ask

    return ask(load_study(folder), sql)


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _axes(over: Mapping[str, Iterable[object]] | Sequence[str]) -> list[str | Axis]:
    """Return axes as they are written, or those of a mapping, whose values are taken as they are."""
    from lanewise.study.axes import axis_of
    from lanewise.toml import override

    if not isinstance(over, Mapping):
        return list(over)
    axes: list[str | Axis] = []
    for path, values in over.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"the values of '{path}' are a list; found {values!r}")
        axes.append(axis_of(path, [override(value) for value in values]))
    return axes
