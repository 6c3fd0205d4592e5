"""Machines in order that look as if they were not: soldered chipsets, links inside chips, default values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from machines import GPU, NIC, function, machine, pair

from lanewise.health.doctor import Finding, Severity, diagnose
from lanewise.health.predict import predict
from lanewise.machine import read_bytes
from lanewise.machine.model import Address, Errors, Function, Kind, Machine, Registers

SATA = 0x010601


def named(one: Function, vendor: int, device: int, name: str = "Device") -> Function:
    """Give a function the numbers of a real one."""
    return replace(one, identity=replace(one.identity, vendor_id=vendor, device_id=device, device_name=name))


def numbered(numbers: dict[str, tuple[int, int]], *functions: Function, **more: Any) -> Machine:
    """Put functions together, each with vendor and device by its address."""
    return machine(*(named(f, *numbers.get(f.address.short, (0x1234, 0x1))) for f in functions), **more)


def loud(one: Machine) -> list[Finding]:
    return [f for f in diagnose(one, cost=False).findings if f.severity is not Severity.INFO]


def x570(*, chipset: str = "16 x4", drive: str = "16 x4") -> Machine:
    """An X570 board: the chipset could do x8 and is wired with x4; a drive and SATA ports are behind it."""
    return numbered(
        {
            "00:01.2": (0x1022, 0x1483),
            "02:00.0": (0x1022, 0x57AD),
            "03:01.0": (0x1022, 0x57A3),
            "03:09.0": (0x1022, 0x57A4),
            "05:00.0": (0x1022, 0x7901),
        },
        function("00:01.2", Kind.ROOT_PORT, can="16 x8", now=chipset),
        function("02:00.0", Kind.UPSTREAM_PORT, can="16 x8", now=chipset, parent="00:01.2"),
        function("03:01.0", Kind.DOWNSTREAM_PORT, can="16 x4", now=drive, parent="02:00.0"),
        function("04:00.0", Kind.ENDPOINT, can="16 x4", now=drive, parent="03:01.0"),
        function("03:09.0", Kind.DOWNSTREAM_PORT, can="16 x16", parent="02:00.0"),
        function("05:00.0", Kind.ENDPOINT, can="16 x16", class_code=SATA, parent="03:09.0"),
    )


def test_a_soldered_chipset_on_fewer_lanes_is_no_fault() -> None:
    assert loud(x570()) == []
    (finding,) = [f for f in diagnose(x570(), cost=False).findings if f.rule == "link-width"]
    assert "Reseat" not in finding.fix


def test_a_chipset_on_fewer_lanes_than_boards_have_is_a_fault() -> None:
    found = {one.rule: one.severity for one in diagnose(x570(chipset="16 x1"), cost=False).findings}
    assert found["link-width"] is Severity.WARNING


def test_a_drive_behind_the_chipset_that_lost_lanes_is() -> None:
    assert [f.bdf for f in loud(x570(drive="16 x1"))] == ["04:00.0"]


def test_sata_ports_inside_a_chip_are_no_wire() -> None:
    board = x570()
    assert diagnose(board, cost=False).links == 2
    assert {row.bdf for row in predict(board, together=False).rows} == {"04:00.0"}


def mi100(slot: str) -> Machine:
    """An MI100 in a slot: the switch in its chip shows links that are none."""
    return numbered(
        {"01:00.0": (0x1002, 0x14A0), "02:00.0": (0x1002, 0x14A1), "03:00.0": (0x1002, 0x738C)},
        function("00:01.0", Kind.ROOT_PORT, can=slot),
        function("01:00.0", Kind.UPSTREAM_PORT, can="16 x16", now=slot, parent="00:01.0"),
        function("02:00.0", Kind.DOWNSTREAM_PORT, can="16 x16", parent="01:00.0"),
        function("03:00.0", Kind.ENDPOINT, can="16 x16", class_code=0x120000, parent="02:00.0"),
    )


def test_the_switch_inside_a_gpu_does_not_hide_its_slot() -> None:
    found = {f.rule: f for f in diagnose(mi100("8 x16"), cost=False).findings}
    assert found["device-above-slot"].bdf == "01:00.0"
    assert "device-above-slot" not in {f.rule for f in diagnose(mi100("16 x16"), cost=False).findings}
    assert diagnose(mi100("8 x16"), cost=False).links == 1


@pytest.mark.parametrize("label", ["Onboard - Ethernet", "Embedded LOM 1 Port 1", "Integrated NIC 1"])
def test_what_firmware_calls_onboard_cannot_be_reseated(label: str) -> None:
    board = pair(can="5 x4", now="5 x2", port={"can": "5 x4"}, class_code=NIC, label=label)
    assert loud(board) == []
    card = pair(can="8 x8", now="8 x4", port={"can": "8 x8"}, class_code=GPU, vendor=0x10DE, label="SLOT 3")
    assert [f.rule for f in loud(card)] == ["link-width"]


def test_power_saving_as_firmware_sets_it_fails_no_machine() -> None:
    asleep = {"aspm_enabled": ("L1",), "exit_latency_l1_s": 16e-6}
    nic = pair(can="8 x8", port={"can": "8 x8", "link": asleep}, link=asleep, class_code=NIC)
    two = machine(*nic, *(function("00:02.0", Kind.ROOT_PORT, numa_node=1),))
    for one in (nic, two):
        assert loud(one) == []
        assert "aspm-enabled" in {f.rule for f in diagnose(one, cost=False).findings}


def test_small_payloads_of_a_drive_are_a_note() -> None:
    drive = pair(port={"transfers": {"mps": 128}}, transfers={"mps": 128})
    assert loud(drive) == []
    assert "mps-small" in {f.rule for f in diagnose(drive, cost=False).findings}


def adapter(*, now: str) -> Machine:
    """Make an adapter of four gigabit ports in a slot of Gen2 x4."""
    port = function("00:01.0", Kind.ROOT_PORT, can="5 x4", now=now)
    ports = [
        function(f"01:00.{n}", Kind.ENDPOINT, can="5 x4", now=now, class_code=NIC, parent="00:01.0")
        for n in range(4)
    ]
    i350 = (0x8086, 0x1521, "I350 Gigabit Network Connection")
    return machine(port, *(named(one, *i350) for one in ports))


def test_lanes_that_no_wire_could_fill_are_a_note_and_cost_nothing() -> None:
    (narrow,) = [f for f in diagnose(adapter(now="5 x2")).findings if f.rule == "link-width"]
    assert narrow.severity is Severity.INFO
    assert narrow.cost is not None
    assert narrow.cost.gb_per_s == 0
    (starved,) = [f for f in diagnose(adapter(now="2.5 x1")).findings if f.rule == "link-width"]
    assert starved.severity is Severity.WARNING
    assert starved.cost is not None
    assert starved.cost.compared is not None
    assert starved.cost.compared.fixed == pytest.approx(2 * 4 * 0.125), "four ports, both ways"


def test_lanes_that_no_media_could_fill_cost_what_the_media_lose() -> None:
    drive = pair(port={"can": "32 x4"}, can="32 x4", now="16 x4", model="SAMSUNG MZQL23T8HCLS-00A07")
    (slow,) = [f for f in diagnose(drive).findings if f.rule == "link-speed"]
    assert slow.severity is Severity.INFO, "6.5 GB/s go through Gen4 x4, too"
    half = pair(can="16 x4", now="8 x4", model="SAMSUNG MZQL23T8HCLS-00A07")
    (slow,) = [f for f in diagnose(half).findings if f.rule == "link-speed"]
    assert slow.severity is Severity.WARNING
    assert slow.cost is not None
    assert slow.cost.compared is not None
    assert slow.cost.compared.fixed == pytest.approx(6.5 + 3.5)


def test_the_dearest_warning_comes_first() -> None:
    both = machine(
        function("00:01.0", Kind.ROOT_PORT, can="16 x4"),
        function("01:00.0", Kind.ENDPOINT, can="16 x4", now="16 x2", parent="00:01.0"),
        function("00:02.0", Kind.ROOT_PORT, can="16 x16"),
        function("02:00.0", Kind.ENDPOINT, can="16 x16", now="16 x4", class_code=NIC, parent="00:02.0"),
    )
    loud_ones = [f for f in diagnose(both).findings if f.severity is Severity.WARNING]
    assert [f.bdf for f in loud_ones] == ["02:00.0", "01:00.0"]


def hwloc(up: str, *below: str) -> bytes:
    """Write hwloc's XML of a switch with drives below it, of which it tells nothing but bandwidths."""

    def bridge(busid: str, buses: str, speed: str, inner: str) -> str:
        return (
            f'<object type="Bridge" bridge_type="1-1" pci_busid="0000:{busid}" pci_type="0604 [10b5:8749] '
            f'[0000:0000] ca" bridge_pci="0000:[{buses}]" pci_link_speed="{speed}">{inner}</object>'
        )

    def drive(number: int, speed: str) -> str:
        inner = (
            f'<object type="PCIDev" pci_busid="0000:{number:02x}:00.0" pci_type="0108 [8086:0a54] '
            f'[0000:0000] 00" pci_link_speed="{speed}"/>'
        )
        return bridge(f"02:{number:02x}.0", f"{number:02x}-{number:02x}", speed, inner)

    drives = "".join(drive(number, speed) for number, speed in enumerate(below, start=3))
    switch = bridge("00:01.0", "01-20", up, bridge("01:00.0", "02-20", up, drives))
    return (
        '<topology version="2.0"><object type="Machine"><object type="Bridge" bridge_type="0-1" depth="0" '
        f'bridge_pci="0000:[00-20]">{switch}</object></object></topology>'
    ).encode()


