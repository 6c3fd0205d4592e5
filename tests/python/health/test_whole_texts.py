"""Texts as people send them whole: logs with patches below them, bug reports, logs of many boots."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import tarfile
from dataclasses import replace
from email.message import EmailMessage

import pytest
from machines import function, machine

from lanewise.health.doctor import diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes
from lanewise.machine.address import Address
from lanewise.machine.function import Identity
from lanewise.machine.model import EventKind, KernelEvent, Kind, LinkMode
from lanewise.machine.sources import start_up

PATCH = """\
---
 drivers/net/demo/demo.c | 3 ++-
 1 file changed, 2 insertions(+), 1 deletion(-)

diff --git a/drivers/net/demo/demo.c b/drivers/net/demo/demo.c
index 1234567..89abcde 100644
--- a/drivers/net/demo/demo.c
+++ b/drivers/net/demo/demo.c
@@ -10,3 +10,4 @@ static int demo_probe(struct pci_dev
*pdev)
 \tint err;
-\treturn 0;
+\terr = demo_reset(pdev);
+\treturn err;
 }
"""
LATE = """\
Hello,

the adapter stops now and then:

[   89.064019] NETDEV WATCHDOG: enp2s0 (igb): transmit queue 0 timed out
[   89.253350] igb 0000:02:00.0 enp2s0: Reset adapter

This patch mends it.

"""
GPU = "01:00.0 VGA compatible controller: NVIDIA Corporation GA104 [GeForce RTX 3060 Ti] (rev a1)\n"
BOOT = "[    0.000000] Linux version 6.11.0-29-generic (buildd@host) (gcc 13.3.0) #29 SMP\n"
VERSION = """\
____________________________________________

*** /proc/version
*** ls: -r--r--r-- 1 root root 0 2025-07-07 18:36:55 /proc/version
Linux version 6.11.0-29-generic (buildd@host) (gcc 13.3.0) #29 SMP
"""
XID = "NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"


def found(text: str | bytes) -> list[Finding]:
    return list(diagnose(read_bytes(text if isinstance(text, bytes) else text.encode()), cost=False).findings)


def told(text: str | bytes) -> list[tuple[str, str, str]]:
    return [(finding.bdf, finding.rule, finding.severity.value) for finding in found(text)]


@pytest.mark.parametrize("text", [LATE + PATCH, PATCH + LATE, PATCH + LATE + PATCH])
def test_a_log_beside_a_patch_is_read(text: str) -> None:
    assert told(text) == [("02:00.0", "device-timeout", "warning")]
    assert not any("diff" in note for note in read_bytes(text.encode()).notes)


def test_lines_that_a_diff_of_logs_takes_away_are_not_read() -> None:
    lines = LATE.splitlines()[4:6]
    text = "@@ -1,2 +1,1 @@\n" + "".join(f"-{line}\n" for line in lines) + "+[ 1.0] igb 0000:02:00.0: up\n"
    assert told(text) == []
    assert any("newer side" in note for note in read_bytes(text.encode()).notes)


CARD = """\
01:00.0 Ethernet controller [0200]: Intel Corporation Ethernet Controller X710 [8086:1572] (rev 01)
-\t\tLnkSta:\tSpeed 8GT/s (ok), Width x8 (ok)
+\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (ok)
"""


@pytest.mark.parametrize("command", ["diff -u old.txt new.txt\n", ""])
def test_a_shortened_hunk_ends_where_the_next_file_begins(command: str) -> None:
    cut = PATCH.replace("@@ -10,3 +10,4 @@", "@@ -10,60 +10,61 @@")
    machine = read_bytes(f"{cut}{command}--- old.txt\n+++ new.txt\n@@ -1,2 +1,2 @@\n {CARD}".encode())
    assert str(machine["01:00.0"].link.status) == "2.5GT/s x8"
    assert any("newer side" in note for note in machine.notes)


@pytest.mark.parametrize(
    "name",
    [
        *("Documentation/PCI/errors.txt", "docs/errors.md", "docs/errors.rst", "tests/log.json", "a.toml"),
        "arch/x86/configs/debug.config",
    ],
)
@pytest.mark.parametrize("mark", ["+++ b/{}", "+++ /dev/null", "+++ {}\t2024-01-01 00:00:00"])
def test_an_example_in_a_patch_is_no_log(name: str, mark: str) -> None:
    # A line of context stands on either side of a hunk; a file that is deleted has older lines alone.
    sign = "-" if "null" in mark else " "
    text = f"--- a/{name}\n{mark.format(name)}\n@@ -1,2 +1,1 @@\n-{LATE.splitlines()[4]}\n{sign}{XID}"
    assert told(LATE + text) == [("02:00.0", "device-timeout", "warning")]
    assert not any("diff" in note for note in read_bytes((LATE + text).encode()).notes)


def packed(name: str, content: bytes) -> bytes:
    """Make an archive of one file."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return whole.getvalue()


