"""What a page asks about a machine: it reads the files once, and answers one question after another."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise import machine_documents
from lanewise.error_document import error_document
from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lanewise.machine.model import Machine


class Examination:
    """One machine at a time, and what can be asked about it.

    An answer is a JSON text. An error is one with ``status`` and ``errors``, as ``--json`` prints it.
    """

    def __init__(self) -> None:
        """Begin without a machine."""
        self._machine: Machine | None = None

    def scan(self, names: Sequence[str], contents: Sequence[bytes]) -> str:
        """Read the files of a machine; answer what ``scan --json`` prints.

        A machine that was read before stays when these cannot be.
        """
        try:
            # By their names alone, so that answers do not say where files lay for a moment.
            with tempfile.TemporaryDirectory(prefix="lanewise-") as folder, contextlib.chdir(folder):
                placed: list[str] = []
                for name, content in zip(names, contents, strict=True):
                    placed.append(machine_documents.file_name(name, placed))
                    Path(placed[-1]).write_bytes(content)
                self._machine = machine_documents.read_together([Path(name) for name in placed])
            return machine_documents.scan_json(self._machine)
        except (InputError, OSError) as error:
            return _refusal(error)

    def about(self, verb: str, on_progress: Callable[[str], None] | None = None) -> str:
        """Answer ``draw``, ``doctor``, ``predict`` or ``scenario`` about what was read."""
        try:
            if self._machine is None:
                raise InputError("no machine was read before")
            if verb == "predict":
                return machine_documents.predict_json(self._machine, on_progress=on_progress)
            return _VERBS[verb](self._machine)
        except (InputError, OSError) as error:
            return _refusal(error)


_VERBS = {
    "draw": machine_documents.draw_json,
    "doctor": machine_documents.doctor_json,
    "scenario": machine_documents.scenario_json,
}


def _refusal(error: Exception) -> str:
    return json.dumps(error_document(2, str(error), error), ensure_ascii=False)
