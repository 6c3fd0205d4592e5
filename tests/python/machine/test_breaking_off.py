"""Output of lspci that was cut off: what was read stands, and a note says where it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.machine import read_bytes

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
