"""Runs the command lines of a tool and judges what they print.

The machine is read before the first command, so that it is described as it was; outputs are kept word for
word in the record, and everything in it can be imported again. A tool that fails, or prints what it should
not, ends in an error with its own last words.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanewise.errors import InputError
from lanewise.judging import Judgement, judge
from lanewise.judging.detect import parse_measurement
from lanewise.machine import read

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.address import Address
    from lanewise.machine.model import Machine
    from lanewise.measuring.tools import Tool

_LONGEST_S = 1800
"""A tool that has said nothing for half an hour hangs."""


def measure(
    tool: Tool,
    *,
    machine: Machine | None = None,
    device: Address | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Judgement:
    """Run a tool, and judge its results against the machine (this one unless another is given)."""
    machine = read() if machine is None else machine
    outputs: list[dict[str, Any]] = []
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory(prefix="lanewise-") as scratch:
        for command in tool.commands(Path(scratch)):
            if on_progress:
                on_progress(" ".join(command))
            outputs.append({"command": command, "output": _run(command, tool.name, Path(scratch))})
    judgements = [
        judge(parse_measurement(one["output"], source=tool.name), machine, device=device)
        for one in _results(outputs)
    ]
    if not judgements:
        raise InputError(f"{tool.name} printed nothing")
    cases = tuple(case for judgement in judgements for case in judgement.cases)
    notes = tuple(dict.fromkeys(note for judgement in judgements for note in judgement.notes))
    extra = {"started": started, "commands": outputs, "machine_description": describe(machine)}
    return replace(judgements[0], cases=cases, notes=notes, extra=extra)


def _run(command: list[str], name: str, folder: Path) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_LONGEST_S,
            cwd=folder,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{name} did not end within {_LONGEST_S} s: {' '.join(command)}") from error
    if done.returncode < 0:
        reason = signal.strsignal(-done.returncode)
        raise InputError(f"{name} was ended by signal {-done.returncode} ({reason}); nothing is judged")
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise InputError(f"{name} failed with status {done.returncode}: {' / '.join(words) or 'no message'}")
    return done.stdout


def _results(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out commands that only prepare, such as a compiler's."""
    return [one for one in outputs if one["output"].strip()]


def describe(machine: Machine) -> dict[str, Any]:
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
