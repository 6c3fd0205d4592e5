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


_BRIDGE = (
    "00:01.0 PCI bridge: x\n\tBus: primary=00, secondary=05, subordinate=05, sec-latency=0\n"
    "\tCapabilities: [40] Express (v2) {kind}\n"
    "\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4\n\t\t\tClockPM- Surprise- LLActRep{reports} BwNot-\n"
    "\t\tLnkSta:\tSpeed {speed}GT/s, Width x{lanes}\n\t\t\tTrErr- Train- SlotClk+ DLActive{active}\n"
    "{slot}\n"
)
_SLOT = "\t\tSltSta:\tStatus: AttnBtn- PowerFlt- MRL- CmdCplt- PresDet{} Interlock-\n"
_SILENT = {"reports": "-", "active": "-"}
"""Of ports that do not report whether their link is active."""
_BEFORE = "02:00.0 Non-Volatile memory controller: x\n\tControl: I/O- Mem+ BusMaster+\n"


def bridge(kind: str = "Root Port (Slot+)", **other: str) -> str:
    """Print a port with something behind it; `other` is what is different."""
    said = {"reports": "+", "speed": "8", "lanes": "4", "active": "+", "slot": ""} | other
    return _BRIDGE.format(kind=kind, **said)


def test_output_that_ends_in_a_function_before_those_behind_a_bridge_says_so() -> None:
    behind = "\n05:00.0 Non-Volatile memory controller: x\n\tControl: I/O- Mem+ BusMaster+\n"
    cut = ["the text ends inside function 02:00.0: what follows it is missing"]
    for used in (
        bridge(),
        bridge(slot=_SLOT.format("-")),
        bridge("Upstream Port", lanes="0"),
        bridge(**_SILENT),
        bridge(**_SILENT, speed="2.5", slot=_SLOT.format("+")),
    ):
        assert notes((used + _BEFORE).encode()) == cut
        assert not notes((used + _BEFORE + behind).encode())
        assert not notes((used + _BEFORE + "\n").encode()), "it ends between functions"


@pytest.mark.parametrize(
    "unused",
    [
        bridge(lanes="0"),
        bridge(active="-"),
        bridge(**_SILENT, slot=_SLOT.format("-")),
        bridge(**_SILENT, speed="2.5"),
        bridge("PCI-Express to PCI/PCI-X Bridge"),
        "".join(bridge().partition("\tCapabilities")[:1]) + "\tCapabilities: <access denied>\n\n",
        "".join(bridge().partition("\tCapabilities")[:1]) + "\tControl: I/O- Mem+ BusMaster+\n\n",
    ],
    ids=[
        "no lanes",
        "link down",
        "empty slot",
        "unused",
        "bus of another kind",
        "ordinary user",
        "conventional",
    ],
)
def test_output_without_its_last_empty_line_is_whole_where_nothing_need_be_behind_a_bridge(
    unused: str,
) -> None:
    """Shells, automation and editors take that line off."""
    assert not notes((unused + _BEFORE).encode())


def test_the_doctor_does_not_pass_half_a_dump() -> None:
    """What was read of it is in order, and nobody knows of the rest."""
    assert diagnose(read_bytes(WHOLE), profile=Profile.PROVISIONING).examined
    half = SERVER[: SERVER.index(b"LnkCap:", SERVER.index(b"\n97:01.0 ")) + 3]
    found = diagnose(read_bytes(half), profile=Profile.PROVISIONING)
    assert not found.fails(Severity.WARNING)
    assert not found.examined
    assert found.missing.startswith("the text ends inside function ")
    assert found.missing.endswith("; take the whole dump again")
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
    assert "archive is incomplete" in read_bytes(packed_bytes[:-200]).breaks_off
