"""Output of lspci that was cut off: what was read stands, and a note says where it ends."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from lanewise.health.doctor import Profile, Severity, diagnose
from lanewise.machine import read_bytes

SERVER = (Path(__file__).parents[3] / "examples" / "gpu-server.txt").read_bytes()
WHOLE = (Path(__file__).parent / "dumps" / "qemu.vvv").read_bytes()


def notes(text: bytes) -> list[str]:
    return [note for note in read_bytes(text, name="cut.vvv").notes if "ends inside" in note]


def test_whole_output_has_no_such_note() -> None:
    assert not notes(WHOLE)
    assert not notes(WHOLE.rstrip(b"\n") + b"\n"), "the last empty line is lost where text is copied"


@pytest.mark.parametrize("cut", [b"LnkSta", b"LnkCap"])
def test_output_that_ends_in_a_line_says_in_which_function(cut: bytes) -> None:
    text = WHOLE[: WHOLE.rindex(cut) + 3]
    last = [line for line in text.split(b"\n") if line and line[:1] not in b" \t"][-1].split()[0].decode()
    assert notes(text) == [f"the text ends inside function {last}: what follows it is missing"]


def test_output_that_ends_in_a_function_before_those_behind_a_bridge_says_so() -> None:
    bridge = b"00:01.0 PCI bridge: x\n\tBus: primary=00, secondary=05, subordinate=05, sec-latency=0\n\n"
    before = b"02:00.0 Non-Volatile memory controller: x\n\tControl: I/O- Mem+ BusMaster+\n"
    behind = b"\n05:00.0 Non-Volatile memory controller: x\n\tControl: I/O- Mem+ BusMaster+\n"
    assert notes(bridge + before) == ["the text ends inside function 02:00.0: what follows it is missing"]
    assert not notes(bridge + before + behind)
    assert not notes(bridge + before + b"\n"), "it ends between functions"


def test_the_doctor_does_not_pass_half_a_dump() -> None:
    """What was read of it is in order, and nobody knows of the rest."""
    assert diagnose(read_bytes(WHOLE), profile=Profile.PROVISIONING).examined
    half = SERVER[: SERVER.index(b"LnkCap:", SERVER.index(b"\n97:01.0 ")) + 3]
    found = diagnose(read_bytes(half), profile=Profile.PROVISIONING)
    assert not found.fails(Severity.WARNING)
    assert not found.examined
    assert found.missing.startswith("the text ends inside function ")
    assert found.missing.endswith("; take the dump again, and the whole of it")
    assert sum("ends inside" in note for note in found.notes) == 1


def test_nor_a_damaged_archive() -> None:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as packed:
        member = tarfile.TarInfo("lspci.txt")
        member.size = len(SERVER)
        packed.addfile(member, io.BytesIO(SERVER))
        noise = tarfile.TarInfo("var/log/other")
        noise.size = 1 << 20
        packed.addfile(noise, io.BytesIO(bytes(1 << 20)))
    packed_bytes = whole.getvalue()
    assert not read_bytes(packed_bytes).breaks_off
    assert "archive breaks off" in read_bytes(packed_bytes[:-200]).breaks_off
