"""What ``--json`` prints about machines, as text: for a server and for a page, which have files and no shell.

Several files tell of one machine, as ``--with`` does: which of them is the machine is tried in their order.
Unlike there nobody has said what each of them is for.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lanewise.machine.model import Machine

_LONGEST_NAME = 240
"""Bytes of the name of a file: 15 below NAME_MAX of Linux and macOS, for a number in front."""


def read_together(files: Sequence[Path]) -> Machine:
    """Read the dump of a machine, and the outputs of other tools that tell more of it, in any order.

    The first that can be read as a machine, with all others on top of it, is the machine. Where none can be,
    files that tell nothing of any machine are left out, with a note: a bug report has many. Raises
    `lanewise.InputError` with what is wrong with them as they stand when there is none even so, OSError when
    one cannot be opened.
    """
    from lanewise.machine_api import scan

    refused: InputError | None = None
    for number, source in enumerate(files):
        try:
            return scan(source, overlays=[*files[:number], *files[number + 1 :]])
        except InputError as error:
            refused = refused or error
    if refused is None:
        raise InputError("there is no file to read")
    telling, notes = _telling(files)
    if not 0 < len(telling) < len(files):
        raise refused
    machine = read_together(telling)
    return replace(machine, notes=(*machine.notes, *notes))


def _telling(files: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the files that tell something of a machine, and notes about the others."""
    from lanewise.machine.reading import tells_more
    from lanewise.machine_api import scan

    telling: list[Path] = []
    notes: list[str] = []
    for file in files:
        try:
            if not tells_more(file):
                scan(file)
        except InputError as error:
            notes.append(f"left out: {error}")
        else:
            telling.append(file)
    return telling, notes


def file_name(sent: str, taken: Sequence[str] = ()) -> str:
    """Return a name for a file that was sent under a name: for messages alone, and for no folder.

    `taken` are names that others have.
    """
    name = Path(sent).name.replace("\0", "")
    if name in ("", "-", "..") or len(name.encode(errors="replace")) > _LONGEST_NAME:
        name = "dump"
    number = 1
    while (found := name if number == 1 else f"{number}-{name}") in taken:
        number += 1
    return found


def scan_json(machine: Machine) -> str:
    """Return what ``scan --json`` prints."""
    from lanewise.machine.json_form import to_json

    return json.dumps(to_json(machine))


def doctor_json(machine: Machine) -> str:
    """Return what ``doctor --json`` prints."""
    from lanewise.machine_api import diagnose

    return diagnose(machine).to_json()


def predict_json(
    machine: Machine,
    *,
    devices: Sequence[str] = (),
    what_if: Sequence[str] = (),
    on_progress: Callable[[str], None] | None = None,
) -> str:
    """Return what ``predict --json`` prints; raises `lanewise.InputError` as `lanewise.predict` does."""
    from lanewise.machine_api import predict

    return predict(machine, devices=devices, what_if=what_if, on_progress=on_progress).to_json()


def scenario_json(machine: Machine) -> str:
    """Return a document whose ``scenario`` is what ``scan --scenario`` prints.

    Raises `lanewise.InputError` for a machine of which no scenario can be made.
    """
    from lanewise.health.predict.as_scenario import scenario_of
    from lanewise.output_format import stamped

    return json.dumps(stamped({"scenario": scenario_of(machine, "write")}))


def draw_json(machine: Machine) -> str:
    """Return a document whose ``svg`` is the picture that ``draw`` makes, for a page with its own title."""
    from lanewise.draw.machine import of_machine
    from lanewise.draw.svg import topology_svg
    from lanewise.output_format import stamped

    return json.dumps(stamped({"svg": topology_svg(of_machine(machine), embedded=True)}))
