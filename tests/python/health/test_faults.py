"""Faults in dumps as the tools print them: found once, at the right device, with evidence as read."""

from __future__ import annotations

import re

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes

SWITCH = """\
00:01.0 PCI bridge [0604]: Intel Corporation Ice Lake PCI Express Root Port [8086:347a] (rev 04)
\tControl: I/O+ Mem+ BusMaster+
\tBus: primary=00, secondary=01, subordinate=06, sec-latency=0
\tMemory behind bridge: d0000000-d4ffffff [size=80M] [32-bit]
\tPrefetchable memory behind bridge: 0000200000000000-0000207fffffffff [size=512G] [64-bit]
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #1, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)
\tKernel driver in use: pcieport

01:00.0 PCI bridge [0604]: Broadcom / LSI PEX880xx PCIe Gen 4 Switch [1000:c010] (rev b0)
\tControl: I/O+ Mem+ BusMaster+
\tBus: primary=01, secondary=02, subordinate=06, sec-latency=0
\tMemory behind bridge: d0000000-d4ffffff [size=80M] [32-bit]
\tPrefetchable memory behind bridge: 0000200000000000-0000207fffffffff [size=512G] [64-bit]
\tCapabilities: [68] Express (v2) Upstream Port, MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)
\tKernel driver in use: pcieport
"""
PORT = """
02:{n:02x}.0 PCI bridge [0604]: Broadcom / LSI PEX880xx PCIe Gen 4 Switch [1000:c010] (rev b0)
\tControl: I/O+ Mem+ BusMaster+
\tBus: primary=02, secondary={bus:02x}, subordinate={bus:02x}, sec-latency=0
\tMemory behind bridge: d{n}000000-d{n}ffffff [size=16M] [32-bit]
\tPrefetchable memory behind bridge: 000020{n}000000000-000020{n}fffffffff [size=64G] [64-bit]
\tCapabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00
\t\tLnkCap:\tPort #{n}, Speed 16GT/s, Width x16, ASPM not supported
\t\t\tClockPM- Surprise+ LLActRep+ BwNot+ ASPMOptComp+
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)
\t\t\tTrErr- Train- SlotClk- DLActive+ BWMgmt- ABWMgmt-
\t\tSltCap:\tAttnBtn- PwrCtrl+ MRL- AttnInd+ PwrInd+ HotPlug+ Surprise-
\t\t\tSlot #{slot}, PowerLimit 0W; Interlock- NoCompl-
\t\tSltCtl:\tEnable: AttnBtn- PwrFlt- MRL- PresDet- CmdCplt- HPIrq- LinkChg-
\t\t\tControl: AttnInd Off, PwrInd On, Power- Interlock-
\t\tSltSta:\tStatus: AttnBtn- PowerFlt- MRL- CmdCplt- PresDet+ Interlock-
\t\t\tChanged: MRL- PresDet- LinkState-
\t\tLnkCtl2: Target Link Speed: 16GT/s, EnterCompliance- SpeedDis-
\tKernel driver in use: pcieport
"""
CARD = """
{bus:02x}:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 80GB] [10de:20b5] (rev a1)
\tSubsystem: NVIDIA Corporation Device [10de:1533]
\tControl: I/O- Mem+ BusMaster+
\tRegion 0: Memory at d{n}000000 (32-bit, non-prefetchable) [size=16M]
\tRegion 1: Memory at 20{n}000000000 (64-bit, prefetchable) [size=64G]
\tCapabilities: [78] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)
\t\tLnkCtl2: Target Link Speed: 16GT/s, EnterCompliance- SpeedDis-
\tKernel driver in use: nvidia
"""


def dump(
    edit: dict[str, list[tuple[str, str]]] | None = None, *, without: str = "", after: str = ""
) -> bytes:
    """Print a switch with four GPUs; each edit replaces words in the block of a function."""
    places = [{"n": n, "bus": 3 + n, "slot": 20 + n} for n in range(4)]
    text = SWITCH + "".join(PORT.format(**place) + CARD.format(**place) for place in places)
    blocks = {block.split(" ", 1)[0].strip(): block for block in re.split(r"\n(?=[0-9a-f]{2}:)", text)}
    for bdf, changes in (edit or {}).items():
        for old, new in changes:
            assert re.search(old, blocks[bdf]), (bdf, old)
            blocks[bdf] = re.sub(old, new, blocks[bdf])
    return ("\n".join(block for bdf, block in blocks.items() if bdf != without) + after).encode()


