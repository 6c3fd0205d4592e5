"""A process that runs points: one after another, each answered with its row or with what is wrong with it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from lanewise import _core
from lanewise.errors import InputError
from lanewise.kept import KeptScenario
from lanewise.study.measures import Measure, Value, read_document, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.documents import Explain

Status = Literal["done", "refused", "failed"]


@dataclass(frozen=True)
class Outcome:
    """What came of a point."""

    number: int
    status: Status
    """`refused`: it cannot be built. `failed`: our fault, or its process died."""
    row: dict[str, Value]
    error: str | None = None
    """Of a point that is done, which measures it does not have."""
    wall_s: float = 0.0
    overrides: tuple[tuple[str, str], ...] = ()
    """Of its run, as the driver asked for it: parameters are read from here, and never made again."""

    @property
    def is_final(self) -> bool:
        """Whether trying again gives nothing else; what failed may have wanted memory that others had."""
        return self.status != "failed"


@dataclass(frozen=True)
class Work:
    """What all points of a study share. It goes to other processes whole; no path does."""

    name: str
    """What messages call the scenario."""
    text: str
    measures: tuple[str, ...]
    part_files: dict[str, str] = field(default_factory=dict)
    """Texts of files with parts that points name."""

    @property
    def source(self) -> _core.Text:
        """What the core takes."""
        return KeptScenario(self.name, self.text, self.part_files).source


def run_point(
    work: Work, measures: Sequence[Measure], number: int, overrides: Sequence[tuple[str, str]]
) -> Outcome:
    """Simulate one point."""
    start = time.perf_counter()

    def explain() -> Explain:
        explained: Explain = json.loads(_core.explain(work.name, list(overrides), work.source))
        return explained

    try:
        document = read_document(_core.run(work.name, list(overrides), None, work.source), measures)
        row, lacking = row_of(document, measures, explain)
    except InputError as error:
        return Outcome(number, "refused", {}, str(error), time.perf_counter() - start)
    except BaseException as error:
        # A panic of the core arrives as an exception outside the ordinary hierarchy.
        if type(error).__name__ != "PanicException" and not isinstance(error, Exception):
            raise
        return Outcome(number, "failed", {}, f"{type(error).__name__}: {error}", time.perf_counter() - start)
    return Outcome(number, "done", row, lacking, time.perf_counter() - start)


def main() -> None:
    """Run points: the first line of standard input is the work, each other one a point, as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_without, args=(os.getppid(),), daemon=True).start()
    # What a library prints goes to stderr: only outcomes go out.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    # The one that reads the answers may have gone.
    with suppress(OSError):
        first = sys.stdin.buffer.readline()
        if not first:
            return
        given = json.loads(first)
        work = Work(given["name"], given["text"], tuple(given["measures"]), given["part_files"])
        measures = [Measure.parse(text) for text in work.measures]
        for line in sys.stdin.buffer:
            number, overrides = json.loads(line)
            outcome = run_point(work, measures, number, [(path, value) for path, value in overrides])
            answers.write(json.dumps(vars(outcome)) + "\n")
            answers.flush()


def _end_without(driver: int) -> None:
    """End this process once the one that reads its answers has gone."""
    while os.getppid() == driver:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main()
