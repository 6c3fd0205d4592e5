"""GB/s is 10⁹ bytes a second to some and 2³⁰ to others: whatever prints rates says which it means."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lanewise.cli.commands import app

ROOT = Path(__file__).parents[2]
SERVER = "examples/gpu-server.txt"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "scenarios/first_rig.toml"],
        ["run", "scenarios/first_rig.toml", "--why"],
        ["compare", "scenarios/switch.toml", "scenarios/switch.toml", "--set-b", "sw0.latency=300 ns"],
        ["compare", "examples/laptop-fio.json", "examples/laptop-fio.json"],
        ["whatif", "scenarios/switch.toml", "sw0.latency=300 ns"],
        ["sweep", "scenarios/switch.toml", "--over", "card0.link.force_width=x1,x4"],
        ["calibrate", "scenarios/first_rig.toml", "DATA", "--fit", "server.memory_latency"],
        ["matrix", "scenarios/l40s.toml", "gpu[0]", "gpu[2]"],
        ["doctor", SERVER, "--fail-on", "never"],
        ["predict", SERVER, "--device", "18:00.0"],
        ["predict", SERVER, "--peers", "--device", "18:00.0"],
        ["import", "examples/laptop-fio.json", "--machine", "examples/laptop.txt"],
    ],
    ids=" ".join,
)
def test_an_output_with_rates_says_what_their_unit_is(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    (tmp_path / "measured.csv").write_text("goodput GB/s\n3\n")
    data = str(tmp_path / "measured.csv")
    result = CliRunner().invoke(app, [data if each == "DATA" else each for each in arguments])
    assert result.exit_code in (0, 1), result.stderr
    assert "GB/s" in result.stdout
    assert "10⁹ bytes" in result.stdout.replace("\n", " ")
