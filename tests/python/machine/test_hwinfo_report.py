"""Reports of HWiNFO, as text and as copied from its window."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes

SECTION = r"""
{name} ------------------------------------

 [General Information]
  Device Name:                            {name}
  Original Device Name:                   {name}
  Device Class:                           {kind}
  Revision ID:                            1
  PCI Address (Bus:Device:Function) Number: {place}
  PCI Latency Timer:                      0
  Hardware ID:                            PCI\VEN_{numbers}&SUBSYS_87FE103C&REV_01
 [PCI Express]
  Version:                                4.0
  Maximum Link Width:                     16x
  Current Link Width:                     {lanes}
  Maximum Link Speed:                     16.0 GT/s
  Current Link Speed:                     {rate} GT/s
  Device/Port Type:                       {port}
  Maximum Payload Size Supported:         512 bytes
  Maximum Payload Size:                   256 bytes
 [System Resources]
  Memory Base Address 0                   6002000000
 [Driver Information]
  Driver Description:                     Of its maker
  Location Paths                          {path}
"""


def report(lanes: str = "16x", rate: str = "16.0") -> str:
    port = SECTION.format(
        name="AMD PCIe GPP Bridge 1",
        kind="PCI-to-PCI Bridge",
        place="0:29:1",
        numbers="1022&DEV_14DB",
        lanes=lanes,
        rate=rate,
        port="Root Port of PCI Express Root Complex",
        path="PCIROOT(0)#PCI(1D01)",
    )
    gpu = SECTION.format(
        name="NVIDIA AD102 - GeForce RTX 4090",
        kind="VGA Compatible Adapter",
        place="10:0:0",
        numbers="10DE&DEV_2684",
        lanes=lanes,
        rate=rate,
        port="Legacy PCI Express Endpoint",
        path="PCIROOT(0)#PCI(1D01)#PCI(0000)",
    )
    return f"HWiNFO64 Version 7.66\n{port}{gpu}"


def in_its_window(text: str) -> str:
    """As it is copied: no brackets, and blanks up to one column."""
    lines = [line.strip(" []") for line in text.splitlines()]
    return "\n".join(f"{a}:{'':<40}{b.strip()}" if b else a for a, _, b in (x.partition(": ") for x in lines))


@pytest.mark.parametrize("form", [str, in_its_window, lambda text: text.replace("\n", "\r\n")])
def test_devices_ports_and_links(form) -> None:  # type: ignore[no-untyped-def]
    """Numbers of addresses are decimal, those of paths hexadecimal."""
    machine = read_bytes(form(report(lanes="8x")).encode())
    assert machine.kinds == ("HWiNFO",)
    assert [(f.address.short, f.parent and f.parent.short) for f in machine] == [
        ("00:1d.1", None),
        ("0a:00.0", "00:1d.1"),
    ]
    _, gpu = machine
    assert (gpu.identity.vendor_id, gpu.identity.device_id, gpu.is_gpu) == (0x10DE, 0x2684, True)
    assert (gpu.identity.subsystem_vendor_id, gpu.identity.subsystem_id) == (0x103C, 0x87FE)
    assert (str(gpu.link.status), str(gpu.link.capability)) == ("16GT/s x8", "16GT/s x16")
    assert (gpu.transfers.mps, gpu.transfers.mps_supported) == (256, 512)
    findings = [f for f in diagnose(machine, cost=False).findings if f.severity is not Severity.INFO]
    assert [(finding.rule, finding.bdf) for finding in findings] == [("link-width", "0a:00.0")]


@pytest.mark.parametrize(("lanes", "rate"), [("16x", "16.0"), ("16x", "2.5")])
def test_a_gpu_that_runs_in_full_or_sleeps_is_no_warning(lanes: str, rate: str) -> None:
    findings = diagnose(read_bytes(report(lanes, rate).encode()), cost=False).findings
    assert all(finding.severity is Severity.INFO for finding in findings)


def test_a_link_that_is_not_negotiated() -> None:
    """As graphics of a processor say of theirs."""
    machine = read_bytes(report(lanes="Not negotiated").encode())
    assert [f.link.status.width for f in machine] == [None, None]
