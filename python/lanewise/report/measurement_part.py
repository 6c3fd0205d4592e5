"""What a report says of a measurement: each result beside what the machine allows, as `import` judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lanewise.report.bars import bars
from lanewise.report.content import Part, Section
from lanewise.report.plots import Figure
from lanewise.report.rows import rows_of
from lanewise.written import DASH, counted, fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise import documents

_MOST_BARS = 40


@dataclass(frozen=True)
class Measured:
    """A judged measurement, as `import` and `measure` write it."""

    document: documents.ImportResult | documents.MeasureResult


def measurement_part(measured: Measured, *, drawn: bool) -> Part:
    """Return what a report says of a measurement."""
    document = measured.document
    each = cast("dict[str, object]", document)
    cases = document["cases"]
    rows = [
        (
            case["name"],
            case["bdf"] or DASH,
            fixed(case["measured_gb_per_s"], 3),
            fixed(case["predicted_gb_per_s"], 3),
            DASH if case["ratio"] is None else f"{100 * case['ratio']:.0f} %",
            case["verdict"],
            case["binding"],
        )
        for case in cases
    ]
    columns = (
        "case",
        "where",
        "#measured, GB/s",
        "#possible, GB/s",
        "#ratio",
        "verdict",
        "what is possible is bound by",
    )
    evidence = list(dict.fromkeys(line for case in cases for line in case["evidence"]))
    sections = (
        Section(
            "Measured beside possible",
            list(_said(cases)),
            _figures(cases) if drawn else (),
            rows_of("Cases", columns, rows),
        ),
        Section("What speaks for it", evidence),
        Section("Notes", document["notes"]),
        Section("Commands", texts=list(_commands(document))),
    )
    return Part(
        title=f"{document['tool']} on {document['machine'] or 'this machine'}",
        facts=[(name, str(each[name])) for name in ("source", "started") if each.get(name)],
        sections=[section for section in sections if section.says_something],
    )


def _said(cases: Sequence[documents.ImportResultCase | documents.MeasureResultCase]) -> Iterator[str]:
    verdicts: dict[str, int] = {}
    for case in cases:
        verdicts[case["verdict"]] = verdicts.get(case["verdict"], 0) + 1
    if cases:
        listed = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
        yield f"Of {counted(len(cases), 'case')}: {listed}."


def _figures(cases: Sequence[documents.ImportResultCase | documents.MeasureResultCase]) -> list[Figure]:
    rows, colours = [], []
    for case in cases[:_MOST_BARS]:
        for word, value in (
            ("measured", case["measured_gb_per_s"]),
            ("possible", case["predicted_gb_per_s"]),
        ):
            if value is not None:
                name = f"{case['name']}, {word}"
                rows.append((name, value, f"{name}: {value:.3f} GB/s"))
                colours.append(word)
    if not rows:
        return []
    caption = "Possible: simulated with the machine's own registers."
    return [Figure("Measured beside possible", caption, bars(rows, "GB/s", colours))]


def _commands(document: documents.ImportResult | documents.MeasureResult) -> Iterator[tuple[str, str]]:
    for each in cast("documents.MeasureResult", document).get("commands", []):
        yield " ".join(each["command"]), each["output"]


def measured_of(document: Mapping[str, object]) -> list[Measured]:
    """Return the measurements of a document that `import` or `measure` wrote; none of another document."""
    results = document.get("results", [document])
    found = []
    if isinstance(results, list):
        for each in results:
            if not isinstance(each, Mapping) or not isinstance(each.get("cases"), list) or "tool" not in each:
                return []
            found.append(Measured(cast("documents.ImportResult", each)))
    return found