def test_bandwidths_of_hwloc_tell_who_shares_a_link() -> None:
    diagnosis = diagnose(read_bytes(hwloc("15.754", *["3.938462"] * 8)))
    (shared,) = [f for f in diagnosis.findings if f.rule == "switch-oversubscribed"]
    assert "8 devices" in shared.title
    assert "2.0 to 1" in shared.title
    assert shared.cost is not None
    assert shared.cost.gb_per_s == pytest.approx(8 * 3.5 - 14, rel=0.1)
    enough = diagnose(read_bytes(hwloc("15.754", *["3.938462"] * 4)), cost=False)
    assert "switch-oversubscribed" not in {f.rule for f in enough.findings}
    assert not enough.examined, "bandwidths alone do not say what links could do"


def test_a_switch_card_in_a_narrow_slot() -> None:
    def found(slot: str) -> set[str]:
        one = machine(
            function("00:01.0", Kind.ROOT_PORT, can=slot),
            function("01:00.0", Kind.UPSTREAM_PORT, can="16 x16", now=slot, parent="00:01.0"),
            function("02:00.0", Kind.DOWNSTREAM_PORT, can="16 x4", parent="01:00.0"),
            function("03:00.0", Kind.ENDPOINT, can="16 x4", parent="02:00.0"),
        )
        return {f.bdf for f in diagnose(one, cost=False).findings if f.rule == "device-above-slot"}

    assert found("16 x8") == {"01:00.0"}
    assert found("16 x16") == set()


