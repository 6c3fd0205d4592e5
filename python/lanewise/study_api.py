"""Studies as functions: a scenario at every point of a grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.api import run_pairs
from lanewise.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from lanewise.api import Overrides
    from lanewise.runs.simulator import Scenario
    from lanewise.study.study import PointsDone, StudyResult


def sweep(
    scenario: Scenario,
    over: Mapping[str, Iterable[object]] | Sequence[str],
    *,
    seeds: int | Sequence[int] = (),
    sample: str | None = None,
    metrics: Sequence[str] = (),
    overrides: Overrides = (),
    out: str | Path | None = None,
    processes: int | None = None,
    on_progress: PointsDone | None = None,
) -> StudyResult:
    """Run a scenario at every point of a grid, on all cores.

    `scenario` is as in `run`. `over` is a mapping of paths and their values, or axes as the command line has
    them, like "ssd.count=1..24". `seeds` is how many, from 1 on, or which: the same ones at each point.
    `sample` takes points between the ends of the axes instead: "lhs:100", "sobol:128" or "random:50".
    `metrics` are numbers beside those that every study has, like "max links.utilisation where link=sw0".
    `overrides` hold at every point. `out` is the folder of the study: what is finished there is not run
    again, so that a study which was interrupted goes on. `processes` are as many as there are cores where
    nothing is said. `on_progress` hears how many points are finished and how many there are.

    A point that cannot be built is a row with its error. Raises `lanewise.ScenarioError` for a scenario that
    cannot be resolved, and `lanewise.InputError` for axes that mean nothing and for a folder of another
    study.

    >>> import lanewise
    >>> found = lanewise.sweep("scenarios/switch.toml", {"card0.link.force_width": ["x1", "x4", "x64"]})
    >>> found.table["status"].to_list()
    ['done', 'done', 'refused']
    >>> found.table["limited_by"].to_list()[:2]
    ['card0.downstream', 'sw0.downstream']
    """
    from lanewise.study.study import make_study, run_study

    study = make_study(
        scenario,
        over=_axes(over) if isinstance(over, Mapping) else list(over),
        seeds=seeds,
        sample=sample,
        metrics=metrics,
        overrides=run_pairs(overrides, None, None),
    )
    return run_study(study, None if out is None else Path(out), processes=processes, on_progress=on_progress)


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


def _axes(over: Mapping[str, Iterable[object]]) -> list[str]:
    """Write a mapping as axes."""
    from lanewise.toml import override

    axes = []
    for path, values in over.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"the values of '{path}' are a list; found {values!r}")
        axes.append(f"{path}={','.join(override(value) for value in values)}")
    return axes
