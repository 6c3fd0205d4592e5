"""SQL over a study: every answer is one that JSON and the terminal can have, or says what is wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lanewise.study.running import run_study
from lanewise.study.study import make_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from pathlib import Path

    path = tmp_path_factory.mktemp("query") / "study"
    switch = Path(__file__).parents[3] / "scenarios" / "switch.toml"
    run_study(make_study(switch, over=["sw0.latency=100 ns,200 ns"]), path, processes=1)
    return path


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("select 1.5::decimal(4, 1) as x", 1.5),
        ("select 2::decimal(4, 1) as x", 2),
        ("select sum(point)::hugeint as x from points", 1),
        ("select date '2026-01-02' as x", "2026-01-02"),
        ("select timestamp '2026-01-02 03:04:05' as x", "2026-01-02T03:04:05"),
        ("select time '03:04:05' as x", "03:04:05"),
        ("select interval 3 hours as x", 10800.0),
        ("select 'ab'::blob as x", "6162"),
        ("select map {1: 2.5, 2: 3} as x", [{"key": 1, "value": 2.5}, {"key": 2, "value": 3}]),
        ("select {'a': 1.5::decimal(3, 1)} as x", {"a": 1.5}),
        ("select [date '2026-01-02'] as x", ["2026-01-02"]),
        ("select 'nan'::double as x", None),
        ("select 1; select 2 as x", 2),
    ],
)
def test_values(lanewise: Callable[..., Result], folder: Path, sql: str, value: object) -> None:
    asked = lanewise("study", "query", folder, sql, "--json")
    assert asked.exit_code == 0, asked.stderr
    document = json.loads(asked.stdout)
    assert (document["columns"], document["rows"]) == (["x"], [[value]])
    assert lanewise("study", "query", folder, sql).exit_code == 0


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("", "the query is empty"),
        (" ; ", "the query is empty"),
        ("/* nothing */", "the query is empty"),
        ("select point, point from points", "2 columns of the answer are called 'point'"),
        ("select timestamptz '2026-01-02 00:00:00+00' as x", "column 'x' has a time zone: cast it"),
        ("select nothing from points", "the query is refused"),
    ],
)
def test_what_is_no_answer(lanewise: Callable[..., Result], folder: Path, sql: str, said: str) -> None:
    for form in ([], ["--json"]):
        asked = lanewise("study", "query", folder, sql, *form)
        assert asked.exit_code == 2
        assert said in asked.stderr
