"""Inputs that were once found to take minutes or gigabytes: each is refused, or read, within the limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile import refused, run

QEMU = Path(__file__).parent / "machine/dumps/qemu.vvv"
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
    refused(run("import", tmp_path / "out.txt", "--machine", QEMU))


def test_a_vendor_of_many_companies(tmp_path: Path) -> None:
    """Each comma could be read in two ways: forty of them took two to the power of forty steps."""
    nic = (
        "  *-network\n       description: Ethernet interface\n       product: X1 Ethernet\n"
        "       vendor: {}\n       physical id: 0\n       bus info: pci@0000:0{}:00.0\n"
        "       capabilities: pm msi pciexpress bus_master\n       configuration: {}latency=0\n"
    )
    text = nic.format("B", 1, "driver=igb ") + nic.format(f"A{' Inc,' * 40} x", 2, "")
    (tmp_path / "lshw.txt").write_text(text)
    done = run("doctor", tmp_path / "lshw.txt", "--no-cost")
    assert b"driver-missing" in done.stdout


RIG = Path(__file__).parents[2] / "scenarios/nvme_fio.toml"
JOBS = {
    "many variables": "[a]\nb=" + "${" * 40_000,
    "many options and sections": "[global]\n"
    + "bs=4k\n" * 20_000
    + "".join(f"[s{n}]\n" for n in range(40_000)),
    "many of both": "[global]\n" + "x=1\n" * 2_000 + "".join(f"[s{n}]\n" for n in range(2_000)),
    "many files": "[a]\nfilename=" + ":".join(f"/dev/nvme{n}n1" for n in range(50_000)),
    "many mistakes": "[a]\n" + "".join(f"q{n}=1\n" for n in range(50_000)),
    "one long line": "[a]\nbs=" + "x" * 900_000,
}


@pytest.mark.parametrize("name", JOBS)
def test_job_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_text(JOBS[name])
    said = refused(run("run", RIG, "--fio", tmp_path / "jobs.fio"))
    assert len(said) < 200_000


def matrix(rows: int, columns: int) -> bytes:
    lines = [
        "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)",
        "   D\\D " + " ".join(map(str, range(columns))),
    ]
    lines += [f"{row} " + " ".join(["12.5"] * columns) for row in range(rows)]
    return ("[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n" + "\n".join(lines)).encode()


def test_a_matrix_of_more_gpus_than_there_are(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_bytes(matrix(3_000, 500))
    assert "results in one output" in refused(run("import", tmp_path / "out.txt", "--machine", QEMU))


def test_a_number_of_thousands_of_digits(tmp_path: Path) -> None:
    text = '{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {"total_ios": 1, "bw_bytes": %s}}]}'
    (tmp_path / "out.json").write_text(text % ("9" * 4_301))
    refused(run("import", tmp_path / "out.json", "--machine", QEMU))
