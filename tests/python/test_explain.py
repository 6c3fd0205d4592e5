"""What `explain` shows for a name or a path: devices of a group share most of their parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lanewise.cli.commands import app

NODE = str(Path(__file__).parents[2] / "scenarios" / "gpu_node.toml")


def _explained(pattern: str) -> list[str]:
    done = CliRunner().invoke(app, ["explain", NODE, pattern])
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("of_one", "of_all"),
    [
        ("gpu[2].tags", "gpu.tags"),
        ("gpu[*].tags", "gpu.tags"),
        ("sw[0].latency", "sw.latency"),
        ("gpu[7].copy_engine.*", "gpu.copy_engine.*"),
        ("load.size", "workload.load.size"),
        ("workload.load", "load"),
    ],
)
def test_a_path_that_set_takes_is_explained(of_one: str, of_all: str) -> None:
    assert _explained(of_one) == _explained(of_all)


def test_a_device_of_a_group_is_shown_with_what_it_shares() -> None:
    lines = _explained("gpu[2]")
    assert any(line.startswith("gpu[2]") for line in lines)
    assert any(line.split()[:1] == ["tags"] for line in lines)
    assert not any(line.startswith("gpu[3]") for line in lines)


def test_a_device_that_there_is_not_shares_nothing() -> None:
    done = CliRunner().invoke(app, ["explain", NODE, "gpu[8].tags"])
    assert done.exit_code == 2
    assert "no component or parameter matches 'gpu[8].tags'" in done.output


def test_a_default_that_nothing_reads_is_not_said_to_be_unknown_alone() -> None:
    hint = "; defaults that nothing reads are not printed: the scenario reference has them"
    asked = {"gpu.errors*": True, "gpu[0].errors*": True, "gpux.tags": False, "errors": False}
    for pattern, is_hinted in asked.items():
        done = CliRunner().invoke(app, ["explain", NODE, pattern])
        assert done.exit_code == 2
        assert (hint in done.output) == is_hinted, pattern