def findings(data: bytes) -> list[Finding]:
    quiet = {"acs-redirect", "switch-oversubscribed", "link-one-end", "gpus-apart"}
    return [f for f in diagnose(read_bytes(data), cost=False).findings if f.rule not in quiet]


NO_LINK = [
    (r"LnkSta:.*", "LnkSta:\tSpeed 2.5GT/s (downgraded), Width x0 (downgraded)"),
    (r"DLActive\+", "DLActive-"),
]
DEAD = "(rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n"
NO_ANSWER = [(r"\(rev a1\)(?s:.*)", DEAD + "\tKernel driver in use: nvidia\n")]
NO_DRIVER = [("Mem\\+", "Mem-"), ("\tKernel driver.*\n", "")]
SLOT = "pcieport 0000:02:02.0: pciehp: Slot(22): "
OK = r"LnkSta:\tSpeed 16GT/s \(ok\)"


def slow(gt_s: float) -> tuple[str, str]:
    """Edit the speed of an end."""
    return OK, f"LnkSta:\tSpeed {gt_s:g}GT/s (downgraded)"


def log(*lines: str) -> str:
    """Print lines of a kernel log."""
    return "".join(f"\n[ 99.{number}] {line}" for number, line in enumerate(lines)) + "\n"


FREE = [(r"(?<=emory behind bridge:).*", " [disabled]")]


def test_four_gpus_in_order() -> None:
    assert findings(dump()) == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            dump({"05:00.0": NO_ANSWER}),
            ("device-dead", "05:00.0", Severity.ERROR, "(rev ff)"),
        ),
        (
            dump({"02:02.0": NO_LINK}, without="05:00.0"),
            ("slot-no-link", "02:02.0", Severity.WARNING, "PresDet+"),
        ),
        (
            dump({"02:02.0": [*NO_LINK, ("HotPlug\\+", "HotPlug-"), *FREE]}, without="05:00.0"),
            ("slot-no-link", "02:02.0", Severity.WARNING, "all 3 other ports"),
        ),
        (
            dump({"02:02.0": [*NO_LINK, ("Train-", "Train+")]}, without="05:00.0"),
            ("link-training", "02:02.0", Severity.WARNING, "Train+"),
        ),
        (
            dump({"02:02.0": [*NO_LINK, ("PowerFlt-", "PowerFlt+")]}, without="05:00.0"),
            ("slot-power-fault", "02:02.0", Severity.ERROR, "PowerFlt+"),
        ),
        (
            dump({"05:00.0": [(r"(Region 1: Memory at) \w+", r"\1 <unassigned>"), *NO_DRIVER]}),
            ("bar-unassigned", "05:00.0", Severity.ERROR, "Region 1"),
        ),
        (
            dump({"05:00.0": [("(Region \\d: Memory at) \\w+", r"\1 <ignored>")]}),
            ("bar-unassigned", "05:00.0", Severity.ERROR, "<ignored>"),
        ),
        (
            dump({"02:02.0": FREE}),
            ("bridge-window-closed", "02:02.0", Severity.ERROR, "[disabled]"),
        ),
        (
            dump({"05:00.0": NO_DRIVER}),
            ("driver-missing", "05:00.0", Severity.WARNING, "none"),
        ),
        (
            dump({"05:00.0": [("nvidia$", "nouveau")]}),
            ("driver-missing", "05:00.0", Severity.WARNING, "nouveau"),
        ),
        (
            dump({"05:00.0": [("nvidia$", "vfio-pci")]}),
            ("driver-missing", "05:00.0", Severity.WARNING, "vfio-pci"),
        ),
        (
            dump({bdf: [slow(2.5)] for bdf in ("05:00.0", "02:02.0")}),
            ("odd-one-out", "05:00.0", Severity.WARNING, "2.5GT/s"),
        ),
        (
            dump({
                "05:00.0": [slow(5)],
                "02:02.0": [slow(5), ("Target Link Speed: 16", "Target Link Speed: 5")],
            }),
            ("link-speed", "05:00.0", Severity.WARNING, "Target Link Speed: 5GT/s"),
        ),
        (
            dump({
                "05:00.0": [slow(5), ("SpeedDis-", "SpeedDis+")],
                "02:02.0": [slow(5)],
            }),
            ("link-speed", "05:00.0", Severity.WARNING, "SpeedDis+"),
        ),
        (
            dump(after=log("NVRM: Xid (PCI:0000:05:00): 79, pid=1, GPU has fallen off the bus.")),
            ("device-lost", "05:00.0", Severity.ERROR, "Xid"),
        ),
        (
            dump({"02:02.0": NO_LINK}, without="05:00.0", after=log(SLOT + "Link Down")),
            ("link-lost", "02:02.0", Severity.ERROR, "Link Down"),
        ),
        (
            dump(after=log(SLOT + "Link Down", SLOT + "Link Up")),
            ("link-lost", "02:02.0", Severity.INFO, "Link Up"),
        ),
        (
            dump(after=log("pcieport 0000:02:02.0: DPC: containment event, status:0x1f01 source:0x0000")),
            ("dpc-triggered", "02:02.0", Severity.WARNING, "containment"),
        ),
        (
            dump(after=log("iommu: Default domain type: Translated")),
            ("iommu-translated", "03:00.0", Severity.WARNING, "Translated"),
        ),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else "dump",
)  # fmt: skip
def test_a_fault_is_found_once_at_its_device(data: bytes, expected: tuple[str, str, Severity, str]) -> None:
    rule, bdf, severity, evidence = expected
    found = [f for f in findings(data) if f.rule == rule]
    assert [(f.bdf, f.severity) for f in found] == [(bdf, severity)], [f.title for f in findings(data)]
    assert any(evidence in line for line in found[0].evidence), found[0].evidence
    assert found[0].fix


