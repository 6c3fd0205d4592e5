"""Runs the command lines of a tool and judges what they print.

The machine is read before the first command, so that it is described as it was; outputs are kept word for
word in the record, and everything in it can be imported again. A tool that fails, or prints what it should
not, ends in an error with its own last words.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.health.judge import Judgement, judge
from lanewise.health.judge.detect import parse_measurement
from lanewise.health.judge.verdict import Record
from lanewise.machine import read

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.documents import MeasureResultCommand, MeasureResultMachineDescription
    from lanewise.health.measure.tools import Tool
    from lanewise.machine.address import Address
    from lanewise.machine.model import Machine

_LONGEST_S = 1800
"""A tool that has said nothing for half an hour hangs."""
_LOOK_S = 0.2
_LAST_WORDS_S = 2.0
_MOST_BYTES = 16 << 20
"""No benchmark prints as much."""


def measure(
    tool: Tool,
    *,
    machine: Machine | None = None,
    device: Address | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Judgement:
    """Run a tool, and judge its results against the machine (this one unless another is given)."""
    machine = read() if machine is None else machine
    outputs: list[MeasureResultCommand] = []
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory(prefix="lanewise-") as scratch:
        for command in tool.commands(Path(scratch)):
            if on_progress:
                on_progress(" ".join(command))
            outputs.append({"command": command, "output": _run(command, tool.name, Path(scratch))})
    judgements = [
        judge(parse_measurement(one["output"], source=tool.name), machine, device=device)
        # Commands that only prepare, such as a compiler's, print nothing.
        for one in outputs
        if one["output"].strip()
    ]
    if not judgements:
        raise InputError(f"{tool.name} printed nothing")
    cases = tuple(case for judgement in judgements for case in judgement.cases)
    notes = tuple(dict.fromkeys(note for judgement in judgements for note in judgement.notes))
    record = Record(started, tuple(outputs), describe(machine))
    return replace(judgements[0], cases=cases, notes=notes, record=record)


def _run(command: list[str], name: str, folder: Path) -> str:
    """Run one command; nothing that it has started outlives it, however this ends."""
    out, errors = folder / ".stdout", folder / ".stderr"
    with out.open("wb") as to_out, errors.open("wb") as to_errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=to_out,
            stderr=to_errors,
            cwd=folder,
            start_new_session=True,
        )
        try:
            _wait(process, name, command, (out, errors))
        finally:
            _end(process)
    printed, said = (path.read_text(encoding="utf-8", errors="replace") for path in (out, errors))
    if process.returncode < 0:
        reason = signal.strsignal(-process.returncode)
        raise InputError(f"{name} was ended by signal {-process.returncode} ({reason}); nothing is judged")
    if process.returncode != 0:
        words = (said.strip() or printed.strip()).splitlines()[-3:]
        raise InputError(
            f"{name} failed with status {process.returncode}: {' / '.join(words) or 'no message'}"
        )
    return printed


def _wait(process: subprocess.Popen[bytes], name: str, command: list[str], files: tuple[Path, Path]) -> None:
    """Wait for a command while it prints no more than any tool does, and no longer than any takes."""
    latest = time.monotonic() + _LONGEST_S
    while True:
        try:
            process.wait(timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() > latest:
                raise InputError(f"{name} did not end within {_LONGEST_S} s: {' '.join(command)}") from None
        if any(file.stat().st_size > _MOST_BYTES for file in files):
            raise InputError(f"{name} printed more than {_MOST_BYTES >> 20} MiB; nothing is judged")
        if process.returncode is not None:
            return


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a command: its whole group, grandchildren among them."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        try:
            process.wait(timeout=_LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def describe(machine: Machine) -> MeasureResultMachineDescription:
    """Describe the machine for the record: what each device that counts is and how its link runs."""
    return {
        "source": machine.source,
        "hostname": machine.hostname,
        "links": [
            {
                "bdf": str(link.device.address),
                "device": link.device.name,
                "now": str(link.now),
                "limit": str(link.limit),
                "mps": link.device.transfers.mps,
                "mrrs": link.device.transfers.mrrs,
            }
            for link in machine.links
            if not link.on_die
        ],
    }
