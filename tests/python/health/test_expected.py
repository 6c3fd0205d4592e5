"""What `doctor --expect` says: missing, extra, moved, slower, set otherwise; not what may change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fleets import changed, device, gpu, node, parts, whole
from machines import NIC, NVME

from lanewise.errors import InputError
from lanewise.health.doctor import Diagnosis, Finding, Severity, diagnose
from lanewise.health.doctor.expected import RULES
from lanewise.health.fleet import baseline
from lanewise.health.fleet.baseline import remarks
from lanewise.health.fleet.reading import parse_fleet_file
from lanewise.machine import read, read_bytes
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.model import Machine

BASELINE = baseline(whole())
DUMPS = Path(__file__).parents[1] / "machine" / "dumps"
NAMES = {rule.id for rule in RULES}


def diagnosis(machine: Machine, text: str = BASELINE, *, cost: bool = False) -> Diagnosis:
    return diagnose(machine, cost=cost, fleet=[parse_fleet_file(text, "fleet.toml")])


def expected(machine: Machine, text: str = BASELINE) -> list[Finding]:
    return [finding for finding in diagnosis(machine, text).findings if finding.rule in NAMES]


def only(machine: Machine, text: str = BASELINE) -> Finding:
    (finding,) = expected(machine, text)
    return finding


def line_of(finding: Finding, text: str = BASELINE) -> str:
    """Return the line of the file that the first piece of evidence names."""
    name, number, _ = finding.evidence[0].split(":", 2)
    assert name == "fleet.toml"
    return text.splitlines()[int(number) - 1]


def test_a_machine_is_as_its_own_baseline_says() -> None:
    done = diagnosis(whole())
    assert [f.title for f in done.findings if f.rule in NAMES] == []
    assert [(one.what, one.expected, one.present) for one in done.expected] == [
        ("Maker H100", 4, 4),
        ("Maker ConnectX-7", 1, 1),
        ("Maker drive", 2, 2),
    ]


@pytest.mark.parametrize("dump", sorted(path.name for path in DUMPS.iterdir()))
def test_so_is_every_dump_at_hand(dump: str) -> None:
    machine = read(DUMPS / dump)
    assert [f.title for f in expected(machine, baseline(machine))] == []


def test_seven_of_eight_say_which() -> None:
    finding = only(changed(p3=None))
    assert (finding.rule, finding.severity) == ("expected-missing", Severity.ERROR)
    assert finding.title == "3 of 4 Maker H100; missing: slot 3 (31:00.0)"
    assert finding.bdf == "31:00.0"
    assert line_of(finding) == "count = 4"
    assert finding.cost is not None


def test_counts_alone_are_enough() -> None:
    text = 'format = 1\n[[count]]\nid = "10de:*"\ncount = 4\n[[count]]\nclass = "nvme"\ncount = 2\n'
    assert expected(whole(), text) == []
    finding = only(changed(p3=None, p6=None, p5=None), text.replace("count = 2", "count = 1"))
    assert (finding.title, finding.bdf) == ("3 of 4 10de:*", "")


def test_another_device_in_its_place_is_named_and_not_counted_twice() -> None:
    finding = only(changed(p3=device(3, NVME)))
    assert finding.rule == "expected-missing"
    assert finding.evidence[1].endswith("31:00.0 Maker drive is there")


def test_one_too_many_and_one_that_nobody_described() -> None:
    finding = only(changed(p8=device(8, NVME)))
    assert (finding.rule, finding.bdf) == ("expected-extra", "81:00.0")
    assert finding.title == "3 of 2 Maker drive: 81:00.0 not expected"
    stranger = device(8, NIC)
    stranger[1] = replace(stranger[1], identity=replace(stranger[1].identity, device_id=0x9999))
    finding = only(changed(p8=stranger))
    assert (finding.rule, finding.bdf) == ("expected-extra", "81:00.0")
    assert expected(changed(p8=stranger), BASELINE.replace('"report"', '"ignore"', 1)) == []


def test_a_card_in_another_slot_has_moved() -> None:
    finding = only(changed(p5=None, p9=device(9, NIC)))
    assert (finding.rule, finding.bdf, finding.severity) == ("expected-moved", "91:00.0", Severity.WARNING)
    assert finding.title == "91:00.0 (Maker ConnectX-7) is in slot 9, not in slot 5 (51:00.0)"


def test_other_bus_numbers_are_no_fault() -> None:
    """A card with buses of its own shifts those behind it; another node may number its root otherwise."""
    assert expected(changed(p3=gpu(3, bus=0x3F))) == []
    without_slots = "\n".join(line.replace(f'slot = "{n}", ', "") for n, line in _numbered(BASELINE))
    assert expected(changed(p3=gpu(3, bus=0x3F)), without_slots) == []
    elsewhere = without_slots.replace('path = "30:01.0', 'path = "a0:01.0').replace('at = "31:', 'at = "a1:')
    assert expected(whole(), elsewhere) == []


def _numbered(text: str) -> list[tuple[str, str]]:
    import re

    return [
        (match[1] if (match := re.search(r'slot = "(\d+)"', line)) else "", line)
        for line in text.splitlines()
    ]


def test_an_address_decides_only_where_nothing_better_does() -> None:
    text = 'format = 1\n[[count]]\nid = "15b3:*"\ncount = 1\nplaces = [{ at = "51:00.0" }]\n'
    assert expected(whole(), text) == []
    assert only(changed(p5=device(5, NIC, bus=0x5A)), text).rule == "expected-moved"


def test_a_narrow_link_names_the_line_and_what_it_costs() -> None:
    done = diagnosis(changed(p2=gpu(2, now="32 x8")), cost=True)
    (finding,) = [f for f in done.findings if f.rule in NAMES]
    assert finding.rule == "expected-link"
    assert finding.title == "21:00.0 runs at 32 GT/s x8, narrower than the 32 GT/s x16 expected"
    assert line_of(finding) == 'link = "32 GT/s x16"'
    assert finding.cost is not None
    assert finding.cost.gb_per_s is not None
    assert finding.cost.gb_per_s > 10


def test_a_smaller_card_is_found_although_both_ends_do_what_they_can() -> None:
    finding = only(changed(p6=device(6, NVME, can="8 x4", port={"can": "16 x4"})))
    assert finding.title.startswith("61:00.0 runs at 8 GT/s x4, slower than the 16 GT/s x4 expected")


def test_idle_gpus_are_as_expected_and_their_baseline_has_the_full_speed() -> None:
    idle = node(*(gpu(n, now="2.5 x16") for n in range(1, 5)), *(parts()[n] for n in (5, 6, 7)))
    assert expected(idle) == []
    text = baseline(idle)
    assert 'link = "32 GT/s x16"' in text
    assert "# link: all ran at 2.5 GT/s, as idle GPUs do" in text
    assert expected(whole(), text) == []
    slower = only(changed(p2=gpu(2, can="16 x16", now="2.5 x16")), text)
    assert slower.rule == "expected-link"


def test_a_wider_link_is_worth_a_note() -> None:
    text = BASELINE.replace('link = "16 GT/s x4"', 'link = "8 GT/s x4"')
    assert {finding.severity for finding in expected(whole(), text)} == {Severity.INFO}


@pytest.mark.parametrize(
    ("part", "title"),
    [
        (gpu(2, transfers={"mps": 128}), "21:00.0 has mps 128 B, not 256 B (Maker H100)"),
        (gpu(2, transfers={"mrrs": 4096}), "21:00.0 has mrrs 4 KiB, not 512 B (Maker H100)"),
        (gpu(2, driver=None), "21:00.0 has driver none, not native (Maker H100)"),
        (gpu(2, numa_node=1), "21:00.0 has numa_node 1, not 0 (Maker H100)"),
        (
            gpu(2, transfers={"relaxed_ordering": False}),
            "21:00.0 has relaxed_ordering false, not true (Maker H100)",
        ),
        (gpu(2, link={"aspm_enabled": ("L1",)}), "21:00.0 has aspm [L1], not none (Maker H100)"),
    ],
)
def test_settings(part: list, title: str) -> None:  # type: ignore[type-arg]
    finding = only(changed(p2=part))
    assert (finding.rule, finding.title, finding.bdf) == ("expected-setting", title, "21:00.0")
    key = title.split()[2]
    assert key in line_of(finding)


def test_registers_of_the_port_and_of_capabilities() -> None:
    from lanewise.machine.model import Acs, ResizableBar, Slot, Sriov

    acs = {
        "registers": {"slot": Slot(number=2), "acs": Acs(frozenset({"ReqRedir"}), frozenset({"ReqRedir"}))}
    }
    assert (
        only(changed(p2=gpu(2, port=acs))).title == "21:00.0 has port_acs [ReqRedir], not none (Maker H100)"
    )
    bar = {"resizable_bars": (ResizableBar(1, 256 << 20),)}
    title = "21:00.0 has resizable_bars { bar1 = 256 MiB }, not { bar1 = 128 GiB } (Maker H100)"
    assert only(changed(p2=gpu(2, registers=bar))).title == title
    sriov = {"sriov": Sriov(total=16, enabled=True, count=8)}
    finding = only(changed(p2=gpu(2, registers=sriov)))
    assert finding.title == "21:00.0 has virtual_functions 8, not 0 (Maker H100)"
    assert "devices/0000:21:00.0/sriov_numvfs" in finding.fix


def test_the_machine_as_a_whole() -> None:
    text = 'format = 1\n[host]\nnuma_nodes = 4\niommu = "off"\n'
    wrong = {finding.title for finding in expected(whole(), text)}
    assert "numa_nodes of the machine is 2, not 4" in wrong
    assert "fleet.toml expects a value that the source does not have: host.iommu" in wrong
    grouped = parts()
    grouped[1][1] = replace(grouped[1][1], iommu_group=7)
    assert "iommu of the machine is on, not off" in {f.title for f in expected(node(*grouped.values()), text)}


@pytest.mark.parametrize(
    ("types", "wanted", "rule"),
    [
        (["identity", "identity", "DMA"], "passthrough", None),
        (["identity", "identity", "DMA"], "on", None),
        (["identity"], "translated", "expected-setting"),
        (["DMA-FQ"], "passthrough", "expected-setting"),
        (["DMA-FQ"], "off", "expected-setting"),
        ([None], "on", None),
        ([None], "off", "expected-setting"),
        ([None], "passthrough", "expected-unknown"),
    ],
)
def test_how_the_iommu_is_used(types: list[str | None], wanted: str, rule: str | None) -> None:
    grouped = parts()
    for place, kind in enumerate(types, start=1):
        grouped[place][1] = replace(grouped[place][1], iommu_group=place, iommu_type=kind)
    machine = node(*grouped.values())
    text = f'format = 1\n[host]\niommu = "{wanted}"\n'
    assert [finding.rule for finding in expected(machine, text)] == ([rule] if rule else [])
    assert expected(machine, baseline(machine)) == []


def test_a_log_tells_how_the_iommu_is_used_and_sysfs_that_there_is_none() -> None:
    line = "iommu: Default domain type: Passthrough (set via kernel command line)"
    logged = whole(events=(KernelEvent(EventKind.IOMMU, line),))
    assert 'iommu = "passthrough"' in baseline(logged)
    assert 'iommu = "off"' in baseline(whole(kinds=("sysfs",)))
    assert "iommu = " not in baseline(whole())


def test_what_the_source_does_not_tell_does_not_pass() -> None:
    blind = parts()
    blind[1][1] = replace(blind[1][1], registers=blind[1][1].registers._replace(link=None, transfers=None))
    blind[1][0] = replace(blind[1][0], registers=blind[1][0].registers._replace(link=None))
    finding = only(node(*blind.values()))
    assert (finding.rule, finding.severity) == ("expected-unknown", Severity.WARNING)
    assert {"link: 11:00.0", "mps: 11:00.0"} <= set(finding.evidence)
    assert "link of 11:00.0" in finding.title


def test_alike_devices_differ_only_in_their_places() -> None:
    """Eight GPUs take one entry, with a line for each place, and the entry can be shortened by hand."""
    assert BASELINE.count("[[count]]") == 3
    assert BASELINE.count("slot = ") == 7
    assert "numa_node" in BASELINE.split("places")[1]
    listed = [line for line in BASELINE.splitlines() if "{ slot" not in line]
    short = "\n".join(listed).replace("places = [\n]", "")
    assert "places" not in short.split("format")[1]
    assert expected(whole(), short) == []
    assert only(changed(p4=None), short).title == "3 of 4 Maker H100"


def test_a_gpu_without_its_port_may_sleep_and_may_not_fall_back() -> None:
    def alone(now: str) -> Machine:
        lower = gpu(1, now=now)[1]
        return node([replace(lower, parent=None)])

    text = 'format = 1\n[[count]]\nclass = "gpu"\ncount = 1\nlink = "32 GT/s x16"\n'
    assert expected(alone("2.5 x16"), text) == []
    assert [finding.rule for finding in expected(alone("16 x16"), text)] == ["expected-link"]


def test_whatever_a_device_calls_itself_its_baseline_can_be_read() -> None:
    odd = parts()
    for place, name in enumerate(('a "b" \\ c', "\x7f\x00\n[[count]]", "\u2028#", "\ud800"), start=1):
        lower = odd[place][1]
        identity = replace(lower.identity, device_name=name, device_id=None, class_name=name)
        odd[place][1] = replace(lower, identity=identity, physical_slot=f"{place} {name}")
    machine = node(*odd.values(), hostname="\n[x]")
    text = baseline(machine)
    assert text.encode("utf-8")
    assert expected(machine, text) == []


def test_a_device_that_does_not_answer_is_not_there() -> None:
    dead = parts()
    dead[3][1] = replace(
        dead[3][1], registers=dead[3][1].registers._replace(no_answer=("(rev ff)",), link=None)
    )
    machine = node(*dead.values())
    finding = only(machine)
    assert finding.title == "3 of 4 Maker H100; missing: slot 3 (31:00.0)"
    assert finding.evidence[1].endswith("31:00.0 Maker H100 does not answer")
    text = 'format = 1\n[[count]]\nclass = "gpu"\ncount = 4\n'
    assert "31:00.0 Maker H100 does not answer" in only(machine, text).evidence
    assert "count = 3" in baseline(machine)
    assert remarks(machine) == ["no answer from 31:00.0, left out of the file"]
    assert expected(machine, baseline(machine)) == []


def test_two_slots_of_one_name_are_told_by_their_paths() -> None:
    """Which of them the kernel calls 7-1 is a matter of order."""
    named = parts()
    for place, name in ((1, "7"), (2, "7-1")):
        named[place][1] = replace(named[place][1], physical_slot=name)
    text = baseline(node(*named.values()))
    assert 'slot = "7' not in text.split("H100")[1].split("]")[0]
    other = parts()
    for place, name in ((1, "7-1"), (2, "7")):
        other[place][1] = replace(other[place][1], physical_slot=name)
    assert expected(node(*other.values()), text) == []


def test_the_odd_one_out_is_not_written_down_as_it_should_be() -> None:
    """One of four GPUs on half its lanes is a fault; two of two drives are wired like that."""
    odd = changed(p2=gpu(2, now="32 x8"), p6=device(6, NVME, now="16 x2"), p7=device(7, NVME, now="16 x2"))
    text = baseline(odd)
    assert "# link: 21:00.0 ran on x8, and most of its kind on x16; most likely a fault" in text
    assert [finding.bdf for finding in expected(odd, text)] == ["21:00.0"]
    assert 'link = "16 GT/s x2"' in text


LINK = 'link_speed="8.0 GT/s PCIe" link_width="4"'
NCCL = f"""\
<system version="1"><cpu numaid="0" affinity="0f" arch="x86_64">
  <pci busid="0000:18:00.0" class="0x020000" vendor="0x14e4" device="0x16d8" {LINK}/>
  <pci busid="0000:18:00.1" class="0x020000" vendor="0x14e4" device="0x16d8" {LINK}/>
  <pci busid="0000:3b:00.0" class="0x030000" vendor="0x10de" device="0x2230" {LINK}/>
