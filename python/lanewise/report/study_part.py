"""What a report says of a study: where the limit changes, what moves most, the best points, all of them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from lanewise.report.content import NUMBER, Part, Section
from lanewise.report.rows import rows_of
from lanewise.report.study_figures import MOST_SERIES, heat_map, label, lines, told, tornado, trade
from lanewise.study.knees import alike, knees
from lanewise.study.summary import effects, front, parameters, spots
from lanewise.written import DASH, fixed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.report.content import Table
    from lanewise.report.plots import Figure
    from lanewise.study.study import StudyResult
    from lanewise.study.summary import Spot

_GOODPUT, _TAIL = "goodput_gb_per_s", "latency_ns_p99"
_MOST_FIGURES = 6
_MOST_SENTENCES = 8
_MOST_PLACES = 6


def study_part(result: StudyResult, *, drawn: bool) -> Part:
    """Return what a report says of a study, complete or not."""
    paths = parameters(result)
    found = spots(result, _GOODPUT)
    failed = result.table.filter(result.table["status"] != "done")
    sections = [
        Section("In short", sentences=list(_in_short(result, found))),
        Section("Goodput", figures=list(_figures(result, found, paths)) if drawn else []),
        Section(
            "What moves it", figures=_tornado(found, paths) if drawn else [], tables=_effects(found, paths)
        ),
        Section("Goodput against latency", figures=list(_trade(result)) if drawn else []),
        Section("All points", tables=_points(result, found, paths)),
        Section(
            "Points that cannot be built, or failed",
            tables=rows_of(
                "Errors",
                (*paths, "status", "error"),
                [
                    (*(_text(row[path]) for path in paths), row["status"], str(row["error"]).splitlines()[0])
                    for row in failed.iter_rows(named=True)
                ],
            ),
        ),
        Section("What was asked", texts=[("scenario", result.study.text)]),
    ]
    return Part(
        title=f"{result.study.name}, {result.study.size} points",
        facts=list(_facts(result)),
        tiles=list(_tiles(found)),
        sections=[section for section in sections if section.says_something],
    )


def _facts(result: StudyResult) -> Iterator[tuple[str, str]]:
    study = result.study
    yield "varied", "; ".join(study.over) or "the seed"
    if study.sample:
        yield "sample", study.sample
    if study.seeds:
        yield "seeds", ", ".join(map(str, study.seeds))
    if study.overrides:
        yield "at every point", ", ".join(f"{path}={value}" for path, value in study.overrides)
    if not result.is_complete:
        yield "finished", f"{len(result.outcomes)} of {study.size} points: the study is not complete"


def _tiles(found: Sequence[Spot]) -> Iterator[tuple[str, str]]:
    if found:
        for word, spot in (
            ("most", max(found, key=lambda spot: spot.value)),
            ("least", min(found, key=lambda spot: spot.value)),
        ):
            yield f"{spot.value:.3f} GB/s", f"{word}: {label(spot, list(spot.parameters)) or 'as written'}"


def _in_short(result: StudyResult, found: Sequence[Spot]) -> Iterator[str]:
    if not found:
        yield "No point is done."
        return
    limits = dict.fromkeys(alike(spot.limited_by) for spot in found if spot.limited_by)
    if len(limits) == 1:
        yield f"The same limits all of them: {next(iter(limits))}."
    changes: dict[str, list[str]] = {}
    for knee in knees(result):
        moved = (
            f"{knee.path} from {_text(knee.before)} to {_text(knee.after)}: {knee.limit_after} limits in "
            f"place of {knee.limit_before}"
        )
        changes.setdefault(moved, []).append(
            ", ".join(f"{path}={_text(value)}" for path, value in knee.others)
        )
    for moved, places in list(changes.items())[:_MOST_SENTENCES]:
        where = "; ".join(places[:_MOST_PLACES]) + (
            f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        )
        yield f"{moved}{f' (at {where})' if where else ''}."
    if len(changes) > _MOST_SENTENCES:
        yield f"There are {len(changes) - _MOST_SENTENCES} more such changes: the table has them."


def _figures(result: StudyResult, found: Sequence[Spot], paths: Sequence[str]) -> Iterator[Figure]:
    """Draw lines along the numeric parameter with most values, or a heat map where a second one has many."""
    if not found or not paths:
        return
    counts = {path: len({spot.parameters[path] for spot in found}) for path in paths}
    numeric = [path for path in paths if result.table.schema[path].is_numeric() and counts[path] > 1]
    order = sorted(numeric, key=lambda path: -counts[path])
    if not order:
        return
    x = order[0]
    others = [path for path in paths if path != x and counts[path] > 1]
    series = [path for path in others if counts[path] <= MOST_SERIES]
    if result.study.sample is not None:
        return
    if not others or (len(others) == 1 and series):
        yield lines(found, (x, heading(result, x)), series, "GB/s")
        return
    y = max(others, key=lambda path: counts[path])
    rest = [path for path in others if path != y]
    ordered = sorted(found, key=lambda spot: label(spot, rest))
    for number, (name, group) in enumerate(groupby(ordered, key=lambda spot: label(spot, rest))):
        if number == _MOST_FIGURES:
            break
        figure = heat_map(list(group), (x, heading(result, x)), (y, heading(result, y)), "GB/s")
        yield type(figure)(name or figure.title, figure.caption, figure.svg)


def heading(result: StudyResult, path: str) -> str:
    """Return a parameter with its unit."""
    return f"{path} ({result.units[path]})" if path in result.units else path


def _tornado(found: Sequence[Spot], paths: Sequence[str]) -> list[Figure]:
    moved = effects(found, paths)
    return [tornado(moved, "GB/s")] if len(moved) > 1 else []


def _effects(found: Sequence[Spot], paths: Sequence[str]) -> list[Table]:
    rows = [
        (
            effect.path,
            f"{effect.least[1]:.3f}",
            _text(effect.least[0]),
            f"{effect.most[1]:.3f}",
            _text(effect.most[0]),
        )
        for effect in effects(found, paths)
    ]
    columns = ("parameter", "#least, GB/s", "at", "#most, GB/s", "at")
    return rows_of("Mean goodput by parameter", columns, rows, "the mean over all other parameters")


def _trade(result: StudyResult) -> Iterator[Figure]:
    rates = {_key(spot): spot for spot in spots(result, _GOODPUT)}
    points = [
        (rates[_key(spot)].value, spot.value / 1e3, told(rates[_key(spot)], "GB/s"))
        for spot in spots(result, _TAIL)
        if _key(spot) in rates
    ]
    if len(points) > 2:
        yield trade(points, front([(x, y) for x, y, _ in points]))


def _key(spot: Spot) -> tuple[object, ...]:
    return tuple(spot.parameters.values())


def _points(result: StudyResult, found: Sequence[Spot], paths: Sequence[str]) -> list[Table]:
    tails = {_key(spot): spot.value for spot in spots(result, _TAIL)}
    rows = [
        (
            *(_text(spot.parameters[path]) for path in paths),
            f"{spot.value:.3f}",
            DASH if spot.half_width is None else f"{spot.half_width:.3f}",
            fixed(None if _key(spot) not in tails else tails[_key(spot)] / 1e3, 2),
            DASH if spot.limited_by is None else alike(spot.limited_by),
        )
        for spot in found
    ]
    names = tuple(
        f"{NUMBER if index and result.table.schema[path].is_numeric() else ''}{heading(result, path)}"
        for index, path in enumerate(paths)
    )
    columns = (*names, "#GB/s", "#±", "#p99, us", "limited by")
    note = "±: half of the 95 % interval over the seeds" if result.study.seeds else ""
    return rows_of("Points", columns, rows, note)


def _text(value: object) -> str:
    return DASH if value is None else f"{value:g}" if isinstance(value, float) else str(value)
