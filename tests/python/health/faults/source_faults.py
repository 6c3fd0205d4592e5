"""Faults in other sources than `lspci`: hwloc and NCCL files, sysfs, and what `nvidia-smi` says on top."""

from __future__ import annotations

import re

from dump_edits import Edit, files, line_after
from fault import ERROR, H100, INFO, P100, VECTOR, Fault

TURIN = "hwloc-xml/turin-4xh200-nvml.xml"
DGX2 = "hwloc-xml/dgx2.xml"
RCCL = "nccl-xml/rccl-topo_16p1h.xml"
H800 = "nccl-xml/h800-8gpu.xml"
PASCAL = "hwloc-xml/pascal-2gpu.xml"

GPUS = ("19:00.0", "3b:00.0", "4c:00.0", "5d:00.0", "9b:00.0", "bb:00.0", "cb:00.0", "db:00.0")
_HEADING = (
    "index, name, pci.bus_id, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
    "pcie.link.width.max\n"
)


def bandwidth(gb_per_s: str, *functions: str) -> Edit:
    """Change the bandwidth that hwloc tells of links."""
    return replaced(
        rf'(pci_busid="0000:(?:{"|".join(functions)})"[^>]*pci_link_speed=")[\d.]+', rf"\g<1>{gb_per_s}"
    )


def replaced(pattern: str, instead: str, count: int = 0) -> Edit:
    """Change the text of a file."""

    def edit(dump: bytes) -> bytes:
        changed, times = re.subn(pattern, instead, dump.decode(), count=count, flags=re.DOTALL)
        assert times, f"no {pattern!r}"
        return changed.encode()

    return edit


def asked(of: str, gen: int = 5, most_gen: int = 5, lanes: int = 16, most_lanes: int = 16) -> Edit:
    """Put what `nvidia-smi --query-gpu` prints behind a dump: one GPU is as told, the others in order."""
    rows = []
    for number, gpu in enumerate(GPUS):
        said = (gen, most_gen, lanes, most_lanes) if gpu == of else (5, 5, 16, 16)
        rows.append(f"{number}, NVIDIA H100 80GB HBM3, 00000000:{gpu.upper()}, {', '.join(map(str, said))}")
    return line_after(_HEADING + "\n".join(rows))


def queried(of: str, *, present: bool = True, most: str = "5", host: str = "5") -> Edit:
    """Put what `nvidia-smi -q -d PCI` prints behind a dump."""
    blocks = [
        _block(gpu, *((most, host) if gpu == of else ("5", "5"))) for gpu in GPUS if present or gpu != of
    ]
    return line_after("==============NVSMI LOG==============\n\n" + "".join(blocks))


def healthy_but(of: str, heading: str, line: str, instead: str = "") -> Edit:
    """Put what `nvidia-smi -q` prints of health behind a dump; `line` belongs to one GPU."""
    log = "==============NVSMI LOG==============\n\nAttached GPUs : 8\n"
    for gpu in GPUS:
        block = _block(gpu, "5", "5") + _HEALTH
        if gpu == of:
            block += f"    {heading}\n        {line}\n" if not instead else ""
            block = block.replace(line, instead) if instead else block
        log += block
    return line_after(log)


_HEALTH = (
    "    GPU Recovery Action                   : None\n"
    "    BAR1 Memory Usage\n"
    "        Total                             : 131072 MiB\n"
    "    ECC Mode\n"
    "        Current                           : Enabled\n"
)


def _block(gpu: str, most: str, host: str) -> str:
    return (
        f"GPU 00000000:{gpu.upper()}\n"
        "    PCI\n"
        f"        Bus Id                            : 00000000:{gpu.upper()}\n"
        "        GPU Link Info\n"
        "            PCIe Generation\n"
        f"                Max                       : {min(most, host)}\n"
        "                Current                   : 5\n"
        f"                Device Max                : {most}\n"
        f"                Host Max                  : {host}\n"
        "            Link Width\n"
        "                Max                       : 16x\n"
        "                Current                   : 16x\n"
    )