LISTED = packed("lspci.txt", GPU.encode() + hashlib.shake_256(b"").digest(4000).hex().encode())


@pytest.mark.parametrize(
    ("attached", "note"),
    [
        (LISTED[:900], "is incomplete or damaged|cannot be unpacked|cannot be read"),
        (LISTED[:30], "cannot be unpacked"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(200), "7z and rar archives are not read"),
        (packed("system_info.pb", bytes(400)), None),
    ],
    ids=["cut off", "cut off early", "7z", "nothing to read"],
)
def test_an_archive_beside_a_text_is_not_left_out_without_a_word(attached: bytes, note: str | None) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "slow card"
    message.set_content(GPU)
    message.add_attachment(attached, maintype="application", subtype="gzip", filename="dump.tar.gz")
    machine = read_bytes(message.as_bytes())
    assert len(machine) == 1
    said = [one for one in machine.notes if one.startswith("an attached archive was left out: ")]
    assert len(said) == (note is not None)
    assert note is None or re.search(note, said[0])


def records() -> bytes:
    """Make what `nvidia-debugdump` leaves at the end of a bug report: a packed archive of its own records."""
    return base64.encodebytes(packed("system_info.pb", bytes(range(200)) * 2))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_bug_report_with_packed_records_is_a_text(pack: type[bytes]) -> None:
    report = (GPU + BOOT + "[ 1897.016345] " + XID + VERSION).encode() + records()
    assert ("01:00.0", "device-lost", "error") in told(pack(report))


def test_a_gpu_that_was_lost_in_an_earlier_boot_is_a_warning() -> None:
    kept = "Jul 07 17:26:34 host kernel: " + XID
    (finding,) = [one for one in found(kept + BOOT + GPU + VERSION) if one.rule == "device-lost"]
    assert (finding.bdf, finding.severity.value) == ("01:00.0", "warning")
    assert "in an earlier boot (Xid 79)" in finding.title
    assert told("[   10.0] NETDEV WATCHDOG: enp2s0 (igb): transmit queue 0 timed out\n" + BOOT + GPU) == []


RADEON = "03:00.0 Display controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [1002:744c] (rev c8)\n"


@pytest.mark.parametrize(
    ("line", "bdf"), [("amdgpu: device lost from bus!\n", "03:00.0"), (f"{XID}", "01:00.0")]
)
def test_a_lost_gpu_without_an_address_is_the_one_of_its_driver(line: str, bdf: str) -> None:
    line = line.replace(" (PCI:0000:01:00)", "")
    gpus = GPU.replace("(rev a1)", "[10de:2489] (rev a1)") + RADEON
    assert (bdf, "device-lost", "error") in told(f"{gpus}[  105.1] {line}")
    assert (bdf, "device-lost", "warning") in told(f"[  105.1] {line}{BOOT}{gpus}")


def test_a_gpu_that_is_dead_now_does_not_work_since_an_earlier_boot() -> None:
    dead = GPU.replace("rev a1", "rev ff")
    for kept in (XID, XID.replace(" (PCI:0000:01:00)", "")):
        rules = [rule for bdf, rule, _ in told(kept + BOOT + dead) if bdf == "01:00.0"]
        assert "device-dead" in rules
        assert "device-lost" not in rules


@pytest.mark.parametrize(
    ("line", "bdf", "rule", "severity"),
    [
        (
            "rtsx_pci 0000:3b:00.0: Unable to change power state from D0 to D3hot, device inaccessible",
            "3b:00.0",
            "driver-error",
            "info",
        ),
        ("rtsx_pci 0000:3b:00.0: PM: failed to resume async: error -110", "3b:00.0", "driver-error", "info"),
        ("nvme 0000:3b:00.0: PM: failed to resume async: error -110", "3b:00.0", "device-lost", "error"),
        (
            "pci 0000:09:00.0: Unable to change power state from unknown to D0, device inaccessible",
            "09:00.0",
            "device-lost",
            "error",
        ),
        ("accel 0000:05:00.0: Failed to enable MSI -28", "05:00.0", "driver-error", "info"),
        ("NVRM: RmInitAdapter failed! (0x26:0xffff:1113)", "a GPU", "device-lost", "error"),
        (
            "NVRM: rm_init_adapter failed for device bearing minor number 2",
            "a GPU",
            "device-lost",
            "error",
        ),
    ],
)
def test_each_line_is_told_at_its_device(line: str, bdf: str, rule: str, severity: str) -> None:
    gpu = "[    0.1] nvidia 0000:{}:00.0: enabling device (0100 -> 0103)\n"
    others = gpu.format("81") + gpu.format("82")
    assert (bdf, rule, severity) in told(f"{others}[    3.4] {line}\n")


