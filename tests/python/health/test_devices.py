"""What a finding calls its device: few words, and its slot, in every form of the findings but the title."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from machines import GPU, function, machine, pair

from lanewise.errors import InputError
from lanewise.health.doctor import Finding, Severity, diagnose
from lanewise.health.doctor.devices import short_name
from lanewise.health.doctor.formats import junit, sarif
from lanewise.health.doctor.prometheus import prometheus
from lanewise.health.doctor.said_alike import together
from lanewise.health.predict import predict
from lanewise.machine.model import Address, Identity, Kind, Machine, PhysicalSlot

H100 = Identity(
    class_code=GPU, vendor_id=0x10DE, vendor_name="NVIDIA Corporation", device_name="GH100 [H100 SXM5 80GB]"
)


@pytest.mark.parametrize(
    ("vendor", "device", "said"),
    [
        ("NVIDIA Corporation", "GH100 [H100 SXM5 80GB]", "NVIDIA H100 SXM5 80GB"),
        ("Mellanox Technologies", "MT2910 Family [ConnectX-7]", "Mellanox ConnectX-7"),
        ("Advanced Micro Devices, Inc. [AMD/ATI]", "Navi 31 [Radeon RX 7900]", "AMD Radeon RX 7900"),
        ("Broadcom / LSI", "PEX890xx PCIe Gen 5 Switch", "Broadcom PEX890xx PCIe Gen 5 Switch"),
        ("Micron Technology Inc", "7450 PRO NVMe SSD", "Micron 7450 PRO NVMe SSD"),
        ("Intel Corporation", "Intel SSD 760p", "Intel SSD 760p"),
        ("Realtek Semiconductor Co., Ltd.", "RTL8125", "Realtek RTL8125"),
        (None, None, "3D controller"),
    ],
)
def test_names_are_short(vendor: str | None, device: str | None, said: str) -> None:
    identity = Identity(class_code=GPU, class_name="3D controller", vendor_name=vendor, device_name=device)
    assert short_name(replace(function("01:00.0", Kind.ENDPOINT), identity=identity)) == said


def test_names_that_list_every_product_are_cut_behind_a_word() -> None:
    identity = replace(H100, device_name="Navi 10 [Radeon RX 5600 OEM/5600 XT / 5700/5700 XT/5710 and more]")
    name = short_name(replace(function("01:00.0", Kind.ENDPOINT), identity=identity))
    assert name == "NVIDIA Radeon RX 5600 OEM/5600 XT"


def narrow(*, slots: tuple[PhysicalSlot, ...] = (), physical_slot: str | None = None) -> Machine:
    """Return a GPU on a quarter of its lanes, in a slot that firmware or kernel may name."""
    one = pair(now="16 x4", can="16 x16", port={"can": "16 x16", "physical_slot": physical_slot})
    gpu = replace(one["01:00.0"], identity=H100)
    return replace(one, slots=slots, functions={**one.functions, gpu.address: gpu})


def width(of: Machine) -> Finding:
    return next(f for f in diagnose(of, cost=False).findings if f.rule == "link-width")


def test_the_slot_is_what_the_firmware_calls_it_or_else_the_kernel() -> None:
    assert width(narrow()).device == "NVIDIA H100 SXM5 80GB"
    assert width(narrow(physical_slot="24")).device == "NVIDIA H100 SXM5 80GB, slot 24"
    assert width(narrow(physical_slot="0-3")).device == "NVIDIA H100 SXM5 80GB", "a port without a number"
    named = PhysicalSlot("GPU3", device=Address.parse("01:00.0"))
    assert width(narrow(physical_slot="24", slots=(named,))).device == "NVIDIA H100 SXM5 80GB, slot GPU3"


def test_every_form_names_the_device_and_the_title_stays() -> None:
    one = narrow(physical_slot="24")
    finding, diagnosis = width(one), diagnose(one, cost=False)
    assert "H100" not in finding.title
    assert "01:00.0 (NVIDIA H100 SXM5 80GB, slot 24)" in finding.headline
    assert finding.document()["device"] == "NVIDIA H100 SXM5 80GB, slot 24"
    for text in (sarif(diagnosis), junit(diagnosis, Severity.WARNING)):
        assert finding.headline in text
    metrics = prometheus(diagnosis, one, datetime(2026, 1, 1, tzinfo=UTC))
    assert 'bdf="01:00.0",device="NVIDIA H100 SXM5 80GB, slot 24"' in metrics


def test_alike_findings_in_other_slots_are_still_one_entry() -> None:
    ports = [function(f"00:0{n}.0", Kind.ROOT_PORT, physical_slot=f"{n}") for n in (1, 2)]
    gpus = [
        replace(function(f"0{n}:00.0", Kind.ENDPOINT, now="16 x4", parent=f"00:0{n}.0"), identity=H100)
        for n in (1, 2)
    ]
    groups = together(diagnose(machine(*ports, *gpus), cost=False).findings)
    (group,) = [group for group in groups if group.first.rule == "link-width"]
    assert group.elsewhere() == "alike at 1 more: 02:00.0"


CXL_MEMORY = 0x050210


def test_memory_behind_cxl_does_no_dma_that_small_payloads_or_a_slow_link_could_cost() -> None:
    wide = {"mps_supported": 512, "mps": 256}
    expander = {"class_code": CXL_MEMORY, "can": "32 x8", "now": "16 x8", "transfers": wide}
    found = diagnose(pair(port={"can": "32 x16", "transfers": wide}, **expander)).findings
    assert [each.rule for each in found] == ["link-speed"]
    assert found[0].cost is not None
    assert found[0].cost.what == "loads and stores of its memory have 50 % of the link that both ends can do"
    assert found[0].cost.basis == "stated"
    other = {**expander, "class_code": 0x058000}
    rules = {
        each.rule for each in diagnose(pair(port={"can": "32 x16", "transfers": wide}, **other)).findings
    }
    assert rules == {"link-speed", "mps-small"}, "any other device may read and write"


def test_a_gpu_on_nvlink_c2c_is_neither_predicted_nor_blamed_over_pci_express() -> None:
    """A GH200 and its host exchange 450 GB/s each way over C2C (NVIDIA, Grace Hopper whitepaper)."""
    name = Identity(class_code=GPU, vendor_id=0x10DE, device_name="GH100 [GH200 120GB / 480GB]")
    narrow = pair(
        port={"can": "32 x16"},
        class_code=GPU,
        vendor=0x10DE,
        can="32 x16",
        now="32 x1",
        transfers={"mps": 128, "mps_supported": 256},
    )
    address = Address.parse("01:00.0")
    superchip = replace(
        narrow, functions={**narrow.functions, address: replace(narrow[address], identity=name)}
    )
    blamed = {each.rule: each for each in diagnose(narrow).findings}
    assert blamed["link-width"].severity is Severity.WARNING
    [found] = [each for each in diagnose(superchip).findings if each.rule == "link-width"]
    assert found.severity is Severity.INFO
    assert found.cost is not None
    assert found.cost.what == "none under load: its data go over NVLink-C2C"
    with pytest.raises(InputError, match=r"NVLink-C2C, which is not simulated: 01:00\.0"):
        predict(superchip)
