"""`ethtool -S`: what an adapter counts of its link with the slot."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes

DRIVER = """\
root@gpu01:~# ethtool -i {interface}
driver: mlx5_core
version: 5.8-1.1.2
firmware-version: 22.35.1012 (MT_0000000359)
bus-info: {address}
"""
STATISTICS = """\
root@gpu01:~# ethtool -S {interface} | grep pci
     rx_pci_signal_integrity: {errors}
     tx_pci_signal_integrity: 7000
     outbound_pci_stalled_wr: 38
"""


def both(interface: str, address: str, errors: int) -> str:
    return DRIVER.format(interface=interface, address=address) + STATISTICS.format(
        interface=interface, errors=errors
    )


def found(text: str) -> list[tuple[str, str, Severity]]:
    findings = diagnose(read_bytes(text.encode()), cost=False).findings
    return [(finding.rule, finding.bdf, finding.severity) for finding in findings]


@pytest.mark.parametrize(("errors", "severity"), [(1532, Severity.WARNING), (3, Severity.INFO)])
def test_packets_that_an_adapter_received_damaged(errors: int, severity: Severity) -> None:
    """What the other end received damaged is the other end's to say."""
    text = both("ens1f0np0", "0000:3b:00.0", errors)
    (adapter,) = read_bytes(text.encode())
    assert (adapter.driver, adapter.firmware) == ("mlx5_core", "22.35.1012 (MT_0000000359)")
    assert found(text) == [("link-errors", "3b:00.0", severity)]
    (finding,) = diagnose(read_bytes(text.encode()), cost=False).findings
    assert f"by ethtool -S: {errors} RxErr" in "".join(finding.evidence)


def test_an_adapter_without_errors_is_no_finding() -> None:
    text = both("ens1f0np0", "0000:3b:00.0", 0)
    assert [adapter.address.short for adapter in read_bytes(text.encode())] == ["3b:00.0"]
    assert not found(text)


def test_statistics_are_those_of_their_interface() -> None:
    text = both("eth0", "0000:3b:00.0", 0) + both("eth1", "0000:5e:00.0", 400)
    assert [bdf for _, bdf, _ in found(text)] == ["5e:00.0"]
    far = DRIVER.format(interface="eth0", address="0000:3b:00.0")
    far += STATISTICS.format(interface="eth7", errors=400)
    dump = "3b:00.0 Ethernet controller: Mellanox Technologies MT2892 Family [ConnectX-6 Dx]\n\n"
    assert not found(dump + far)
    assert found(dump + far.replace("eth7", "eth0")) == [("link-errors", "3b:00.0", Severity.WARNING)]


def test_broadcoms_layers() -> None:
    text = (
        "driver: bnxt_en\nfirmware-version: 218.0\nbus-info: 0000:21:00.0\n\nNIC statistics:\n"
        "     pcie_pl_signal_integrity: 0\n     pcie_dl_signal_integrity: 60\n"
        "     pcie_tl_signal_integrity: 90\n"
        "     pcie_link_integrity: 1\n"
    )
    (adapter,) = read_bytes(text.encode())
    assert adapter.errors.counter("correctable.BadDLLP") == 60
    assert adapter.errors.counter("correctable.BadTLP") == 90
    assert found(text) == [("link-errors", "21:00.0", Severity.WARNING)]
