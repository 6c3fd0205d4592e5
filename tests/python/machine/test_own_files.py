"""What Lanewise wrote is refused as a source of a machine, with its name; dumps beside it are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from machine_dumps import DUMPS

from lanewise.errors import InputError
from lanewise.machine import read, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

ROOT = Path(__file__).parents[3]
SERVER = ROOT / "examples" / "gpu-server.txt"
SCENARIO = """
[host.h]
slots = { s = "gen4 x4" }
[endpoint.e]
attach = "h.s"
generation = "gen4"
width = "x4"
[[workload]]
kind = "dma"
device = "e"
direction = "write"
size = "4 KiB"
outstanding = 4
"""


@pytest.mark.parametrize("of", ["machine", "scenario"])
def test_a_picture(of: str, lanewise: Callable[..., Result], tmp_path: Path) -> None:
    scenario, picture = tmp_path / "one.toml", tmp_path / "picture.svg"
    scenario.write_text(SCENARIO)
    source = SERVER if of == "machine" else scenario
    assert lanewise("draw", source, "--out", picture).exit_code == 0
    with pytest.raises(InputError, match=r"is a picture .* 'lanewise draw' makes it; give the dump"):
        read(picture)


def test_any_picture() -> None:
    with pytest.raises(InputError, match="is a picture"):
        read_bytes(b'<svg xmlns="http://www.w3.org/2000/svg"><text>02:00.0 a card</text></svg>')


@pytest.mark.parametrize("ending", ["md", "html"])
def test_a_report(ending: str, lanewise: Callable[..., Result], tmp_path: Path) -> None:
    scenario, report = tmp_path / "one.toml", tmp_path / f"report.{ending}"
    scenario.write_text(SCENARIO)
    result = lanewise("run", scenario, "--report", report)
    assert result.exit_code == 0, result.stderr
    with pytest.raises(InputError, match="is a report that Lanewise made; give the scenario"):
        read(report)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("doctor",), "what 'lanewise doctor' printed"),
        (("doctor", "--format", "sarif"), "what 'lanewise doctor' printed"),
        (("doctor", "--format", "junit"), "what 'lanewise doctor' printed"),
        (("doctor", "--format", "prometheus"), "what 'lanewise doctor' printed"),
        (("doctor", "--json"), "JSON that Lanewise printed"),
        (("scan", "--json"), "JSON that Lanewise printed"),
        (("scan", "--scenario"), "is a scenario"),
    ],
    ids=" ".join,
)
def test_output(words: tuple[str, ...], said: str, lanewise: Callable[..., Result]) -> None:
    printed = lanewise(words[0], SERVER, *words[1:]).stdout.encode()
    with pytest.raises(InputError, match=said):
        read_bytes(printed)


def test_a_dump_below_what_the_doctor_printed_is_read(lanewise: Callable[..., Result]) -> None:
    dump = DUMPS / "qemu.vvv"
    both = lanewise("doctor", SERVER).stdout.encode() + b"\n" + dump.read_bytes()
    assert read_bytes(both)["01:00.0"].is_nvme