def test_a_free_bay_whose_presence_is_tied_is_a_note() -> None:
    """Two free ports of one switch say that they are occupied: the board ties presence."""
    free = [*NO_LINK, *FREE]
    data = dump({"02:02.0": free, "02:03.0": free}, without="05:00.0").decode()
    data = re.sub(r"\n06:00\.0 (?s:.*)", "\n", data)
    found = [f for f in findings(data.encode()) if f.rule == "slot-no-link"]
    assert [(f.bdf, f.severity) for f in found] == [("02:02.0", Severity.INFO), ("02:03.0", Severity.INFO)]


def test_a_disabled_link_of_an_occupied_slot_says_who_to_ask() -> None:
    off = [*NO_LINK, (r"LnkSta:", r"LnkCtl:\tASPM Disabled; Disabled+ CommClk+\n\t\tLnkSta:")]
    (found,) = [f for f in findings(dump({"02:02.0": off}, without="05:00.0")) if f.rule == "slot-no-link"]
    assert (found.bdf, found.severity) == ("02:02.0", Severity.WARNING)
    assert "link disabled" in found.title
    assert "Reseat" not in found.fix


def test_a_driver_that_could_not_start_a_device_and_has_it_now_is_a_warning() -> None:
    line = "[ 2.1] nvidia: probe of 0000:05:00.0 failed with error -1\n"
    for data, severity in (
        (dump({}, after=line), Severity.WARNING),
        (dump({"05:00.0": [(r"\tKernel driver in use: nvidia\n", "")]}, after=line), Severity.ERROR),
    ):
        (found,) = [f for f in findings(data) if f.rule == "device-lost"]
        assert (found.bdf, found.severity) == ("05:00.0", severity)


def test_a_dead_gpu_in_the_list_of_a_server_is_not_switched_off() -> None:
    """A display of a BMC says nothing of saving power; one of a processor does."""
    gpu = "5d:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev ff)\n"
    for display, severity in (
        ("03:00.0 VGA compatible controller: Matrox Electronics Systems Ltd. G200eW3 (rev 04)\n", "error"),
        ("00:02.0 VGA compatible controller: Intel Corporation HD Graphics 530 (rev 06)\n", "warning"),
    ):
        (found,) = [f for f in findings((display + gpu).encode()) if f.rule == "device-dead"]
        assert (found.bdf, found.severity) == ("5d:00.0", severity)