</cpu><cpu numaid="1" affinity="f0" arch="x86_64">
  <pci busid="0000:b1:00.0" class="0x030000" vendor="0x10de" device="0x2230" {LINK}/>
</cpu></system>
"""


def test_ports_that_a_source_leaves_out_say_nothing_of_places() -> None:
    machine, lines = read_bytes(NCCL.encode()), NCCL.splitlines(keepends=True)
    text = baseline(machine)
    assert "path" not in text.partition("format = 1")[2]
    assert expected(machine, text) == []
    cut = read_bytes("".join(lines[:2] + lines[3:]).encode())
    assert [finding.title.partition(" (")[0] for finding in expected(cut, text)] == [
        "18:00.0 has functions 1, not 2"
    ]


def test_a_machine_without_devices_is_no_baseline() -> None:
    matrix = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV1\t0-19\nGPU1\tNV1\t X \t0-19\n"
    with pytest.raises(InputError, match="nvidia-smi topo lists no device that a baseline could expect"):
        baseline(read_bytes(matrix.encode()))


def test_two_cards_that_changed_places_are_told_so() -> None:
    nic, drive = device(5, NIC)[1], device(8, NVME)[1]
    text = "format = 1\n"
    for one, where in ((nic, "81:00.0"), (drive, "51:00.0")):
        numbers = f"{one.identity.vendor_id:04x}:{one.identity.device_id:04x}"
        text += f'[[count]]\nid = "{numbers}"\ncount = 1\nplaces = [{{ at = "{where}" }}]\n'
    machine = changed(p5=device(5, NIC), p6=None, p7=None, p8=device(8, NVME))
    titles = {finding.bdf: finding.title for finding in expected(machine, text)}
    assert titles.keys() == {"51:00.0", "81:00.0"}
    assert titles["51:00.0"].endswith("belongs at 81:00.0: it and 81:00.0 exchanged their places")
