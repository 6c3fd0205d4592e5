"""Runs the command lines of a tool and judges what they print.

The machine is read before the first command, so that it is described as it was; outputs are kept word for
word in the record, and everything in it can be imported again. A tool that fails, takes too long, or prints
what it should not, ends in an error with its own last words; what earlier commands printed is judged
nevertheless, and the judgement says that it is not all.
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

LONGEST_S = 1800
"""Time that one command may take, unless somebody says otherwise: half an hour."""
_LOOK_S = 0.2
_LAST_WORDS_S = 2.0
_MOST_BYTES = 16 << 20
"""No benchmark prints as much."""


def measure(
    tool: Tool,
    *,
    machine: Machine | None = None,
    device: Address | None = None,
    time_limit_s: float = LONGEST_S,
    on_progress: Callable[[str], None] | None = None,
) -> Judgement:
    """Run a tool, and judge its results against the machine (this one unless another is given).

    A command that takes longer than `time_limit_s` is ended, with all that it has started. Raises
    `InputError` when the first command to print results fails; what fails after it is `unfinished`.
    """
    machine = read() if machine is None else machine
    outputs: list[MeasureResultCommand] = []
    unfinished = None
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory(prefix="lanewise-") as scratch:
        for command in tool.commands(Path(scratch)):
            if on_progress:
                on_progress(" ".join(command))
            try:
                output = _run(command, tool.name, Path(scratch), time_limit_s)
            except InputError as error:
                if not any(one["output"].strip() for one in outputs):
                    raise
                unfinished = str(error)
                break
            outputs.append({"command": command, "output": output})
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
    return replace(judgements[0], cases=cases, notes=notes, record=record, unfinished=unfinished)


def _run(command: list[str], name: str, folder: Path, time_limit_s: float) -> str:
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
            _wait(process, name, command, (out, errors), time_limit_s)
        finally:
            _end(process)
    printed, said = (path.read_text(encoding="utf-8", errors="replace") for path in (out, errors))
    if process.returncode < 0:
        reason = signal.strsignal(-process.returncode)
        raise InputError(
            f"{name} was stopped by signal {-process.returncode} ({reason}); its results are not judged"
        )
    if process.returncode != 0:
        words = (said.strip() or printed.strip()).splitlines()[-3:]
        raise InputError(
            f"{name} failed with status {process.returncode}: {' / '.join(words) or 'no message'}"
        )
    return printed


def _wait(
    process: subprocess.Popen[bytes],
    name: str,
    command: list[str],
    files: tuple[Path, Path],
    time_limit_s: float,
) -> None:
    """Wait for a command while it prints no more than any tool does, and no longer than it may take."""
    latest = time.monotonic() + time_limit_s
    while True:
        try:
            process.wait(timeout=min(_LOOK_S, max(0.0, latest - time.monotonic())))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= latest:
                raise InputError(
                    f"{name} did not end within {time_limit_s:g} s and was stopped; its results are not "
                    "judged: "
                    f"{' '.join(command)}"
                ) from None
        if any(file.stat().st_size > _MOST_BYTES for file in files):
            raise InputError(f"{name} printed more than {_MOST_BYTES >> 20} MiB; its results are not judged")
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