def test_one_of_several_is_downgraded_where_ports_say_nothing() -> None:
    """New `lspci` calls no port downgraded, so its silence excuses nothing; the other GPUs tell."""
    narrow = [(r"(LnkSta:.*Width) x16 \(ok\)", r"\1 x8 (downgraded)")]
    lines = dump({"05:00.0": narrow}).decode().replace(" (ok)", "").splitlines()
    kept = "\n".join(line for line in lines if re.match(r"[0-9a-f]", line) or "LnkSta:" in line)
    (found,) = [f for f in findings(kept.encode()) if f.rule == "link-downgraded"]
    assert (found.bdf, found.severity) == ("05:00.0", Severity.WARNING)


def test_dead_functions_of_one_device_are_one_finding_that_names_the_port() -> None:
    dead = f"05:00.1 Audio device [0403]: NVIDIA Corporation Device [10de:228b] {DEAD}"
    gone = [(r"\(rev a1\)(?s:.*)", DEAD)]
    data = dump({"05:00.0": gone, "02:02.0": NO_LINK}, after="\n" + dead)
    (found,) = [f for f in findings(data) if f.rule in ("device-dead", "slot-no-link")]
    assert (found.bdf, found.also) == ("05:00.0", ("05:00.1",))
    assert "02:02.0" in found.title


def test_all_gpus_at_2_5_are_idle() -> None:
    edits = {bdf: [slow(2.5)] for n in range(4) for bdf in (f"{3 + n:02x}:00.0", f"02:{n:02x}.0")}
    assert [f.rule for f in findings(dump(edits))] == ["gpu-link-idle"]


def test_the_snippet_that_people_post() -> None:
    """`lspci -vv | grep -P "^[0-9a-f]|LnkSta:"`: both ends are downgraded, or the device is."""
    narrow = [(r"(LnkSta:.*Width) x16 \(ok\)", r"\1 x2 (downgraded)")]
    slot = [(r"(LnkSta:.*Width) x16 \(ok\)", r"\1 x2 (ok)")]

    def snippet(data: bytes) -> bytes:
        lines = data.decode().splitlines()
        return "\n".join(line for line in lines if re.match(r"[0-9a-f]", line) or "LnkSta:" in line).encode()

    assert findings(snippet(dump())) == []
    (found,) = findings(snippet(dump({"05:00.0": narrow, "02:02.0": narrow})))
    assert (found.rule, found.bdf, found.severity) == ("link-downgraded", "05:00.0", Severity.WARNING)
    (found,) = findings(snippet(dump({"05:00.0": narrow, "02:02.0": slot})))
    assert (found.rule, found.severity) == ("link-downgraded", Severity.INFO)


def test_the_lost_lanes_come_before_the_errors_that_they_explain() -> None:
    narrow = (r"(LnkSta:.*Width) x16 \(ok\)", r"\1 x8 (downgraded)")
    latched = (
        "Kernel driver",
        "Capabilities: [100 v1] Advanced Error Reporting\n"
        "\t\tCESta:\tRxErr+ BadTLP+ BadDLLP- Rollover- Timeout-\n\tKernel driver",
    )
    data = dump({"05:00.0": [narrow, latched], "02:02.0": [narrow]})
    assert [f.rule for f in findings(data)][:2] == ["link-width", "link-errors"]


def test_fixes_name_the_function_that_the_evidence_names() -> None:
    """Bits latched at the port are cleared at the port."""
    latched = (
        "Capabilities: [100 v1] Advanced Error Reporting\n"
        "\t\tCESta:\tRxErr+ BadTLP+ BadDLLP- Rollover+ Timeout-\n\tKernel driver"
    )
    (found,) = findings(dump({"02:02.0": [("Kernel driver", latched)]}))
    assert (found.rule, found.bdf) == ("link-errors", "05:00.0")
    assert "setpci -s 02:02.0" in found.fix


@pytest.mark.parametrize(("now", "code"), [(128, "2000:7000"), (256, "2000:7000")])
def test_the_read_size_that_is_recommended_is_larger(now: int, code: str) -> None:
    small = [
        # How much an A100 reads at a time is known.
        (r"GA100 \[A100 PCIe 80GB\] \[10de:20b5\]", "Device [10de:fff0]"),
        (
            "LnkCap:",
            "DevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-\n"
            f"\t\t\tMaxPayload 256 bytes, MaxReadReq {now} bytes\n\t\tLnkCap:",
        ),
    ]
    (found,) = [
        f for f in findings(dump({f"{3 + n:02x}:00.0": small for n in range(4)})) if f.bdf == "03:00.0"
    ]
    assert found.rule == "mrrs-small"
    assert code in found.fix
