"""Inputs that were once found to take minutes or gigabytes: each is refused, or read, within the limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile import refused, run

SLOT = (
    "Handle 0x{0:04X}, DMI type 9, 17 bytes\nSystem Slot Information\n\tDesignation: Slot {0}\n"
    "\tType: x16 PCI Express 3\n\tCurrent Usage: In Use\n\tBus Address: 0000:00:00.0\n\n"
)
DUMPS = {
    "document types": b"<!DOCTYPE" * 2_000,
    "comments without end": b"<!--" * 200_000,
    "blank lines": b"\n" * 100_000,
    "handles": "".join(SLOT.format(number) for number in range(40_000)).encode()
    + b"00:00.0 Host bridge: A B\n",
}
OUTPUTS = {
    "a setting of blanks": b"A :" + b" " * 5_000 + b"\n #bytes #iterations x\n",
    "blank lines": b"\n" * 50_000,
    "a title of blanks": b"# OSU MPI" + b" " * 60_000 + b"x\n# OSU ",
}


@pytest.mark.parametrize("name", DUMPS)
def test_dumps(name: str, tmp_path: Path) -> None:
    (tmp_path / "dump.txt").write_bytes(DUMPS[name])
    refused(run("scan", tmp_path / "dump.txt"))


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs(name: str, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_bytes(OUTPUTS[name])
    refused(run("import", tmp_path / "out.txt", "--machine", "tests/python/machine/dumps/qemu.vvv"))
