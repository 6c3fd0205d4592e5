"""Tables of typical slips: what a newcomer writes, and the one error that answers it.

Each entry of a table changes the rig beside it, or the example that `rig` names, in one place: `for` becomes
`write`. The error is expected in the first line of `write`, or in the next line that begins with `at`; an
empty `at` is an error about the whole file. `says` and `hint` are words of the message and of its hint.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SCENARIOS = FOLDER.parents[2] / "scenarios"


@dataclass(frozen=True)
class Slip:
    """One mistake in a scenario."""

    table: str
    words: str
    text: str
    line: int | None
    code: str
    says: str
    hint: str

    def __str__(self) -> str:
        """Name it as a test is named."""
        return f"{self.table}: {self.words}"


def scenario_slips() -> list[Slip]:
    """Return every slip in a scenario, in the order of the tables."""
    tables = [path for path in sorted(FOLDER.glob("*.toml")) if path.stem not in ("rig", "commands")]
    return [_slip(path.stem, entry) for path in tables for entry in _entries(path)]


def command_slips() -> list[dict[str, str]]:
    """Return every slip in a command line."""
    return _entries(FOLDER / "commands.toml")


def _entries(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8"))["slip"]
    return entries


def _slip(table: str, entry: dict[str, Any]) -> Slip:
    found, written = entry["for"], entry["write"]
    file = SCENARIOS / f"{entry['rig']}.toml" if "rig" in entry else FOLDER / "rig.toml"
    rig = file.read_text("utf-8")
    assert found in rig, f"{table}: {entry['is']}: the rig has no {found!r}"
    start = rig.index(found)
    text = rig.replace(found, written) if entry.get("everywhere") else rig.replace(found, written, 1)
    at = entry.get("at")
    return Slip(
        table=table,
        words=entry["is"],
        text=text,
        line=_line_of(text, start, at),
        code=entry["code"],
        says=entry.get("says", ""),
        hint=entry.get("hint", ""),
    )


def _line_of(text: str, start: int, at: str | None) -> int | None:
    """Return the line, from 1: that of the change, or the next one after it that begins with `at`."""
    if at is None:
        return text.count("\n", 0, start) + 1
    if not at:
        return None
    lines = text.splitlines()
    change = text.count("\n", 0, start)
    around = [*range(change, len(lines)), *range(change - 1, -1, -1)]
    return next(number + 1 for number in around if lines[number].startswith(at))