def test_of_interrupts_only_those_that_could_not_be_enabled_are_told() -> None:
    line = "[    3.4] ixgbe 0000:3b:00.0: Failed to {} MSI-X interrupts{}\n"
    assert told(line.format("allocate", ", error -28")) == []
    (finding,) = found(line.replace(" interrupts", "").format("enable", ": -28"))
    assert (finding.bdf, finding.rule) == ("3b:00.0", "driver-error")


SLOT = "pciehp: Slot #91 AttnBtn- PwrCtrl{} MRL- AttnInd- PwrInd- HotPlug+ Surprise+ Interlock- LLActRep+"
FAULT = "[{}] pcieport 10000:00:02.0: pciehp: Slot(91): Power fault\n"


@pytest.mark.parametrize(
    ("controls", "lines", "severity"),
    [("-", FAULT.format("1.6"), set()), ("+", FAULT.format("1.6"), {"slot-power-fault"})],
)
def test_a_power_fault_at_start_needs_a_power_controller(
    controls: str, lines: str, severity: set[str]
) -> None:
    start = f"[    1.5] pcieport 10000:00:02.0: {SLOT.format(controls)}\n"
    assert {rule for _, rule, _ in told(start + lines)} == severity
    assert {rule for _, rule, _ in told(start + lines + FAULT.format("900.1"))} == {"slot-power-fault"}


AHCI = "[    1.550231] ahci 0000:00:0e.0: probe with driver ahci failed with error -22\n"
ROUTING = "[    1.5] pcieport 10000:00:02.0: can't derive routing for PCI INT A\n"


def test_a_controller_that_another_driver_has_is_no_fault() -> None:
    assert told(AHCI + "[    2.309517] vmd 0000:00:0e.0: PCI host bridge to bus 10000:e0\n") == []
    assert ("00:0e.0", "device-lost", "error") in told(AHCI + ROUTING)
    assert told(ROUTING + ROUTING.replace("pcieport 10000:00:02.0", "ahci 10000:e0:17.0")) == []


SLOT_SAYS = f"[    1.5] pcieport 10000:00:02.0: {SLOT.format('-')}\n"


def test_a_power_fault_at_the_start_of_an_earlier_boot_excuses_none_of_the_last() -> None:
    later = BOOT + SLOT_SAYS + 30 * "[    2.5] usb 1-1: new device\n" + FAULT.format("900.1")
    assert {rule for _, rule, _ in told(BOOT + SLOT_SAYS + FAULT.format("1.6") + later)} == {
        "slot-power-fault"
    }


def test_a_log_that_is_there_twice_says_nothing_more() -> None:
    log = (
        SLOT_SAYS
        + FAULT.format("1.6")
        + AHCI
        + "[    2.3] vmd 0000:00:0e.0: PCI host bridge to bus 10000:e0\n"
    )
    journal = "".join(
        f"Jul 07 17:26:34 host kernel: {line.partition('] ')[2]}\n" for line in log.splitlines()
    )
    assert told(log + journal) == []
    late = FAULT.format("900.1")
    (finding,) = found(log + late + journal)
    assert (finding.rule, len(finding.evidence)) == ("slot-power-fault", 1)
    (finding,) = found(log + AHCI)
    assert (finding.bdf, finding.rule) == ("00:0e.0", "device-lost")


def test_many_drivers_that_did_not_start_cost_one_look_at_each_line() -> None:
    """Each line was compared with each device: 4,000 of them took seconds. Nothing is timed here."""
    searched = 0

    class Counting(str):
        """A line that counts how often it is looked through for something."""

        def __contains__(self, part: object) -> bool:
            nonlocal searched
            searched += 1
            return super().__contains__(str(part))

        def __getitem__(self, place: object) -> Counting:
            return Counting(super().__getitem__(place))  # type: ignore[index]

    devices = [f"0000:{bus:02x}:{slot:02x}.0" for bus in range(1, 21) for slot in range(20)]
    lines = [f"ahci {one}: probe with driver ahci failed with error -22" for one in devices]
    told = [
        (KernelEvent(EventKind.DEVICE_FAILED, line, address=Address.parse(one)), "ahci")
        for line, one in zip(lines, devices, strict=True)
    ]
    spoken = [f"vmd {one}: PCI host bridge to bus 10000:e0" for one in devices[1:]]
    left = start_up.without_what_is_no_fault(told, [Counting(line) for line in lines + spoken])
    assert [str(event.address) for event, _ in left] == devices[:1]
    assert len(lines) < searched < 4 * len(lines + spoken)


