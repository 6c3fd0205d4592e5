"""Every slip of the tables gets one error: in its line, with its code, and a hint where one is possible."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from slip_table import FOLDER, Slip, command_slips, scenario_slips

from lanewise import ScenarioError, _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

SCENARIO_SLIPS = scenario_slips()
COMMAND_SLIPS = command_slips()


@pytest.mark.parametrize("slip", SCENARIO_SLIPS, ids=str)
def test_a_slip_in_a_scenario_is_one_error_in_its_line(slip: Slip) -> None:
    with pytest.raises(ScenarioError) as caught:
        _core.explain("rig.toml", [], slip.text)
    found: list[dict[str, Any]] = caught.value.diagnostics
    assert [(each["code"], each["line"]) for each in found] == [(slip.code, slip.line)], str(caught.value)
    assert slip.says in found[0]["message"]
    assert slip.hint in (found[0]["hint"] or "")


def test_the_tables_are_as_long_as_promised() -> None:
    assert len(SCENARIO_SLIPS) + len(COMMAND_SLIPS) >= 160
    words = [str(slip) for slip in SCENARIO_SLIPS]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("slip", COMMAND_SLIPS, ids=lambda slip: slip["command"])
def test_a_slip_in_a_command_line_is_one_error(
    slip: dict[str, str], lanewise: Callable[..., Result], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    result = lanewise(*shlex.split(slip["command"]))
    said = " ".join(result.stderr.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").split())
    assert result.exit_code == 2, said
    assert result.stdout == "" or "--json" in slip["command"]
    assert len(re.findall(r"(?i)\berror(?=:|\[)", said)) == 1, said
    assert slip["says"] in said
    assert slip.get("hint", "") in said


_DUMP = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1\n"
_JOBS = "[global]\nioengine=libaio\nfilename=/dev/nvme0n1\n\n[read]\nrw=read\nbs=128k\n"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what the command lines name: files of the wrong kind, or in the wrong encoding."""
    folder = tmp_path_factory.mktemp("slips")
    rig = (FOLDER / "rig.toml").read_text("utf-8")
    (folder / "folder").mkdir()
    for name, content in {
        "rig.toml": rig.encode(),
        "empty.toml": b"",
        "utf16.toml": rig.encode("utf-16"),
        "latin1.toml": rig.replace("Two", "Gr\xf6\xdfte").encode("latin-1"),
        "binary": bytes(range(256)),
        "machine.xml": b'<?xml version="1.0"?>\n<system version="1">\n</system>\n',
        "lspci.txt": _DUMP.encode(),
        "jobs.fio": _JOBS.encode(),
        "unknown.fio": (_JOBS + "iodeph=8\n").encode(),
        "results.json": b'{"fio version": "fio-3.36"}',
    }.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    "change", [("\n", "\r\n"), ("", "\N{ZERO WIDTH NO-BREAK SPACE}"), ("count = 2", "\tcount = 2")]
)
def test_line_ends_byte_order_marks_and_tabs_are_no_slips(change: tuple[str, str]) -> None:
    rig = (FOLDER / "rig.toml").read_text("utf-8")
    found, written = change
    changed = rig.replace(found, written) if found else written + rig
    assert _core.explain("rig.toml", [], changed)
