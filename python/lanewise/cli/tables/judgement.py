"""Measured beside possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from lanewise.cli.tables import style
from lanewise.health.judge import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Group, RenderableType

    from lanewise.health.judge import JudgedCase, Judgement

_STYLES = {
    Verdict.GOOD: "green",
    Verdict.HOST: "yellow",
    Verdict.LATENCY: "cyan",
    Verdict.WRONG: "bold red",
    Verdict.TOO_GOOD: "magenta",
    Verdict.NONE: "dim",
}
_MOST_ROWS = 80


def print_judgement(judgement: Judgement) -> None:
    """Print a table of cases, then what speaks for each verdict, said once."""
    style.emit(*_pieces(judgement))


def _pieces(judgement: Judgement) -> Iterator[RenderableType]:
    measurement = judgement.measurement
    version = f" {measurement.version}" if measurement.version else ""
    yield style.heading(
        f"{measurement.tool}{version} on {judgement.machine or 'this machine'}", style.GB_PER_S
    )
    yield ""
    judged = [case for case in judgement.cases if case.verdict is not Verdict.NONE]
    if judged:
        yield _table(judged)
    for verdict in Verdict:
        reasons = _reasons([case for case in judged if case.verdict is verdict])
        if reasons:
            yield Text(str(verdict), style=_STYLES[verdict])
            yield from (Padding(Text(reason), (0, 0, 0, 4)) for reason in reasons)
            yield ""
    left: dict[str, list[str]] = {}
    for case in judgement.cases:
        if case.verdict is Verdict.NONE:
            left.setdefault(case.binding, []).append(_named(case))
    for reason, names in left.items():
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield Text(f"Not judged: {shown}: {reason}.", style="dim")
    for note in judgement.notes:
        yield Text(f"Note: {note.rstrip('.:')}.", style="dim")


def _table(cases: list[JudgedCase]) -> Group:
    table = style.table()
    style.words(table, "\ncase", at_most=38)
    style.labels(table, "\nwhere")
    style.numbers(table, "measured\nGB/s", "possible\nGB/s", "\nratio")
    style.words(table, "\nverdict")
    for case in cases[:_MOST_ROWS]:
        table.add_row(
            Text(case.name),
            case.bdf or style.DASH,
            style.fixed(case.measured_gb_per_s, 2),
            style.fixed(case.predicted_gb_per_s, 2),
            style.DASH if case.ratio is None else f"{100 * case.ratio:.0f} %",
            Text(str(case.verdict), style=_STYLES[case.verdict]),
        )
    left_out = len(cases) - _MOST_ROWS
    note = "possible: simulated with the machine's own registers"
    if left_out > 0:
        note += f"; --json has {left_out} more"
    return style.titled("Measured beside possible", table, note=note)


def _named(case: JudgedCase) -> str:
    return case.name if case.measured_gb_per_s is None else f"{case.name} ({case.measured_gb_per_s:.2f} GB/s)"


def _reasons(cases: list[JudgedCase]) -> list[str]:
    """List what is said about cases with one verdict, once each: what binds them, and the evidence."""
    said: dict[str, None] = {}
    for case in cases:
        # Of a result that is far from it, the link binds what is possible and not what was measured.
        far = case.verdict in (Verdict.HOST, Verdict.WRONG, Verdict.TOO_GOOD)
        said.setdefault(f"{'what is possible is ' if far else ''}bound by {case.binding}")
        for line in case.evidence:
            said.setdefault(line)
    lines = list(said)
    return lines[:8] + ([f"and {len(lines) - 8} more; --json has them"] if len(lines) > 8 else [])
