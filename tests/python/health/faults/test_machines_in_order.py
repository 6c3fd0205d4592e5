"""Dumps of machines in order pass a check for provisioning, and those that say too little are not passed.

They need the folder of `test_single_faults`. What is really wrong is listed by name with the reason; each was
looked at.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import Profile, Severity, diagnose
from lanewise.machine import read

CORPUS = Path(os.environ.get("LANEWISE_CORPUS") or Path(__file__).parents[5] / "shared" / "corpus")
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="no folder of dumps")

FAULTY = {
    "lspci-vvv/alinx-artix7-after-reload.vvv": "an FPGA was loaded again and lost its configuration",
    "lspci-xxxx/pciutils-cap-dvsec-cxl.xxxx": "a CXL device that trained without CXL.mem",
    "sysfs/procfs-fixture-pci.tar.gz": "counters of fatal errors, made up for a test",
}
WITHOUT_LINKS = {"hwloc-xml", "lspci-tv", "nccl-xml", "nvidia-smi-topo"}
"""Folders of formats that do not say what links could do: no machine is called in order from them."""
SAYING_TOO_LITTLE = {
    "lspci-vvv/amd-a10-8700p-access-denied.v": "made by an ordinary user",
    "lspci-vvv/lookalike-winlspci-tigerlake.txt": "another tool's, without capabilities",
    "lspci-xxxx/pciutils-PCI-X-bridges-and-domains.xxxx": "no PCI Express",
    "lspci-xxxx/pciutils-broken-ecaps.xxxx": "one function, no PCI Express",
    "lspci-xxxx/pciutils-cap-ea-1.xxxx": "one function, no PCI Express",
    "lspci-xxxx/pciutils-cap-ht.xxxx": "one function, no PCI Express",
    "lspci-xxxx/pciutils-cap-phy32.xxxx": "one drive at half its speed, whose port is not there",
    "sysfs/accel-nvidia.tar.gz": "no link attributes",
    "sysfs/arm64-board.tar.gz": "no link attributes",
    "sysfs/intel-i7-1270p.tar.gz": "no link attributes",
    "sysfs/s390x-no-pci.tar.gz": "no PCI",
    "sysfs/sun-domain-32bit.tar.bz2": "a virtual machine without link attributes",
}
DUMPS = sorted(
    path.relative_to(CORPUS).as_posix()
    for path in (CORPUS.glob("*/*") if CORPUS.is_dir() else ())
    if path.parent.name != "measured"
)


@pytest.mark.parametrize("name", DUMPS)
def test_nothing_that_is_in_order_fails_and_silence_is_not_approval(name: str) -> None:
    try:
        diagnosis = diagnose(read(CORPUS / name), cost=False, profile=Profile.PROVISIONING)
    except InputError:
        assert name.startswith(tuple(WITHOUT_LINKS))
        return
    assert diagnosis.fails(Severity.WARNING) == (name in FAULTY), [f.title for f in diagnosis.findings]
    too_little = name.partition("/")[0] in WITHOUT_LINKS or name in SAYING_TOO_LITTLE
    assert diagnosis.examined != too_little or name in FAULTY, diagnosis.missing
