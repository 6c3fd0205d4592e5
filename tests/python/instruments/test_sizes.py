"""Tools that go through message sizes: which, one run for each, and one table of all."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import documents
import pytest

import lanewise as package
from lanewise import _core
from lanewise.errors import InputError
from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.sizes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result
    from fake_core import FakeCore

    CommandLine = Callable[..., Result]

ROOT = Path(__file__).parents[3]
TOOLS = {"osu": "osu_bw", "perftest": "ib_write_bw"}


@pytest.fixture(params=TOOLS)
def rig(request: pytest.FixtureRequest, core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> str:
    """A core whose bandwidth is as many MB/s or MiB/s as a message has bytes; the name of the tool."""
    kind: str = request.param

    def answer(_: str, overrides: dict[str, str]) -> documents.Document:
        size = float(overrides.get("workload.mpi.size", "8 B").split()[0])
        numbers = (
            {"Size (B)": size, "Bandwidth (MB/s)": size}
            if kind == "osu"
            else {"bytes (B)": size, "iterations": 100.0, "BW average (MiB/s)": size}
        )
        metrics = [{"name": name, "value": value} for name, value in numbers.items()]
        return {
            **documents.run_document(),
            "instruments": [{"workload": "mpi", "kind": kind, "metrics": metrics}],
        }

    core.answer = answer
    parameters = [{"path": "workload.mpi.tool", "value": TOOLS[kind]}]
    resolved = json.dumps({"title": "", "parameters": parameters, "links": []})
    monkeypatch.setattr(_core, "explain", lambda *_: resolved)
    return kind


def test_a_table_has_a_line_for_each_size(rig: str, lanewise: CommandLine) -> None:
    text = lanewise("run", "rig.toml", "--as", rig, "--sizes", "64,4 KiB, 2").stdout
    measurement = parse_measurement(text)
    assert measurement.simulated
    unit = 1e6 if rig == "osu" else 2**20
    found = [(case.block_bytes, case.bandwidth_bytes_per_s) for case in measurement.cases]
    assert found == [(size, size * unit) for size in (2, 64, 4096)]


def test_all_are_what_the_tool_goes_through_by_itself(rig: str) -> None:
    results = package.run_sizes("rig.toml", rig)
    assert list(results) == [2**power for power in (range(23) if rig == "osu" else range(1, 24))]
    assert results[64].instruments["value"][0] == 64.0


def test_a_size_that_ended_too_early_is_named(rig: str, core: FakeCore, lanewise: CommandLine) -> None:
    if rig == "perftest":
        pytest.skip("perftest always has a rate")
    whole = core.answer

    def answer(path: str, overrides: dict[str, str]) -> Any:
        document = whole(path, overrides)
        if "4096" in overrides.get("workload.mpi.size", ""):
            del document["instruments"][0]["metrics"][1]
        return document

    core.answer = answer
    outcome = lanewise("run", "rig.toml", "--as", "osu", "--sizes", "64,4096")
    assert outcome.exit_code == 2
    assert "measured nothing with 4096 B" in outcome.stderr
    assert outcome.stdout == ""


@pytest.mark.parametrize(
    ("tool", "text", "said"),
    [
        ("fio", "all", "'fio' cannot run a list of sizes"),
        ("osu", "64,", "'' is not a message size"),
        ("osu", "0", "'0' is not a message size"),
        ("osu", "-4 KiB", "'-4 KiB' is not a message size"),
        ("perftest", "many", "'many' is not a message size"),
        ("perftest", "nan", "'nan' is not a message size"),
        ("perftest", "1e999", "'1e999' is not a message size"),
    ],
)
def test_sizes_that_mean_nothing_are_refused(tool: str, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        sizes_of(tool, text)
    assert said in str(caught.value)


def test_a_scenario_without_the_tool_is_told_so(core: FakeCore) -> None:
    del core
    with pytest.raises(InputError, match="no workload of kind 'osu'"):
        package.run_sizes("switch.toml", "osu")


@pytest.mark.parametrize("options", [("--sizes", "all"), ("--as", "osu", "--sizes", "all", "--out", "x")])
def test_options_that_do_not_go_with_sizes_are_refused(
    options: tuple[str, ...], core: FakeCore, lanewise: CommandLine
) -> None:
    del core
    assert lanewise("run", "rig.toml", *options).exit_code == 2


def test_a_scenario_may_be_text_or_a_dictionary() -> None:
    text = (ROOT / "scenarios" / "rdma_write.toml").read_text()
    given = [text, tomllib.loads(text), ROOT / "scenarios" / "rdma_write.toml"]
    runs = [package.run_sizes(each, "perftest", sizes=[4096], time_limit="1 ms") for each in given]
    assert len({run[4096].document["fingerprint"] for run in runs}) == 1
    with pytest.raises(InputError, match="'<text>' has no workload of kind 'osu'"):
        package.run_sizes(text, "osu")
