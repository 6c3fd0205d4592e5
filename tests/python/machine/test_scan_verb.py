"""`lanewise scan`: tree, JSON, scenario, notes and exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from machine_dumps import DUMPS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from click.testing import Result

TREE = """\
[0000:00]
├─ 00:01.0→01:00.0 QEMU NVM Express Controller  2.5GT/s x1   16x4/2.5x1   128/128         nvme
├─ 00:02.0→02:00.0 switch XIO3130 PCI Express…  2.5GT/s x1   8x16/2.5x1   128             pcieport
│  ├─ 03:00.0→04:00.0 82574L Gigabit Network …  2.5GT/s x1   2.5x1        128/128         e1000e
"""


class TestScan:
    def test_prints_a_tree_of_links(self, lanewise: Callable[..., Result]) -> None:
        result = lanewise("scan", DUMPS / "qemu.vvv")
        assert result.exit_code == 0, result.stderr
        assert TREE in result.stdout
        assert "00:03.0 (empty root port, slot 3)" in result.stdout
        assert "7 links, 1 switch; 0 below what both ends can do" in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 100
        assert "\x1b" not in result.stdout

    def test_shows_everything_when_asked(self, lanewise: Callable[..., Result]) -> None:
        few = lanewise("scan", DUMPS / "qemu.vvv").stdout
        everything = lanewise("scan", "--all", DUMPS / "qemu.vvv").stdout
        assert "82801IB (ICH9) LPC" not in few
        assert "82801IB (ICH9) LPC" in everything

    def test_prints_json(self, lanewise: Callable[..., Result]) -> None:
        document = json.loads(lanewise("scan", "--json", DUMPS / "qemu.nnDvvv").stdout)
        functions = {function["bdf"]: function for function in document["machine"]["functions"]}
        drive = functions["0000:01:00.0"]
        assert drive["class"] == "010802"
        assert (drive["vendor"], drive["device"]) == ("1b36", "0010")
        assert drive["link"]["sta"] == {"gt_s": 2.5, "width": 1}
        assert functions["0000:00:01.0"]["link"]["cap"] == {"gt_s": 16.0, "width": 4}
        assert functions["0000:00:01.0"]["link"]["target"] == 16.0
        assert drive["mps"] == {"supported": 128, "set": 128}
        assert (drive["mrrs"], drive["driver"]) == (128, "nvme")
        assert document["machine"]["domains"] == [0]
        assert document["not_understood"] == []

    def test_prints_a_scenario(self, lanewise: Callable[..., Result], tmp_path: Path) -> None:
        scenario = tmp_path / "machine.toml"
        scenario.write_text(lanewise("scan", "--scenario", DUMPS / "qemu.sysfs.tar.gz").stdout)
        result = lanewise("explain", scenario)
        assert result.exit_code == 0, result.stderr

    def test_reads_a_folder(self, lanewise: Callable[..., Result], tmp_path: Path) -> None:
        device = tmp_path / "sys/devices/pci0000:00/0000:00:01.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text("0x8086\n")
        (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
        link = tmp_path / "sys/bus/pci/devices/0000:00:01.0"
        link.symlink_to("../../../devices/pci0000:00/0000:00:01.0")
        assert "00:01.0 Intel" in lanewise("scan", "--root", tmp_path, "--all").stdout
        assert "00:01.0 Intel" in lanewise("scan", tmp_path / "sys", "--all").stdout

    def test_reads_standard_input(self) -> None:
        command = [sys.executable, "-c", "from lanewise.cli import main; main()", "scan", "-"]
        with (DUMPS / "qemu.vvv").open("rb") as dump:
            result = subprocess.run(command, stdin=dump, capture_output=True, text=True, check=True)
        assert "00:01.0→01:00.0" in result.stdout

    def test_says_what_was_not_understood_on_stderr(
        self, lanewise: Callable[..., Result], tmp_path: Path
    ) -> None:
        dump = tmp_path / "odd.txt"
        dump.write_text("00:00.0 Host bridge: Intel Corporation Device 0001\n\tFrobnication: high\n")
        quiet, loud = lanewise("scan", dump), lanewise("scan", "-v", dump)
        assert quiet.exit_code == loud.exit_code == 0
        assert "1 line not understood" in quiet.stderr
        assert "line 2: Frobnication: high" in loud.stderr
        assert "Frobnication" not in quiet.stdout + loud.stdout

    def test_lines_of_other_tools_are_counted_and_one_of_a_shape_is_shown(
        self, lanewise: Callable[..., Result], tmp_path: Path
    ) -> None:
        links = "".join(f"{n}: eth{n}: <BROADCAST,UP> mtu 1500\n" for n in range(3000))
        report = tmp_path / "report.txt"
        report.write_text((DUMPS / "qemu.vvv").read_text() + f"\n$ ip a\n{links}Frob\a\x9bnication: high\n")
        loud = lanewise("scan", "-v", report)
        assert "3001 lines not understood" in loud.stderr
        assert loud.stderr.count("<BROADCAST,UP>") == 1
        assert "Frob  nication: high" in loud.stderr
        assert "and 2999 more" in loud.stderr
        assert len(loud.stderr.splitlines()) < 25

    def test_wrong_input_is_status_2(self, lanewise: Callable[..., Result], tmp_path: Path) -> None:
        letter = tmp_path / "letter.txt"
        letter.write_text("Dear all,\n")
        result = lanewise("scan", letter)
        assert result.exit_code == 2
        assert "has nothing in it that is read as a PCI device; accepted are lspci" in result.stderr
        assert result.stdout == ""

    def test_colours_only_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from lanewise.cli.tables.scan import _Printer
        from lanewise.machine import read

        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        machine = read(DUMPS / "qemu.vvv")
        assert "\x1b[1m" in "\n".join(_Printer(machine, everything=False).lines())
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b" not in "\n".join(_Printer(machine, everything=False).lines())

    def test_starts_without_heavy_libraries(self) -> None:
        code = (
            "import sys; from lanewise.cli.commands import app\n"
            "try: app(['scan', sys.argv[1]])\nexcept SystemExit: pass\n"
            "heavy = ('numpy', 'polars', 'rich', 'pyarrow', 'scipy', 'tarfile')\n"
            "print([m for m in heavy if m in sys.modules])"
        )
        command = [sys.executable, "-c", code, str(DUMPS / "qemu.vvv")]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        assert result.stdout.splitlines()[-1] == "[]"
