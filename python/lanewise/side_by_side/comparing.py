"""Runs what is to be run, and sets everything side by side.

Everything that can be wrong with a side is said before anything is simulated.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from lanewise.comparison import Comparison, compare_runs, names_of
from lanewise.errors import InputError, ScenarioError
from lanewise.health.judge.matching import MEASURED, class_of
from lanewise.runs.simulator import called, resolve, simulate
from lanewise.side_by_side import said
from lanewise.side_by_side.explained import explain
from lanewise.side_by_side.found import of_measurement
from lanewise.side_by_side.given import read
from lanewise.side_by_side.rows import is_of, matched
from lanewise.side_by_side.several import LETTERS, Side, SideBySide
from lanewise.side_by_side.simulated import as_measured, of_flows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.results import ExplainResult, RunResult
    from lanewise.runs.simulator import Scenario
    from lanewise.side_by_side.explained import Explanation, Watch
    from lanewise.side_by_side.found import Found
    from lanewise.side_by_side.given import Given
    from lanewise.side_by_side.rows import Row
    from lanewise.tools.instruments.measurement import Measurement

_MOST_LISTED = 4


def compare_sides(
    sides: Sequence[Scenario | RunResult | Measurement],
    *,
    overrides: Sequence[tuple[str, str]] = (),
    own: Sequence[Sequence[tuple[str, str]]] = (),
    wanted: bool | None = None,
    progress: Watch = None,
) -> Comparison | SideBySide:
    """Set sides side by side; `own` are overrides of the first sides, `wanted` as in `explained.explain`."""
    if len(sides) > len(LETTERS):
        raise InputError(
            f"{len(sides)} sides are more than the {len(LETTERS)} that a table can show; "
            "'lanewise sweep' runs a scenario at many points"
        )
    given = [read(side) for side in sides]
    given = [
        _with_overrides(each, overrides, mine) for each, mine in zip(given, _filled(own, sides), strict=True)
    ]
    if overrides and all(each.scenario is None for each in given):
        _refuse_overrides(given[0], is_own=False)
    given = [_checked(each) for each in given]
    _refuse_other_tools(given)
    done = [_run(each, progress) for each in given]
    explanations = _explained_to_first(done, wanted, progress)
    if len(done) == 2 and all(each.run is not None for each in done):
        return _of_two(done, explanations)
    return _several(done, explanations)


def _explained_to_first(
    done: Sequence[Given], wanted: bool | None, progress: Watch
) -> tuple[Explanation | None, ...]:
    """Say of each side after the first what explains its difference; None where it is not two runs."""
    first = done[0]
    return tuple(
        None
        if first.run is None or each.run is None
        else explain(
            first.run,
            each.run,
            wanted=wanted,
            made_here=first.scenario is not None and each.scenario is not None,
            progress=progress,
            letters=("A", letter),
        )
        for each, letter in zip(done[1:], LETTERS[1:], strict=False)
    )


def _of_two(done: Sequence[Given], explanations: Sequence[Explanation | None]) -> Comparison:
    a, b = done
    assert a.run is not None, "it is a run"
    assert b.run is not None, "it is a run"
    names = names_of((a.name, b.name), (a.run, b.run))
    return replace(compare_runs(a.run, b.run, names=names), explanation=explanations[0])


def compare_changed(
    scenario: Scenario,
    changes: Sequence[tuple[str, str]],
    *,
    overrides: Sequence[tuple[str, str]] = (),
    wanted: bool | None = None,
    progress: Watch = None,
) -> Comparison:
    """Set a scenario as it is and with changes side by side; InputError for what is no scenario."""
    given = read(scenario)
    if given.scenario is None:
        _refuse_overrides(given, is_own=True)
    sides = [_checked(replace(given, overrides=(*overrides, *own))) for own in ((), changes)]
    done = [_run(each, progress) for each in sides]
    return _of_two(done, _explained_to_first(done, wanted, progress))


def _filled(
    own: Sequence[Sequence[tuple[str, str]]], sides: Sequence[object]
) -> list[Sequence[tuple[str, str]]]:
    return [*own, *[()] * (len(sides) - len(own))]


def _with_overrides(given: Given, common: Sequence[tuple[str, str]], own: Sequence[tuple[str, str]]) -> Given:
    """Return a scenario with its overrides; InputError for what cannot have any."""
    if given.scenario is not None:
        return replace(given, overrides=(*common, *own))
    if own or (common and given.measurement is None):
        _refuse_overrides(given, is_own=bool(own))
    return given


def _refuse_overrides(given: Given, *, is_own: bool) -> None:
    hint = "" if is_own else "\nhint: what one side alone changes is said with --set-a or --set-b"
    if given.measurement is not None:
        raise InputError(f"'{given.name}' was measured: only a scenario has parameters to change")
    raise InputError(f"'{given.name}' is a finished run: give its scenario to change a parameter{hint}")


def _checked(given: Given) -> Given:
    """Return a scenario with its parameters; ScenarioError for a wrong one, which says which it is."""
    if given.scenario is None:
        return given
    try:
        return replace(given, resolved=resolve(given.scenario, given.overrides))
    except ScenarioError as error:
        # An override that fits the other scenario does not say which one it does not fit.
        error.add_note(f"in the scenario '{given.name}'" if given.name else "in one of the scenarios")
        raise


def _run(given: Given, progress: Watch) -> Given:
    """Run what is to be run; KeyboardInterrupt for what did not come to its end."""
    if given.scenario is None:
        return given
    result = simulate(given.scenario, given.overrides, progress)
    if result.end_reason == "Interrupted":
        raise KeyboardInterrupt
    name = given.name or result.title or called(given.scenario)
    return replace(given, name=name, run=result)


def _names(done: Sequence[Given]) -> list[str]:
    """Return how sides are called; with the overrides in which they differ, where that would be alike."""
    names = [each.name for each in done]
    for number, each in enumerate(done):
        first = done[names.index(each.name)] if each.name in names[:number] else None
        if first is not None and first.run is not None and each.run is not None:
            names[number] = names_of((each.name, each.name), (first.run, each.run))[1]
    return names


def _refuse_other_tools(given: Sequence[Given]) -> None:
    """Raise InputError for outputs of tools that measure different kinds of devices."""
    measured = [(each.name, each.measurement) for each in given if each.measurement is not None]
    for (name, one), (other_name, other) in pairwise(measured):
        classes, others = _classes(one), _classes(other)
        if not classes & others:
            raise InputError(
                f"'{name}' is of {one.tool}, which measures {_devices(classes)}, and '{other_name}' of "
                f"{other.tool}, which measures {_devices(others)}: they have nothing to compare\n"
                "hint: 'lanewise import FILE --machine DUMP' sets each beside what its machine allows"
            )


def _classes(measurement: Measurement) -> set[str]:
    return {class_of(str(case.raw.get("tool", measurement.tool))) for case in measurement.cases}


def _devices(classes: set[str]) -> str:
    return " and ".join(MEASURED[kind] for kind in sorted(classes))


def _several(done: Sequence[Given], explanations: tuple[Explanation | None, ...]) -> SideBySide:
    names = _names(done)
    tools = [each.measurement.tool for each in done if each.measurement is not None]
    sides, found, headers = [], [], []
    for each, name in zip(done, names, strict=True):
        own, outputs = _found(each, tools)
        found.append(own)
        headers.append(said.header(outputs[0]) if outputs else None)
        sides.append(Side(name, each.run, each.measurement))
    rows = tuple(matched(found))
    if tools and not any(row.is_shared for row in rows):
        raise InputError(_nothing_shared(done, names, found))
    return SideBySide(
        tuple(sides),
        rows,
        tuple(said.differences(headers, rows)),
        explanations,
        tuple(_notes(done, rows)),
    )


def _found(given: Given, tools: Sequence[str]) -> tuple[list[Found], list[Measurement]]:
    if given.measurement is not None:
        return of_measurement(given.measurement), [given.measurement]
    assert given.run is not None, "what is no measurement was run"
    explained = given.resolved or _resolved_again(given.run)
    return as_measured(given.run, explained, tools) if tools else (of_flows(given.run, explained), [])


def _resolved_again(run: RunResult) -> ExplainResult | None:
    """Return the parameters of a finished run; None where its text is not there, or no scenario now."""
    if run.kept is None:
        return None
    try:
        return resolve(run.kept, run.overrides)
    except InputError:
        return None


def _notes(done: Sequence[Given], rows: Sequence[Row]) -> Iterator[str]:
    """Say which sides have nothing to compare, and what of outputs was left unread."""
    shared = [row for row in rows if row.is_shared]
    if not shared:
        yield "No flow or result of one side is that of another"
    for number, (each, letter) in enumerate(zip(done, LETTERS, strict=False)):
        if shared and all(row.sides[number] is None for row in shared):
            yield f"Nothing of {letter} is what another side has"
        unread = () if each.measurement is None else each.measurement.not_understood
        if unread:
            more = f", and {len(unread) - 1} more" if len(unread) > 1 else ""
            yield f"{letter}: left unread: {unread[0].rstrip('.:')[:160]}{more}"


def _nothing_shared(done: Sequence[Given], names: Sequence[str], found: Sequence[Sequence[Found]]) -> str:
    """Say that no row of any side is a row of another, and what to do instead."""
    has = "; ".join(
        f"{letter}, '{name}', has {_listed(rows)}"
        for letter, name, rows in zip(LETTERS, names, found, strict=False)
    )
    outputs = [each.name for each in done if each.measurement is not None]
    everything = [row for rows in found for row in rows]
    flow, fitting = max(
        (
            (row, [other for other in everything if is_of(row, other)])
            for row in everything
            if row.tool is None
        ),
        key=lambda each: len(each[1]),
        default=(None, []),
    )
    if flow is not None and len(fitting) > 1:
        hint = (
            f"{len(fitting)} results fit '{flow.name}': {_listed(fitting)}; keep the one that is meant, and "
            "leave the others out of the file"
        )
    elif len(outputs) == len(done):
        hint = "give outputs of the same tests, with the same block or message sizes"
    else:
        hint = (
            "the scenario needs a workload of the tool's kind, or a 'dma' one of that direction and size; "
            f"'lanewise import {outputs[0]} --machine DUMP' predicts the result from a dump of the machine"
        )
    what = "measured" if len(outputs) == len(done) else "run and measured"
    return f"nothing was {what} alike: {has}\nhint: {hint}"


def _listed(rows: Sequence[Found]) -> str:
    if not rows:
        return "nothing that moved"
    words = [_in_words(row) for row in rows[:_MOST_LISTED]]
    more = f" and {len(rows) - _MOST_LISTED} more" if len(rows) > _MOST_LISTED else ""
    return f"{', '.join(words)}{more}"


def _in_words(row: Found) -> str:
    size = "" if row.size_bytes is None or f"{row.size_bytes} B" in row.name else f", {row.size_bytes} B"
    way = "" if row.direction is None or row.direction in row.name else f", {row.direction}"
    return f"{row.name}{size}{way}" if not size and not way else f"{row.name} ({(size + way)[2:]})"