def test_a_library_that_does_not_fit_is_no_dead_gpu() -> None:
    text = GPU + "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n"
    (finding,) = [one for one in found(text) if one.rule == "gpu-unreachable"]
    assert (finding.bdf, finding.severity.value) == ("01:00.0", "info")
    assert "library has another version" in finding.title


QUERY = """\
==============NVSMI LOG==============
Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA GeForce RTX 4090
    Addressing Mode                       : {}
    Temperature
        GPU Current Temp                  : {}
"""


@pytest.mark.parametrize(
    ("mode", "degrees", "rules"),
    [
        ("Unknown Error", "31 C", set()),
        ("HMM", "Unknown Error", {"gpu-health"}),
    ],
)
def test_a_setting_that_the_driver_cannot_tell_is_no_fault(mode: str, degrees: str, rules: set[str]) -> None:
    assert {rule for _, rule, _ in told(QUERY.format(mode, degrees))} == rules


@pytest.mark.parametrize(("width", "rules"), [("8 x8", {"link-one-end"}), ("8 x16", set())])
def test_one_of_two_switches_alike_at_half_of_its_lanes_is_a_warning(width: str, rules: set[str]) -> None:
    ports = [
        function(bdf, Kind.UPSTREAM_PORT, can="8 x16", now=now, vendor=0x10B5)
        for bdf, now in (("17:00.0", "8 x16"), ("3b:00.0", width))
    ]
    warned = {f.rule for f in diagnose(machine(*ports), cost=False).findings if f.severity.value == "warning"}
    assert warned == rules


@pytest.mark.parametrize(
    ("ports", "now", "severity"),
    [(4, "5 x1", "warning"), (4, "2.5 x1", "warning"), (2, "5 x1", "info"), (4, "5 x2", "info")],
)
def test_lanes_count_where_the_ports_of_an_adapter_carry_more(ports: int, now: str, severity: str) -> None:
    name = Identity(class_code=0x020000, vendor_id=0x8086, device_id=0x1521, device_name="I350 Gigabit")
    cards = [
        function(
            f"07:00.{number}",
            Kind.ENDPOINT,
            can="5 x4",
            now=now,
            class_code=0x020000,
            vendor=0x8086,
            parent="00:1c.4",
            transfers={"mps": 128},
        )
        for number in range(ports)
    ]
    cards = [replace(card, identity=name) for card in cards]
    whole = machine(function("00:1c.4", Kind.ROOT_PORT, can="5 x4", now=now), *cards)
    assert severity in {
        f.severity.value for f in diagnose(whole, cost=False).findings if f.rule == "link-width"
    }


def test_the_speed_in_a_line_counts_more_than_the_advice_below_it() -> None:
    line = "[ 3024.6] i40e 0000:02:00.0: PCI-Express"
    advice = f"{line} bandwidth available for this device may be insufficient for optimal performance.\n"
    assert told(f"{line}: Speed 2.5GT/s Width x4\n{advice}") == [("02:00.0", "device-reduced", "warning")]
    assert told(advice) == [("02:00.0", "device-reduced", "info")]


@pytest.mark.parametrize(("ports", "severities"), [(2, []), (4, ["info"] * 4)])
def test_advice_about_a_link_that_carries_all_ports_is_no_finding(ports: int, severities: list[str]) -> None:
    """Gen3 x4 is enough for two ports of 10GBASE-T, and not for four; i40e asks for x8 in any case."""
    said = ""
    for port in range(ports):
        name = f"0000:02:00.{port}"
        said += f"[ 1.1] pci {name}: [8086:15ff] type 00 class 0x020000 PCIe Endpoint\n"
    for port in range(ports):
        line = f"[ 3.1] i40e 0000:02:00.{port}: PCI-Express"
        advice = "bandwidth available for this device may be insufficient for optimal performance."
        said += f"{line}: Speed 8.0GT/s Width x4\n{line} {advice}\n"
    found = told(said)
    assert [severity for _, rule, severity in found if rule == "device-reduced"] == severities


def test_a_driver_tells_how_the_link_of_its_adapter_runs() -> None:
    line = "[ 3.1] i40e 0000:02:00.0: PCI-Express: Speed 8.0GT/s Width x4\n"
    log = f"[ 1.1] pci 0000:02:00.0: [8086:15ff] type 00 class 0x020000 PCIe Endpoint\n{line}"
    assert read_bytes(log.encode())["02:00.0"].link.status == LinkMode(8.0, 4)
