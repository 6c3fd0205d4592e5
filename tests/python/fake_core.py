"""A core that answers from hand-written documents, for tests of what Python does around it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import documents

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise import _core


@dataclass
class FakeCore:
    """Remembers what it was asked; `answer` makes the results of a run."""

    answer: Callable[[str, dict[str, str]], documents.Document]
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def run(
        self,
        path: str,
        overrides: Any = (),
        progress: Any = None,
        source: str | None = None,
        fio: _core.FioJobs | None = None,
        flows_every_s: float | None = None,
        threads: int | None = None,
    ) -> str:
        is_file = path != "-" and not path.startswith("<")
        self.asked.append((path if is_file or source is None else source, dict(overrides)))
        if progress is not None:
            report = {"simulated_s": 0.01, "time_limit_s": 0.05, "events": 1000, "measuring_since_s": 0.004}
            progress(report if flows_every_s is None else {**report, "flows": documents.live_flows()})
        return json.dumps(self.answer(path, dict(overrides)))
