"""What the doctor found: errors and warnings in full, information in a line unless more is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from lanewise.cli.tables import style
from lanewise.health.doctor.finding import Severity
from lanewise.health.doctor.said_alike import Alike, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from lanewise.health.doctor.finding import Cost, Diagnosis, Finding

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "cyan"}
_MOST_EVIDENCE = 6
_MANY_NS = 10_000
_NOTHING = 0.005
"""Losses that round to 0.00 GB/s are written as none."""


def print_diagnosis(diagnosis: Diagnosis, *, details: bool = False) -> None:
    """Print findings, worst first, and one line that sums them up."""
    style.emit(*_pieces(diagnosis, details=details))


def _pieces(diagnosis: Diagnosis, *, details: bool) -> Iterator[RenderableType]:
    looked_at = ((diagnosis.functions, "function"), (diagnosis.links, "link"), (diagnosis.rules, "rule"))
    notes = [", ".join(style.counted(number, noun) for number, noun in looked_at)]
    if any(finding.cost is not None and finding.cost.gb_per_s is not None for finding in diagnosis.findings):
        notes.append(style.GB_PER_S)
    yield style.heading(diagnosis.source or "this machine", *notes)
    yield ""
    counting, waived = diagnosis.counting, [f for f in diagnosis.findings if f.waived is not None]
    groups = [Alike(finding) for finding in counting] if details else together(counting)
    full = [group for group in groups if details or group.first.severity is not Severity.INFO]
    brief = [group for group in groups if not details and group.first.severity is Severity.INFO]
    said: set[str] = set()
    for group in full:
        fix = group.first.fix
        yield from _in_full(group, fix="as above" if fix in said else fix)
        said.add(fix)
    if brief:
        yield _in_brief(brief)
    if waived:
        yield _waived(waived)
    yield _summary(diagnosis)
    for note in diagnosis.notes:
        yield Text(f"Note: {note}", style="dim")


def _in_full(group: Alike, fix: str) -> Iterator[RenderableType]:
    finding = group.first
    head = Text.assemble(
        (f"{finding.severity}", _STYLES[finding.severity]),
        "  ",
        (finding.headline, "bold"),
        (f"  [{finding.rule}]", "dim"),
    )
    yield head
    if group.rest:
        yield Padding(Text(group.elsewhere(), style="bold"), (0, 0, 0, 4))
    rest = len(finding.evidence) - _MOST_EVIDENCE
    lines = list(finding.evidence[:_MOST_EVIDENCE])
    if rest > 0:
        lines.append(f"and {rest} more; --json has them")
    yield Padding(Text("\n".join(lines), style="dim"), (0, 0, 0, 4))
    if finding.cost:
        yield Padding(Text.assemble(("cost  ", "bold"), _cost(finding)), (0, 0, 0, 4))
    yield _hanging("fix", fix)
    yield ""


def _hanging(label: str, text: str) -> Padding:
    from rich.table import Table

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True, style="bold", width=5)
    grid.add_column()
    grid.add_row(label, Text(text))
    return Padding(grid, (0, 0, 0, 4))


def _in_brief(groups: list[Alike]) -> RenderableType:
    table = style.table()
    style.labels(table, "where")
    style.words(table, "what")
    style.words(table, "cost", at_most=34)
    for group in groups:
        finding = group.first
        elsewhere = f"\n{group.elsewhere()}" if group.rest else ""
        # One finding about several functions is something else than several findings alike.
        concerns = f"\nand {len(finding.also)} more" if finding.also else ""
        table.add_row(
            (finding.bdf or style.DASH) + concerns,
            Text.assemble(finding.headline, (f"  [{finding.rule}]", "dim"), elsewhere),
            _short_cost(finding),
        )
    return style.titled("Worth knowing", table, note="--details shows evidence and fix")


def _waived(findings: list[Finding]) -> RenderableType:
    table = style.table()
    style.labels(table, "where")
    style.words(table, "what")
    style.words(table, "because", at_most=40)
    for finding in findings:
        what = Text.assemble(finding.headline, (f"  [{finding.rule}]", "dim"))
        table.add_row(finding.bdf or style.DASH, what, str(finding.waived))
    return style.titled("Waived", table, note="accepted by a file; they fail no check")


def _cost(finding: Finding) -> str:
    cost = finding.cost
    assert cost is not None
    if cost.compared is None:
        return cost.what
    lost = _lost(cost)
    return f"{lost}: {cost.what} (simulated)" if lost else f"no measurable cost: {cost.what} (simulated)"


def _short_cost(finding: Finding) -> str:
    cost = finding.cost
    if cost is None:
        return style.DASH
    if cost.compared is None:
        return cost.what
    return f"{_lost(cost) or 'not measurable'}: {cost.compared.of}"


def _lost(cost: Cost) -> str:
    if cost.ns is not None:
        if cost.ns >= _MANY_NS:
            return f"{cost.ns / 1e3:.1f} us"
        return f"{cost.ns:.0f} ns" if cost.ns >= 1 else ""
    if cost.gb_per_s is not None and cost.gb_per_s >= _NOTHING:
        return f"{cost.gb_per_s:.2f} GB/s"
    return ""


def _summary(diagnosis: Diagnosis) -> Text:
    counts = {severity: diagnosis.count(severity) for severity in reversed(Severity)}
    waived = len(diagnosis.findings) - len(diagnosis.counting)
    if not any(counts.values()) and not waived:
        if not diagnosis.examined:
            return Text("No finding, and too little to say that nothing is wrong.", style="bold yellow")
        if not diagnosis.links:
            one_end = any(what == "links" and known for what, known, _ in diagnosis.readable)
            what = "by one end of a link alone" if one_end else "but no link to examine"
            return Text(f"No finding, {what}.", style="bold yellow")
        return Text("No finding.", style="bold green")
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    parts = [f"{n} {words[s]}{'' if n == 1 else 's'}" for s, n in counts.items() if n]
    parts += [f"{waived} waived"] if waived else []
    text = Text(", ".join(parts) + ".", style="bold")
    if not counts[Severity.ERROR] and not counts[Severity.WARNING]:
        said = (
            "No warnings: the notes say what limits or may surprise."
            if diagnosis.examined
            else "No warnings, and too little to say that nothing is wrong."
        )
        text.append(f"  {said}", style="not bold")
    return text
