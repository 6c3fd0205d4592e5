"""What every test of the Python side may ask for."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

import documents
import pytest
from fake_core import FakeCore
from typer.testing import CliRunner

from lanewise import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield folders that nobody uses; pytest would look through all of them to name the next one."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, caches: Iterator[Path]) -> None:
    """Keep finished runs of a test from every other test and from the user's own."""
    cache = next(caches)
    cache.mkdir()
    monkeypatch.setenv("LANEWISE_CACHE", str(cache))


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print as wide as where there is no terminal: readline, which pytest may load, sets a width."""
    monkeypatch.delenv("COLUMNS", raising=False)


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