def test_a_note_about_few_tags_and_small_requests() -> None:
    few = {"mrrs": 128, "extended_tags": False, "extended_tags_supported": False}
    (note,) = [
        f
        for f in diagnose(pair(can="8 x4", port={"can": "8 x4"}, transfers=few), cost=False).findings
        if f.rule == "mrrs-small"
    ]
    assert note.severity is Severity.INFO, "32 tags of 128 B just about fill Gen3 x4"


def test_ports_that_a_file_leaves_out_are_not_counted() -> None:
    xml = (
        '<system version="1"><cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" '
        'modelid="85"><pci busid="0000:07:00.0" class="0x030200" vendor="0x10de" device="0x20b0" '
        'link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="80" rank="0" gdr="1"/></pci></cpu>'
        "</system>"
    )
    machine_ = read_bytes(xml.encode())
    assert (len(machine_), diagnose(machine_, cost=False).functions) == (2, 1)


def test_an_access_that_a_device_refused_is_a_note() -> None:
    """A public dump of a laptop: a network adapter refused a configuration read of a bus scan."""

    def of(*bits: str, **more: Any) -> list[Severity]:
        errors = Errors(correctable_status=frozenset(), uncorrectable_status=frozenset(bits), **more)
        found = diagnose(pair(registers={"errors": errors}), cost=False).findings
        return [f.severity for f in found if f.rule == "uncorrectable-errors"]

    assert of("CmpltAbrt") == [Severity.INFO]
    assert of("CmpltAbrt", "CmpltTO") == [Severity.WARNING]
    assert of("CmpltAbrt", counters=(("nonfatal.TOTAL", 3),)) == [Severity.WARNING]


def test_a_function_that_does_not_answer_hides_nothing_else() -> None:
    silent = function("01:00.1", Kind.ENDPOINT, parent="00:01.0", registers={"no_answer": ("(rev ff)",)})
    bare = replace(silent, kind=None, registers=Registers(no_answer=("(rev ff)",)))
    assert diagnose(machine(*pair(), bare), cost=False).examined


def test_sound_of_a_gpu_that_answers_may_be_switched_off() -> None:
    """In a public dump of a laptop the GPU answers and its sound does not."""
    gpu = pair(can="8 x16", port={"can": "8 x16"}, class_code=GPU, vendor=0x10DE)
    silent = {"parent": "00:01.0", "registers": {"no_answer": ("(rev ff)",)}}
    sound = function("01:00.1", Kind.ENDPOINT, class_code=0x040300, **silent)
    assert loud(machine(*gpu, sound)) == []
    dead = function("01:00.0", Kind.ENDPOINT, class_code=GPU, vendor=0x10DE, **silent)
    assert "device-dead" in {f.rule for f in loud(machine(gpu["00:01.0"], dead))}


