"""Several captures in one file: one machine together, and what one of them says alone is not lost."""

from __future__ import annotations

import pytest
from machine_dumps import DUMPS

from lanewise.health.doctor import Diagnosis, Profile, Severity, diagnose
from lanewise.machine import read_bytes

_HOST = "00:00.0 Host bridge: Example Host\n\tControl: I/O- Mem+ BusMaster+\n\n"
_PORT = (
    "00:0{n}.0 PCI bridge: Example Port (prog-if 00 [Normal decode])\n"
    "\tBus: primary=00, secondary=0{n}, subordinate=0{n}, sec-latency=0\n"
    "\tCapabilities: [40] Express (v2) Root Port (Slot+), IntMsgNum 0\n"
    "\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0\n"
    "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+\n"
    "\t\t\tMaxPayload {mps} bytes, MaxReadReq 512 bytes\n"
    "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM not supported\n"
    "\t\tLnkSta:\tSpeed {speed}GT/s, Width x{lanes}\n\n"
)
_DEVICE = (
    "0{n}:00.0 {kind}: {name}\n"
    "\tControl: I/O- Mem+ BusMaster+\n"
    "\tCapabilities: [40] Express (v2) Endpoint, IntMsgNum 0\n"
    "\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0\n"
    "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+\n"
    "\t\t\tMaxPayload {mps} bytes, MaxReadReq 512 bytes\n"
    "\t\tDevSta:\tCorrErr- NonFatalErr- FatalErr{fatal} UnsupReq- AuxPwr- TransPend{pending}\n"
    "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM not supported\n"
    "\t\tLnkSta:\tSpeed {speed}GT/s, Width x{lanes}\n\n"
)
_SOUND = {
    "kind": "Non-Volatile memory controller",
    "name": "Example Drive",
    "mps": "256",
    "fatal": "-",
    "pending": "-",
    "speed": "16",
    "lanes": "4",
}


def capture(*devices: int, **other: str) -> str:
    """Print a machine with drives in order; `other` is of the first of them."""
    parts = [_HOST]
    for n in devices:
        said = _SOUND | (other if n == devices[0] else {})
        parts += [_PORT.format(n=n, **said), _DEVICE.format(n=n, **said)]
    return "".join(parts)


SOUND = capture(1, 2, 3, 4)


def checked(*captures: str) -> Diagnosis:
    return diagnose(read_bytes("\n".join(captures).encode()), cost=False)


@pytest.mark.parametrize("order", [1, -1], ids=["sick first", "sick last"])
@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"lanes": "1"}, "lanes (capture 1: {}x{}, capture 2: {}x{})"),
        ({"speed": "2.5"}, "speed (capture 1: {}GT/s{}, capture 2: {}GT/s{})"),
    ],
)
def test_a_link_that_two_captures_tell_differently_is_a_warning(
    other: dict[str, str], said: str, order: int
) -> None:
    """Nothing tells whether a node was mended in between, or another of the same make is in the file."""
    found = checked(*[capture(1, 2, 3, 4, **other), SOUND][::order])
    (warning,) = [finding for finding in found.findings if finding.rule == "sources-disagree"]
    assert (warning.severity, warning.bdf) == (Severity.WARNING, "01:00.0")
    assert found.fails(Severity.WARNING)
    values = [next(iter(other.values())), "4" if "lanes" in other else "16"][::order]
    words = [f"x{value}" if "lanes" in other else f"{value}GT/s" for value in values]
    assert f"(capture 1: {words[0]}, capture 2: {words[1]})" in warning.title


def test_what_only_an_earlier_capture_says_is_not_passed() -> None:
    """A fatal error of the first of two machines alike; of the second alone the doctor would speak."""
    found = checked(capture(1, 2, 3, 4, fatal="+"), SOUND)
    assert not found.fails(Severity.WARNING)
    assert not found.examined
    assert found.missing == (
        "captures in one file differ, and only the later counts: 01:00.0 (DevCap, DevCtl, DevSta); "
        "give each capture a file of its own"
    )
    assert sum("captures in one file differ" in note for note in found.notes) == 1


def test_payload_sizes_that_differ_are_not_passed() -> None:
    found = checked(capture(1, 2, 3, 4, mps="128"), SOUND)
    assert "00:01.0 (DevCap, DevCtl, DevSta), 01:00.0" in found.missing


def test_captures_of_another_machine_are_counted_and_not_passed() -> None:
    other = SOUND.replace("Example", "Sample")
    found = checked(SOUND, other, other)
    assert found.missing == (
        "dumps of several machines in one file; only the first is read, and 18 functions of others are not; "
        "give each capture a file of its own"
    )
    assert found.functions == 9


@pytest.mark.parametrize("order", [1, -1], ids=["lost later", "lost earlier"])
def test_a_device_that_one_whole_capture_lacks_is_a_warning(order: int) -> None:
    found = checked(*[SOUND, capture(1, 2, 3)][::order])
    (warning,) = [finding for finding in found.findings if finding.rule == "sources-disagree"]
    assert (warning.severity, warning.bdf) == (Severity.WARNING, "04:00.0")
    assert "listed (capture 1: " in warning.title


def test_another_device_at_an_address_is_a_warning_and_is_not_mixed_with_it() -> None:
    found = checked(capture(1, 2, 3, 4, name="Sample Drive", fatal="+"), SOUND)
    (warning,) = [finding for finding in found.findings if finding.rule == "sources-disagree"]
    assert "device (capture 1: Sample Drive, capture 2: Example Drive)" in warning.title


def test_captures_that_agree_pass() -> None:
    """The moment may differ, and so may the verbosity; a part of a machine lacks most of it."""
    idle = capture(1, 2, 3, 4, kind="3D controller", speed="2.5")
    busy = capture(1, 2, 3, 4, kind="3D controller")
    part = SOUND[SOUND.index("01:00.0") : SOUND.index("00:02.0")]
    for captures in (
        (SOUND, SOUND),
        (SOUND, capture(1, 2, 3, 4, pending="+")),
        (idle, busy),
        (SOUND, part),
        (part, SOUND),
        ("\n".join(line for line in SOUND.split("\n") if line[:1] != "\t"), SOUND),
    ):
        found = checked(*captures)
        assert found.examined, found.missing
        assert not found.fails(Severity.WARNING)


@pytest.mark.parametrize("first", ["qemu.txt", "qemu.nnk", "qemu.user.vvv", "qemu.PP.vvv", "qemu.xxxx"])
def test_forms_of_one_machine_agree(first: str) -> None:
    text, whole = (DUMPS / first).read_bytes(), (DUMPS / "qemu.vvv").read_bytes()
    for both in (text + b"\n" + whole, whole + b"\n" + text):
        machine = read_bytes(both)
        assert (machine.left_out, machine.disagreements) == ((), ())
        assert diagnose(machine, cost=False, profile=Profile.PROVISIONING).examined


def test_virtual_functions_that_one_capture_has_are_no_missing_devices() -> None:
    both = (DUMPS / "qemu-vfs.vvv").read_bytes() + b"\n" + (DUMPS / "qemu.vvv").read_bytes()
    machine = read_bytes(both)
    assert machine.disagreements == ()
    assert machine.left_out == ("captures in one file differ, and only the later counts: 01:00.0 (SR-IOV)",)
