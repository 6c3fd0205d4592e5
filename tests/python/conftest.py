"""A core that answers from hand-written documents, for tests of what Python does around it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import documents
import pytest
from typer.testing import CliRunner

from lanewise import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


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
        self.asked.append((source or path, dict(overrides)))
        if progress is not None:
            report = {"simulated_s": 0.01, "time_limit_s": 0.05, "events": 1000, "measuring_since_s": 0.004}
            progress(report if flows_every_s is None else {**report, "flows": documents.live_flows()})
        return json.dumps(self.answer(path, dict(overrides)))


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep finished runs of a test from every other test and from the user's own."""
    monkeypatch.setenv("LANEWISE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    """Replace the core; 'switch' in a file's name puts the adapters behind a switch."""
    fake = FakeCore(lambda path, _: documents.run_document(with_switch="switch" in path))
    monkeypatch.setattr(_core, "run", fake.run)
    monkeypatch.setattr(_core, "explain", lambda *_: json.dumps(documents.explain_document()))
    monkeypatch.setattr(_core, "parts", lambda: json.dumps(documents.parts_document()))
    monkeypatch.setattr(_core, "bench", lambda name: json.dumps(documents.bench_document(name)))
    return fake


@pytest.fixture
def lanewise() -> Callable[..., Result]:
    """Run the command line in this process; stdout and stderr apart."""
    from lanewise.cli.commands import app

    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, [str(argument) for argument in arguments])
