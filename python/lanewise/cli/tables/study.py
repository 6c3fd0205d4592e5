"""Studies in the terminal: the table of points, and where the limit changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from lanewise.cli.console import stdout
from lanewise.cli.tables.style import GB_PER_S
from lanewise.study.knees import alike, knees
from lanewise.study.sobol import all_indices
from lanewise.written import DASH, plain, with_unit

if TYPE_CHECKING:
    import polars as pl

    from lanewise.study.knees import Knee
    from lanewise.study.study import StudyResult

_MOST_ROWS = 40
"""More are not read in a terminal: the table is in the folder."""
_MOST_KNEES = 12


def print_study(result: StudyResult, *, everything: bool) -> None:
    """Print the points, then where along an axis another thing becomes the limit; of a search the best."""
    if result.study.search is None:
        _print_points(result, everything=everything)
        _print_knees(result, knees(result))
        _print_indices(result)
    else:
        from lanewise.cli.tables.search import print_search

        if everything:
            _print_points(result, everything=True)
            stdout().print()
        print_search(result)
    _print_errors(result)


def _print_points(result: StudyResult, *, everything: bool) -> None:
    console = stdout()
    paths = result.study.paths
    table = Table(box=None, pad_edge=False, header_style="bold")
    for path in paths:
        unit = result.units.get(path)
        is_number = result.table.schema[path].is_numeric()
        heading = f"{path}{f' ({unit})' if unit else ''}"
        table.add_column(heading, justify="right" if is_number else "left", overflow="fold")
    for heading in ("GB/s", "p99 (us)", *result.study.metrics):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("limited by", overflow="fold")
    shown = result.table if everything else result.table.head(_MOST_ROWS)
    for row in shown.iter_rows(named=True):
        table.add_row(*(plain(row[path]) for path in paths), *_given(row, result.study.metrics))
    console.print(table)
    if shown.height < result.table.height:
        console.print(
            f"The first {shown.height} of {result.table.height} points; --all prints all.", style="dim"
        )
    console.print(f"{GB_PER_S}.", style="dim")


def _given(row: dict[str, object], metrics: tuple[str, ...]) -> list[str]:
    if row["status"] != "done":
        return [DASH, DASH, *(DASH for _ in metrics), str(row["status"])]
    goodput, p99 = row["goodput_gb_per_s"], row["latency_ns_p99"]
    assert isinstance(goodput, float)
    latency = f"{p99 / 1e3:.2f}" if isinstance(p99, float) else DASH
    limit = row["limited_by"]
    return [
        f"{goodput:.3f}",
        latency,
        *(plain(row[name]) for name in metrics),
        alike(str(limit)) if limit else DASH,
    ]


def _print_errors(result: StudyResult) -> None:
    """Say of points that cannot be built, that failed or that lack a metric, why; of many alike once."""
    told: dict[tuple[str, str], list[dict[str, object]]] = {}
    for row in result.table.filter(result.table["error"].is_not_null()).iter_rows(named=True):
        status = _WHAT_IS_WRONG[str(row["status"])]
        told.setdefault((status, _first_problem(str(row["error"]))), []).append(row)
    console = stdout()
    for (status, error), rows in list(told.items())[:_MOST_ERRORS]:
        at = ", ".join(
            f"{path}={with_unit(rows[0][path], result.units.get(path))}"
            for path in result.study.paths
            if rows[0][path] is not None
        )
        where = f"at {at}" if len(rows) == 1 else f"{len(rows)} points, the first at {at}"
        console.print(f"\n{status}, {where}: {error}", soft_wrap=True)
    if len(told) > _MOST_ERRORS:
        console.print(f"\nand {len(told) - _MOST_ERRORS} more: column 'error' has them.", style="dim")


def _first_problem(error: str) -> str:
    """Return the first of the problems that an error lists, and its hint, on one line."""
    first, *rest = error.partition("\n\n")[0].splitlines()
    hints = [line.partition("= hint: ")[2] for line in rest if "= hint: " in line]
    return "; ".join([first, *hints])


_MOST_ERRORS = 6
_WHAT_IS_WRONG = {"done": "without a metric", "refused": "refused", "failed": "failed"}
"""By status, of points with an error."""


def _print_knees(result: StudyResult, found: list[Knee]) -> None:
    if not found:
        return
    console = stdout()
    console.print("\nWhere the limit changes", style="bold")
    for knee in found[:_MOST_KNEES]:
        units = result.units
        where = "".join(f", {path}={with_unit(value, units.get(path))}" for path, value in knee.others)
        unit = units.get(knee.path)
        between = f"{knee.path} from {plain(knee.before)} to {with_unit(knee.after, unit)}{where}"
        console.print(f"  {between}: {knee.limit_before} → {knee.limit_after}", soft_wrap=True)
    if len(found) > _MOST_KNEES:
        console.print(f"  and {len(found) - _MOST_KNEES} more", style="dim")


def _print_indices(result: StudyResult) -> None:
    for number, found in all_indices(result).items():
        stdout().print(f"\nSobol indices of {number}", style="bold")
        if isinstance(found, str):
            stdout().print(f"  none: {found}", soft_wrap=True)
            continue
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("parameter", overflow="fold")
        for heading in ("alone", "95 %", "with others", "95 %"):
            table.add_column(heading, justify="right")
        for index in sorted(found, key=lambda index: -index.total):
            alone, together = (
                f"{low:z.2f}..{high:z.2f}" for low, high in (index.first_interval, index.total_interval)
            )
            table.add_row(index.axis, f"{index.first:z.3f}", alone, f"{index.total:z.3f}", together)
        stdout().print(table)


def print_answer(table: pl.DataFrame) -> None:
    """Print what a query gave."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name, kind in table.schema.items():
        shown.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in table.iter_rows():
        shown.add_row(*map(plain, row))
    stdout().print(shown)