_GPU = "3b:00.0"
FAULTS = [
    Fault("hwloc: a GPU at half", TURIN, bandwidth("31.507692", "06:00.0"), "06:00.0", "odd-one-out"),
    Fault(
        "hwloc: a GPU and its port at half",
        TURIN,
        bandwidth("31.507692", "05:00.0", "06:00.0"),
        "06:00.0",
        "odd-one-out",
    ),
    Fault("hwloc: an adapter at half", TURIN, bandwidth("31.507692", "03:00.0"), "03:00.0", "odd-one-out"),
    Fault(
        "hwloc: one of four uplinks at a quarter",
        TURIN,
        bandwidth("15.753846", "00:01.1", "01:00.0"),
        "01:00.0",
        "odd-one-out",
    ),
    Fault("hwloc: one of sixteen GPUs", DGX2, bandwidth("7.876923", "34:00.0"), "34:00.0", "odd-one-out"),
    Fault(
        "NCCL: a GPU on half its lanes",
        H800,
        replaced(r'(<pci busid="[^"]*" class="0x0302[^>]*link_width=")16', r"\g<1>8", 1),
        "0f:00.0",
        "odd-one-out",
    ),
    Fault(
        "NCCL: a network port at a twentieth",
        RCCL,
        replaced(r'(<pci busid="0000:cc:00.0".*?<net [^>]*speed=")200000', r"\g<1>10000", 1),
        "cc:00.0",
        "odd-one-out",
    ),
    Fault(
        "NCCL: a GPU without GPUDirect",
        H800,
        replaced(r'(<gpu dev="3"[^>]* gdr=")1', r"\g<1>0", 1),
        "5a:00.0",
        "odd-one-out",
        INFO,
    ),
    Fault(
        "hwloc: one of two GPUs at half",
        PASCAL,
        bandwidth("7.876923", "03:10.0", "07:00.0"),
        "07:00.0",
        "odd-one-out",
        INFO,
    ),
    Fault("nvidia-smi: half the lanes", H100, asked(_GPU, lanes=8), _GPU, "sources-disagree"),
    Fault("nvidia-smi: gen3 of gen5", H100, asked(_GPU, gen=3), _GPU, "sources-disagree"),
    Fault("nvidia-smi: at most gen4", H100, asked(_GPU, gen=4, most_gen=4), _GPU, "sources-disagree"),
    Fault("nvidia-smi: at most x8", H100, asked(_GPU, most_lanes=8), _GPU, "sources-disagree"),
    Fault("nvidia-smi: a host with gen4", H100, queried(_GPU, host="4"), _GPU, "sources-disagree"),
    Fault("nvidia-smi: a GPU with gen4", H100, queried(_GPU, most="4"), _GPU, "sources-disagree"),
    Fault(
        "nvidia-smi: one of two",
        P100,
        line_after(f"Attached GPUs : 1\n{_block('04:00.0', '3', '3')}"),
        "82:00.0",
        "sources-disagree",
    ),
    Fault("nvidia-smi: seven of eight", H100, queried(_GPU, present=False), _GPU, "sources-disagree"),
    Fault(
        "nvidia-smi: one of eight is asked for a reset",
        H100,
        healthy_but(_GPU, "", "GPU Recovery Action                   : None", "GPU Recovery Action : Reset"),
        _GPU,
        "gpu-health",
        ERROR,
    ),
    Fault(
        "nvidia-smi: a row waits for a reset",
        H100,
        healthy_but(_GPU, "Remapped Rows", "Pending : Yes"),
        _GPU,
        "gpu-health",
    ),
    Fault(
        "nvidia-smi: the power brake is on",
        H100,
        healthy_but(_GPU, "Clocks Event Reasons", "HW Power Brake Slowdown : Active"),
        _GPU,
        "gpu-slowdown",
    ),
    Fault(
        "nvidia-smi: a BAR1 of 256 MiB",
        H100,
        healthy_but(_GPU, "", "131072 MiB", "256 MiB"),
        _GPU,
        "odd-one-out",
    ),
    Fault(
        "nvidia-smi: ECC is off",
        H100,
        healthy_but(_GPU, "", "Enabled", "Disabled"),
        _GPU,
        "odd-one-out",
        INFO,
    ),
    Fault(
        "nvidia-smi: 13 million replays",
        H100,
        healthy_but(_GPU, "PCI", "Replays Since Reset : 13022871"),
        _GPU,
        "link-errors",
    ),
    Fault("sysfs: not switched on", VECTOR, files(enable="0\n")("1b:00.0"), "1b:00.0", "configuration-lost"),
    Fault("sysfs: no power state", VECTOR, files(power_state="error\n")("1b:00.0"), "1b:00.0", "device-dead"),
    Fault("sysfs: asleep", VECTOR, files(power_state="D3hot\n")("1b:00.0"), "1b:00.0", "device-asleep", INFO),
]
