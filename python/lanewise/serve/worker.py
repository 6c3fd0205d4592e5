"""What a working process runs: jobs from its standard input, one after another, until that is closed.

A job is a dictionary with `verb` and what that takes. Nothing in it names a file but what the serving process
wrote there itself, so a job reads and runs nothing but scenarios and dumps.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from lanewise import machine_documents
from lanewise.serve.frames import ANSWER, PROGRESS, REFUSED, framed, read_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise._core import Door
    from lanewise.documents import Progress
    from lanewise.machine.model import Machine


T = TypeVar("T")


def main() -> None:
    """Work. The first argument is the limit of the address space in bytes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    threading.Thread(target=_end_without, args=(os.getppid(),), daemon=True).start()
    _limit_memory(int(sys.argv[1]))
    # What a library prints goes to stderr, and nothing reads what is sent to us but this loop.
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    worker = Worker(answers)
    with suppress(BrokenPipeError):
        while (frame := read_frame(jobs)) is not None:
            worker.do(json.loads(frame[1]))


def _end_with_parent() -> None:
    """Have Linux end this process with the serving one, also while the core has the interpreter's lock."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


_PR_SET_PDEATHSIG = 1
"""``include/uapi/linux/prctl.h``."""


def _end_without(serving: int) -> None:
    """End this process, whatever it does, once the serving one has gone and hears no answer."""
    while os.getppid() == serving:
        time.sleep(0.5)
    os._exit(1)


def _limit_memory(most: int) -> None:
    # Each thread of the library of tables reserves address space.
    os.environ["POLARS_MAX_THREADS"] = "1"
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))


@dataclass
class Worker:
    """Does jobs, and writes what comes of them."""

    answers: BinaryIO
    _door: Door | None = None

    def do(self, job: Mapping[str, object]) -> None:
        """Do a job: one answer, or one error as ``--json`` has them."""
        try:
            kind, document = ANSWER, _VERBS[str(job["verb"])](self, job)
        except Exception as error:
            kind, document = REFUSED, _refusal(error)
        except BaseException as error:
            # A panic of the core arrives as an exception outside the ordinary hierarchy.
            if type(error).__name__ != "PanicException":
                raise
            kind, document = REFUSED, _refusal(error)
        self._write(kind, document)

    def page(self, job: Mapping[str, object]) -> str:
        """Answer what a page asks its simulator."""
        if self._door is None:
            from lanewise import _core

            self._door = _core.Door()
        return self._door.ask(str(job["asks"]), str(job["request"]))

    def run(self, job: Mapping[str, object]) -> str:
        """Run a scenario, and keep the results in a folder."""
        from lanewise import api

        overrides: object = job["overrides"]
        pairs = api.run_pairs(
            overrides,  # type: ignore[arg-type]  # what it is not, is said
            _optional(job, "seed", int),
            _optional(job, "time_limit", str),
            _optional(job, "until", str),
        )
        text = scenario_text(job)
        result = api.run(text, overrides=pairs, out=Path(str(job["folder"])), progress=self._tell)
        return json.dumps(
            {"title": result.title, "end_reason": result.end_reason, "fingerprint": result.fingerprint}
        )

    def scan(self, job: Mapping[str, object]) -> str:
        """Read a machine."""
        return machine_documents.scan_json(_machine(job))

    def doctor(self, job: Mapping[str, object]) -> str:
        """Say what is wrong with a machine."""
        return machine_documents.doctor_json(_machine(job))

    def predict(self, job: Mapping[str, object]) -> str:
        """Say what the devices of a machine should reach."""
        return machine_documents.predict_json(
            _machine(job), devices=_texts(job, "devices"), what_if=_texts(job, "what_if")
        )

    def draw(self, job: Mapping[str, object]) -> str:
        """Draw a machine."""
        return machine_documents.draw_json(_machine(job))

    def scenario(self, job: Mapping[str, object]) -> str:
        """Write the scenario of a machine."""
        return machine_documents.scenario_json(_machine(job))

    def _tell(self, progress: Progress) -> bool:
        self._write(PROGRESS, json.dumps(progress))
        return True

    def _write(self, kind: bytes, document: str) -> None:
        self.answers.write(framed(kind, document.encode()))
        self.answers.flush()


_VERBS = {
    "page": Worker.page,
    "run": Worker.run,
    "scan": Worker.scan,
    "doctor": Worker.doctor,
    "predict": Worker.predict,
    "draw": Worker.draw,
    "scenario": Worker.scenario,
}


def scenario_text(job: Mapping[str, object]) -> str:
    """Return the text of a scenario so that it cannot be taken for the name of a file: with a line end."""
    return f"{job['scenario']}\n"


def _machine(job: Mapping[str, object]) -> Machine:
    """Read files by their names alone: so that answers do not say where they lay for a moment."""
    os.chdir(str(job["folder"]))
    return machine_documents.read_together([Path(name) for name in _texts(job, "files")])


def _texts(job: Mapping[str, object], key: str) -> list[str]:
    value = job.get(key)
    return [str(each) for each in value] if isinstance(value, list) else []


def _optional(job: Mapping[str, object], key: str, kind: type[T]) -> T | None:
    value = job.get(key)
    return value if isinstance(value, kind) else None


def _refusal(error: BaseException) -> str:
    """Return what ``--json`` prints for an error; one that is not about the input is ours."""
    from lanewise.error_document import error_document
    from lanewise.errors import InputError

    wrong_input = isinstance(error, (InputError, OSError))
    text = str(error) if wrong_input else f"internal error: {type(error).__name__}: {error}"
    return json.dumps(error_document(2 if wrong_input else 3, text, error), ensure_ascii=False)


if __name__ == "__main__":
    main()
