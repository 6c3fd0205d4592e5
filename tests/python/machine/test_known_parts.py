"""Parts that say how devices call themselves: what real names and dumps lead to, and that every part runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from machine_dumps import corpus_folder

from lanewise import api
from lanewise.machine import read
from lanewise.machine.known_parts import DRIVES, HOSTS, OTHERS, SWITCHES
from lanewise.machine.parts import host_part, part_of, switch_part
from lanewise.machine.reading import read_bytes
from lanewise.machine.scenario import scan_to_scenario

if TYPE_CHECKING:
    from lanewise.documents import Part

TEXT = """\
00:00.0 Host bridge [0600]: {bridge}
00:01.0 PCI bridge [0604]: Some root port [1022:14db] (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: [58] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <32us
\t\tLnkSta:\tSpeed 16GT/s, Width x16
01:00.0 {device}
\tCapabilities: [58] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <32us
\t\tLnkSta:\tSpeed 16GT/s, Width x16
"""
GPU = "VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)"
RYZEN = "Advanced Micro Devices, Inc. [AMD] Raphael/Granite Ridge Root Complex [1022:14d8]"


@pytest.mark.parametrize(
    ("device", "part"),
    [
        (GPU, "nvidia-rtx-3090"),
        (
            "VGA compatible controller [0300]: NVIDIA Corporation Device [10de:2204] (rev a1)",
            "nvidia-rtx-3090",
        ),
        ("3D controller [0302]: NVIDIA Corporation TU104GL [Tesla T4] [10de:1eb8] (rev a1)", "nvidia-t4"),
        ("3D controller [0302]: NVIDIA Corporation AD104GL [L4] [10de:27b8] (rev a1)", "nvidia-l4"),
        (
            "VGA compatible controller [0300]: NVIDIA Corporation GA104M "
            "[GeForce RTX 3070 Mobile / Max-Q] [10de:249d]",
            None,
        ),
        (
            "Ethernet controller [0200]: Intel Corporation I350 Gigabit Network Connection [8086:1521]",
            "intel-i350",
        ),
        (
            "Ethernet controller [0200]: Intel Ethernet Controller XXV710 for 25GbE SFP28 [8086:158b]",
            "intel-xxv710",
        ),
        (
            "Ethernet controller [0200]: Mellanox Technologies MT2894 Family [ConnectX-6 Lx] [15b3:101f]",
            "nvidia-connectx-6-lx",
        ),
        (
            "Ethernet controller [0200]: Realtek RTL8125 2.5GbE Controller [10ec:8125]",
            "realtek-rtl8125",
        ),
        ("Ethernet controller [0200]: Realtek RTL8127 10GbE Controller [10ec:8127]", None),
        (
            "Ethernet controller [0200]: Intel Corporation Ethernet Controller I226-V [8086:125c]",
            "intel-i225",
        ),
        (
            "Ethernet controller [0200]: Broadcom BCM57608 25Gb/50Gb/100Gb/200Gb/400Gb Ethernet [14e4:1760]",
            "broadcom-bcm57608",
        ),
        ("Ethernet controller [0200]: Broadcom BCM57504 NetXtreme-E RDMA Partition [14e4:1804]", None),
        ("VGA compatible controller [0300]: NVIDIA AD107 [GeForce RTX 4060] [10de:2882]", "nvidia-rtx-4060"),
        (
            "VGA compatible controller [0300]: NVIDIA AD106 [GeForce RTX 4060 Ti] [10de:2803]",
            "nvidia-rtx-4060-ti",
        ),
        (
            "VGA compatible controller [0300]: NVIDIA AD107M [GeForce RTX 4060 Max-Q / Mobile] [10de:28a0]",
            None,
        ),
        (
            "VGA compatible controller [0300]: NVIDIA GP102 [GeForce GTX 1080 Ti] [10de:1b06]",
            "nvidia-gtx-1080-ti",
        ),
        ("VGA compatible controller [0300]: NVIDIA GP104 [GeForce GTX 1080] [10de:1b80]", "nvidia-gtx-1080"),
        (
            "VGA compatible controller [0300]: AMD/ATI Navi 23 [Radeon RX 6600/6600 XT/6600M] [1002:73ff]",
            "amd-rx-6600",
        ),
        ("Audio device [0403]: AMD/ATI Vega 10 HDMI Audio [Radeon Vega 56/64] [1002:aaf8]", None),
        (
            "Serial Attached SCSI controller [0107]: LSI SAS3008 PCI-Express Fusion-MPT SAS-3 [1000:0097]",
            "broadcom-sas3008",
        ),
        (
            "RAID bus controller [0104]: Broadcom / LSI MegaRAID SAS-3 3108 [Invader] [1000:005d]",
            "broadcom-sas3108",
        ),
        (
            "Fibre Channel [0c04]: QLogic ISP2722-based 16/32Gb Fibre Channel to PCIe Adapter [1077:2261]",
            "qlogic-isp2722",
        ),
        (
            "Processing accelerators [1200]: Habana Labs Ltd. Gaudi2 AI Training Accelerator [1da3:1020]",
            "intel-gaudi-2",
        ),
    ],
)
def test_a_name_or_a_number_leads_to_the_part(device: str, part: str | None) -> None:
    machine = read_bytes(TEXT.format(bridge=RYZEN, device=device).encode())
    assert part_of(machine["01:00.0"]) == part


@pytest.mark.parametrize(
    ("bridge", "part"),
    [
        (RYZEN, "amd-ryzen-am5"),
        (
            "Intel Corporation 12th Gen Core Processor Host Bridge/DRAM Registers [8086:4668]",
            "intel-alder-lake-s",
        ),
        ("Intel Corporation Raptor Lake-S Host Bridge/DRAM Controller [8086:a700]", "intel-raptor-lake-s"),
        ("AMD Matisse/Vermeer Data Fabric: Device 18h; Function 0 [1022:1440]", "amd-ryzen-am4"),
        ("Intel Corporation Xeon E3-1200 v3 Processor DRAM Controller [8086:0c08]", "intel-haswell-s"),
        (
            "Intel Corporation 8th Gen Core Processor Host Bridge/DRAM Registers [8086:3ec2]",
            "intel-coffee-lake-s",
        ),
        ("Intel Corporation Core Ultra 200S Series Processors Host Bridge [8086:7d1b]", "intel-arrow-lake-s"),
        ("Ampere Computing, LLC Altra PCI Express Root Complex A [1def:e100]", "ampere-altra"),
        (
            "Advanced Micro Devices, Inc. [AMD] Strix Halo Data Fabric; Function 0 [1022:12b8]",
            "amd-strix-halo",
        ),
        ("Advanced Micro Devices, Inc. [AMD] Genoa/Bergamo Root Complex [1022:14a4]", None),
        ("Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex [1022:1480]", None),
        ("Intel Corporation 12th Gen Core Processor Host Bridge/DRAM Registers [8086:4641]", None),
    ],
)
def test_a_host_bridge_that_is_in_one_kind_of_processor_leads_to_its_part(
    bridge: str, part: str | None
) -> None:
    machine = read_bytes(TEXT.format(bridge=bridge, device=GPU).encode())
    assert host_part(machine) == part
    assert (f'part = "{part}"' in scan_to_scenario(machine)) == (part is not None)


def test_a_board_without_a_host_bridge_is_known_by_its_root_port() -> None:
    lines = TEXT.format(bridge="", device=GPU).splitlines(keepends=True)[1:]
    port = "Broadcom Inc. and subsidiaries BCM2712 PCIe Bridge"
    for name in (f"{port} [14e4:2712]", port):
        text = "".join(lines).replace("Some root port [1022:14db]", name)
        assert host_part(read_bytes(text.encode())) == "raspberry-pi-5"
    assert host_part(read_bytes("".join(lines).encode())) is None


CORPUS = corpus_folder()


@pytest.mark.skipif(CORPUS is None, reason="no folder of dumps")
@pytest.mark.parametrize(
    ("dump", "parts"),
    [
        ("lspci-vvv/dell-r730-p100.vvv", {"nvidia-p100-pcie", "broadcom-sas3108", "intel-x520"}),
        ("lspci-vvv/lenovo-p920-pp.vvv", {"intel-x710", "aquantia-aqc107"}),
        ("lspci-vvv/pcibench-dell-t620-snb.vvv", {"intel-i350"}),
        ("lspci-vvv/supermicro-6049p-pp.vvv", {"intel-670p", "broadcom-sas3008"}),
        ("lspci-xxxx/lambda-vector-rtx4090.nnDvvvxxx", {"nvidia-rtx-4090"}),
        ("lspci-vvv/dell-xe9680-8xh100.vvv", {"nvidia-h100-sxm", "broadcom-pex89144"}),
        ("lspci-xxxx/supermicro-4028gr-tr-plx-only.vxxx", {"plx-pex8747"}),
    ],
)
def test_real_dumps_lead_to_parts(dump: str, parts: set[str]) -> None:
    assert CORPUS is not None
    machine = read(CORPUS / dump)
    found = {part_of(function) or switch_part(function) for function in machine}
    assert parts <= found


def test_names_of_parts_are_expressions_of_parts_in_the_catalog() -> None:
    catalog = {part["name"]: part["kind"] for part in api.parts().document["parts"]}
    for table, kind in ((DRIVES, "endpoint"), (OTHERS, "endpoint"), (SWITCHES, "switch"), (HOSTS, "host")):
        for name, words in table.items():
            assert catalog[name] == kind
            assert not re.search(words, ""), f"{name} is everything"


READS = """
kind = "fio"
filename = ["device"]
rw = "randread"
bs = "4 KiB"
ioengine = "io_uring"
iodepth = 4
"""
WRITES = """
kind = "dma"
device = "device"
direction = "write"
size = "4 KiB"
"""


def small(part: Part, drive: bool, slot: str) -> str:
    """A host, the part in it or above a device of no product, and a load."""
    name, kind = part["name"], part["kind"]
    host, device = "generic-gen5-server", "generic-gen3-x4"
    above, between = f"server.{slot}", ""
    if kind == "host":
        host = name
    elif kind == "switch":
        above, between = "sw0.*", f'[switch.sw0]\npart = "{name}"\nattach = "server.{slot}"\n'
    else:
        device = name
    return (
        f'[run]\nwarm_up = "20 us"\ntime_limit = "400 us"\n[host.server]\npart = "{host}"\n{between}'
        f'[endpoint.device]\npart = "{device}"\nattach = "{above}"\n[[workload]]\nname = "load"'
        f"{READS if drive else WRITES}"
    )


def test_every_part_resolves_and_runs_a_small_scenario() -> None:
    tried = 0
    for part in api.parts().document["parts"]:
        paths = [parameter["path"] for parameter in part["parameters"]]
        if part["kind"] not in ("host", "switch", "endpoint") or part["name"].startswith("defaults-"):
            continue
        if part["kind"] == "endpoint" and any(path.startswith("expander.") for path in paths):
            continue
        slots = [path.split(".")[1] for path in paths if path.startswith("slots.")]
        drive = part["kind"] == "endpoint" and any(path.startswith("nvme.") for path in paths)
        slot = slots[0] if part["kind"] == "host" else "slot1"
        result = api.run(small(part, drive, slot))
        assert result.document["flows"][0]["goodput_gb_per_s"] > 0, part["name"]
        tried += 1
    assert tried > 200


def test_a_drive_of_the_table_reads_at_most_what_its_part_says() -> None:
    catalog = {part["name"]: part for part in api.parts().document["parts"]}
    for name in DRIVES:
        values = {p["path"]: p["value"] for p in catalog[name]["parameters"]}
        number, unit = values["nvme.read_rate"].split()
        rate = float(number) * {"GB/s": 1.0, "MB/s": 1e-3}[unit]
        text = small(catalog[name], True, "slot1").replace("randread", "read").replace("4 KiB", "128 KiB")
        text = text.replace("iodepth = 4", "iodepth = 64").replace("400 us", "2 ms")
        got = api.run(text).document["flows"][0]["goodput_gb_per_s"]
        assert 0.5 * rate < got <= 1.02 * rate, (name, rate, got)