@pytest.mark.parametrize("now", ["8 x16", "16 x8"])
def test_the_uplink_of_a_switch_is_not_reseated(now: str) -> None:
    one = machine(
        function("00:01.0", Kind.ROOT_PORT, can="16 x16", now=now),
        function("01:00.0", Kind.UPSTREAM_PORT, can="16 x16", now=now, parent="00:01.0"),
        function("02:00.0", Kind.DOWNSTREAM_PORT, can="16 x4", parent="01:00.0"),
        function("03:00.0", Kind.ENDPOINT, can="16 x4", parent="02:00.0"),
    )
    (finding,) = loud(one)
    assert finding.fix.startswith("01:00.0 is the uplink of a switch")
    assert "Reseat" not in finding.fix
    assert "PORT" not in finding.fix


@pytest.mark.parametrize(
    ("class_code", "count", "severity"),
    [
        (0x030000, 2, None),
        (0x030000, 4, Severity.INFO),
        (0x030200, 3, Severity.INFO),
        (0x030200, 4, Severity.WARNING),
    ],
)
def test_a_narrower_slot_is_how_a_workstation_is_built_and_odd_in_a_server(
    class_code: int, count: int, severity: Severity | None
) -> None:
    slots = ["16 x8", *["16 x16"] * (count - 1)]
    one = machine(
        *(function(f"00:0{n}.0", Kind.ROOT_PORT, can=slot) for n, slot in enumerate(slots, 1)),
        *(
            function(
                f"0{n}:00.0",
                Kind.ENDPOINT,
                now=slot,
                class_code=class_code,
                vendor=0x10DE,
                parent=f"00:0{n}.0",
            )
            for n, slot in enumerate(slots, 1)
        ),
    )
    said = [f.severity for f in diagnose(one, cost=False).findings if f.rule == "odd-one-out"]
    assert said == ([] if severity is None else [severity])


_BEHIND_A_BRIDGE = """0003:00:00.0 PCI bridge: IBM Device 04c1 (prog-if 00 [Normal decode])
	Bus: primary=00, secondary=01, subordinate=01, sec-latency=0
	Memory behind bridge: 80000000-ffefffff [size=2047M]
	Prefetchable memory behind bridge: None
	Capabilities: [48] Express (v2) Root Port (Slot-), MSI 00
		LnkSta:	Speed 5GT/s, Width x1

0003:01:00.0 USB controller: Texas Instruments TUSB73x0 (prog-if 30 [XHCI])
	Control: I/O- Mem+ BusMaster+
	Region 0: Memory at {address} (64-bit, non-prefetchable) [size=64K]
	Region 2: Memory at {other} (64-bit, non-prefetchable) [size=8K]
	Capabilities: [70] Express (v2) Endpoint, MSI 00
		LnkSta:	Speed 5GT/s, Width x1
"""


@pytest.mark.parametrize(
    ("address", "other", "said"),
    [("600c180000000", "600c180010000", []), ("80000000", "600c180010000", ["0003:01:00.0"])],
    ids=["all are the processor's", "one is in the window"],
)
def test_addresses_that_a_host_bridge_translates_are_no_conflict(
    address: str, other: str, said: list[str]
) -> None:
    """On POWER lspci shows addresses of the processor at devices, and those of the bus at bridges."""
    dump = read_bytes(_BEHIND_A_BRIDGE.format(address=address, other=other).encode())
    found = [f for f in diagnose(dump, cost=False).findings if f.rule == "address-conflict"]
    assert [f.bdf for f in found] == said


@pytest.mark.parametrize(
    ("gb_s", "link"),
    [("1.0", "gen1 x4"), ("3.938462", "gen3 x4"), ("7.876923", "gen4 x4"), ("15.753846", "gen5 x4")],
)
def test_a_drive_of_which_hwloc_tells_the_bandwidth_has_four_lanes(gb_s: str, link: str) -> None:
    """15.75 GB/s are also Gen3 x16, which no drive has."""
    told = read_bytes(hwloc("31.507692", gb_s))
    prediction = predict(told, together=False, devices=[Address.parse("03:00.0")])
    assert {row.link for row in prediction.rows} == {link}
    assert any("only the bandwidth is known" in text for text in prediction.assumptions)
