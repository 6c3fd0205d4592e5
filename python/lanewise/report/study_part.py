"""What a report says of a study: where the limit changes, what moves most, the best points, all of them."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from lanewise.report.content import NUMBER, Part, Section
from lanewise.report.rows import rows_of
from lanewise.report.search_part import search_facts, search_sections, search_tiles
from lanewise.report.sobol_part import sobol_section
from lanewise.report.study_figures import MOST_SERIES, heat_map, label, lines, told, tornado, trade
from lanewise.study.knees import alike, apart, changes, knees
from lanewise.study.measures import GOODPUT, TAIL
from lanewise.study.summary import effects, front, not_told, spots
from lanewise.written import DASH, counted, fixed, plain, with_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.report.content import Table
    from lanewise.report.plots import Figure
    from lanewise.study.study import StudyResult
    from lanewise.study.summary import Effect, Spot

_MOST_FIGURES = 6
_MOST_SENTENCES = 8
_MOST_PLACES = 6


def study_part(result: StudyResult, *, drawn: bool) -> Part:
    """Return what a report says of a study, complete or not."""
    paths = result.study.parameters
    found = spots(result, GOODPUT)
    failed = result.table.filter(result.table["status"] != "done")
    figures, left_out = _figures(result, found) if drawn else ([], 0)
    # A search has more trials where it is good: means over them say nothing of a parameter.
    is_sample, is_search = result.study.sample is not None, result.study.search is not None
    moved = (
        []
        if is_search
        else effects(found, paths, is_sample=is_sample, apart=lambda path: apart(result.study, path))
    )
    has_front = result.study.search is not None and len(result.study.search.goals) > 1
    sections = [
        Section("In short", sentences=list(_in_short(result, found))),
        *search_sections(result, drawn=drawn),
        Section("Goodput", sentences=list(_left_out(left_out)), figures=figures),
        Section(
            "What moves it",
            sentences=[] if is_search else list(_not_compared(found, paths, moved, len(failed), is_sample)),
            figures=_tornado(moved, found) if drawn else [],
            tables=_effects(moved, is_sample),
        ),
        sobol_section(result, drawn=drawn),
        Section("Goodput against latency", figures=list(_trade(result)) if drawn and not has_front else []),
        Section("All points", tables=_points(result, found, paths)),
        Section(
            "Points that cannot be built, or failed",
            tables=rows_of(
                "Errors",
                (*paths, "status", "error"),
                [
                    (*(plain(row[path]) for path in paths), row["status"], str(row["error"]).splitlines()[0])
                    for row in failed.iter_rows(named=True)
                ],
            ),
        ),
        Section("What was asked", texts=[("scenario", result.study.text)]),
    ]
    return Part(
        title=f"{result.study.name}, {result.study.size} points",
        facts=list(_facts(result)),
        tiles=list(_tiles(found) if result.study.search is None else search_tiles(result)),
        sections=[section for section in sections if section.says_something],
    )


def _facts(result: StudyResult) -> Iterator[tuple[str, str]]:
    study = result.study
    yield (
        "varied",
        "; ".join(axis if isinstance(axis, str) else axis.text for axis in study.over) or "the seed",
    )
    if study.search is not None:
        yield from search_facts(study.search)
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
        yield f"All of them have the same limit: {next(iter(limits))}."
    changes: dict[str, list[str]] = {}
    units = result.units
    for knee in knees(result):
        to = with_unit(knee.after, units.get(knee.path))
        moved = (
            f"{knee.path} from {plain(knee.before)} to {to}: {knee.limit_after} limits in place of "
            f"{knee.limit_before}"
        )
        changes.setdefault(moved, []).append(
            ", ".join(f"{path}={with_unit(value, units.get(path))}" for path, value in knee.others)
        )
    for moved, places in list(changes.items())[:_MOST_SENTENCES]:
        where = "; ".join(places[:_MOST_PLACES]) + (
            f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        )
        yield f"{moved}{f' (at {where})' if where else ''}."
    if len(changes) > _MOST_SENTENCES:
        yield f"There are {len(changes) - _MOST_SENTENCES} more such changes: the table has them."


def _figures(result: StudyResult, found: Sequence[Spot]) -> tuple[list[Figure], int]:
    """Draw lines along the numeric parameter with most values, or heat maps where a second one has many.

    Returns how many maps are left out, too.
    """
    counts = {
        path: len({spot.parameters[path] for spot in found} - {None}) for path in result.study.parameters
    }
    numeric = [path for path in counts if result.table.schema[path].is_numeric() and counts[path] > 1]
    is_grid = result.study.sample is None and result.study.search is None
    if not is_grid or not numeric:
        return [], 0
    x = max(numeric, key=lambda path: counts[path])
    apart_x = apart(result.study, x)
    others = [path for path in apart_x if counts[path] > 1]
    if not others or (len(others) == 1 and counts[others[0]] <= MOST_SERIES):
        turns = changes(found, x, apart_x)
        return [lines(found, (x, heading(result, x)), others, "GB/s", turns)], 0
    y = max(others, key=lambda path: counts[path])
    rest = [path for path in others if path in apart(result.study, y)]
    groups: dict[str, list[Spot]] = {}
    for spot in found:
        groups.setdefault(label(spot, rest), []).append(spot)
    maps = [
        (name, group)
        for name, group in groups.items()
        if any(spot.parameters[x] is not None for spot in group)
    ]
    figures = []
    for name, group in maps[:_MOST_FIGURES]:
        figure = heat_map(group, (x, heading(result, x)), (y, heading(result, y)), "GB/s")
        figures.append(replace(figure, title=name or figure.title))
    return figures, len(maps) - len(figures)


def _left_out(maps: int) -> Iterator[str]:
    if maps:
        left = f"left out: {counted(maps, 'map')}"
        yield f"The first {_MOST_FIGURES} maps are drawn; {left}. The table has all points."


def heading(result: StudyResult, path: str) -> str:
    """Return a parameter with its unit."""
    return f"{path} ({result.units[path]})" if path in result.units else path


def _tornado(moved: Sequence[Effect], found: Sequence[Spot]) -> list[Figure]:
    return [tornado(moved, "GB/s", fmean(spot.value for spot in found))] if len(moved) > 1 else []


def _not_compared(
    found: Sequence[Spot], paths: Sequence[str], moved: Sequence[Effect], failed: int, is_sample: bool
) -> Iterator[str]:
    """Say what means leave out, and which parameters cannot be told from others."""
    if is_sample and failed:
        yield f"Means are without {counted(failed, 'point')} that came to nothing, and may be unlike others."
    for effect in moved:
        if effect.left_out:
            yield (
                f"{effect.path}: {counted(effect.left_out, 'combination')} left out, which other values of "
                "it do not have."
            )
    for path in not_told(found, paths, moved):
        yield (
            f"What {path} moves cannot be told from what others do: no combination of them has all of its "
            "values."
        )


def _effects(moved: Sequence[Effect], is_sample: bool) -> list[Table]:
    rows = [
        (
            effect.path,
            f"{effect.least[1]:.3f}",
            with_unit(effect.least[0], effect.unit),
            f"{effect.most[1]:.3f}",
            with_unit(effect.most[0], effect.unit),
        )
        for effect in moved
    ]
    columns = ("parameter", "#least, GB/s", "at", "#most, GB/s", "at")
    note = (
        "the mean over all other parameters"
        if is_sample
        else "the mean over the combinations of all others that each of its values has"
    )
    return rows_of("Mean goodput by parameter", columns, rows, note)


def _trade(result: StudyResult) -> Iterator[Figure]:
    rates = {_key(spot): spot for spot in spots(result, GOODPUT)}
    points = [
        (rates[_key(spot)].value, spot.value / 1e3, told(rates[_key(spot)], "GB/s"))
        for spot in spots(result, TAIL)
        if _key(spot) in rates
    ]
    if len(points) > 2:
        yield trade(points, front([(x, y) for x, y, _ in points]))


def _key(spot: Spot) -> tuple[object, ...]:
    return tuple(spot.parameters.values())


def _points(result: StudyResult, found: Sequence[Spot], paths: Sequence[str]) -> list[Table]:
    tails = {_key(spot): spot.value for spot in spots(result, TAIL)}
    rows = [
        (
            *(plain(spot.parameters[path]) for path in paths),
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
