"""Outputs of tools that scripts have cut: `mlxlink` below an address, as JSON, and controllers that fail."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes

# Source: IBM/hcdiag, chk-ib-pcispeed: what it greps of mlxlink, below a line for each adapter.
GREPPED = """\
Running chk-ib-pcispeed on `hostname -s`, machine type 8335-GTG.

=== 0003:01:00.0 ===
Link Speed Active (Enabled)     : 16G-Gen 4 (16G-Gen 4)
Link Width Active (Enabled)     : 4X (8X)
RX Errors                       : 0
CRC Error dllp                  : 0
CRC Error tlp                   : 120

=== 0030:01:00.0 ===
Link Speed Active (Enabled)     : 16G-Gen 4 (16G-Gen 4)
Link Width Active (Enabled)     : 8X (8X)
CRC Error dllp                  : 0
CRC Error tlp                   : 0
"""
AS_JSON = """\
# mlxlink -d 0000:41:00.0 --port_type PCIE -c --json
{
    "result": {
        "output": {
            "PCIe Operational (Enabled) Info": {
                "Depth, pcie index, node": "0, 0, 0",
                "Link Speed Active (Enabled)": "16G-Gen 4 (16G-Gen 4)",
                "Link Width Active (Enabled)": "4X (16X)"
            }
        }
    }
}
"""


def test_lines_of_mlxlink_below_an_address() -> None:
    machine = read_bytes(GREPPED.encode())
    assert machine.kinds == ("mlxlink",)
    links = {f.address.short: (str(f.link.status), str(f.link.capability)) for f in machine}
    assert links == {
        "0003:01:00.0": ("16GT/s x4", "16GT/s x8"),
        "0030:01:00.0": ("16GT/s x8", "16GT/s x8"),
    }
    found = {finding.rule: finding.bdf for finding in diagnose(machine, cost=False).findings}
    assert found == {"link-errors": "0003:01:00.0", "link-one-end": "0003:01:00.0"}


def test_mlxlink_in_json() -> None:
    (adapter,) = read_bytes(AS_JSON.encode())
    assert (str(adapter.link.status), str(adapter.link.capability)) == ("16GT/s x4", "16GT/s x16")


STATUS = """\
PCI devices:
------------
DEVICE_TYPE             MST                           PCI       RDMA            NET                       NUMA
ConnectX7(rev:0)        /dev/mst/mt4129_pciconf0      81:00.0   mlx5_0          net-ens1f0np0             1

ConnectX7(rev:0)        /dev/mst/mt4129_pciconf0.1    81:00.1   mlx5_1          net-ens1f1np1             1

"""


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("/dev/mst/mt4129_pciconf0", "81:00.0"),
        ("/dev/mst/mt4129_pciconf0.1", "81:00.1"),
        ("mlx5_1", "81:00.1"),
        ("81:00.0", "81:00.0"),
    ],
)
def test_names_that_the_long_list_explains(name: str, address: str) -> None:
    text = STATUS + AS_JSON.replace("0000:41:00.0", name)
    assert [adapter.address.short for adapter in read_bytes(text.encode())] == [address]


# GitHub, enjoy-digital/litepcie issue 87: an i.MX 8M.
IMX = """\
[    3.641335] imx6q-pcie 33800000.pcie: PHY Initialization End!.
[    3.647502] imx6q-pcie 33800000.pcie: pcie phy pll is locked.
[    3.898406] imx6q-pcie 33800000.pcie: phy link never came up
[    3.904082] imx6q-pcie 33800000.pcie: failed to initialize host
[    3.910008] imx6q-pcie 33800000.pcie: unable to add pcie port.
[    3.916162] imx6q-pcie: probe of 33800000.pcie failed with error -110
"""
# GitHub, qualcomm-linux/kernel pull request 1062.
QUALCOMM = """\
[    9.552568][  T183] qcom-qmp-pcie-phy 1bfc000.phy: Init sequence not available
[    9.552663][  T183] qcom-pcie 1bf8000.pci: error -ENODATA: cannot initialize host
[    9.552670][  T183] qcom-pcie 1bf8000.pci: probe with driver qcom-pcie failed with error -61
"""
ANDROID = "[   12.66] msm_pcie_enable: PCIe RC0 link initialization failed (LTSSM_STATE:0x2)\n"


@pytest.mark.parametrize(
    ("log", "place", "words"),
    [
        (IMX, "33800000.pcie", "did not come up"),
        (QUALCOMM, "1bf8000.pci", "did not start"),
        (QUALCOMM.splitlines()[-1], "1bf8000.pci", "did not start"),
        (ANDROID, "RC0", "did not come up"),
    ],
)
def test_controllers_of_chips_that_fail(log: str, place: str, words: str) -> None:
    """That the link is down is the reason for all that follows, so it is what is said."""
    (finding,) = diagnose(read_bytes(log.encode()), cost=False).findings
    assert (finding.rule, finding.bdf, finding.severity) == ("link-lost", place, Severity.INFO)
    assert words in finding.title


@pytest.mark.parametrize(
    "more",
    [
        "[    4.1] imx6q-pcie 33800000.pcie: PCIe Gen.2 x1 link up\n",
        "[    4.1] imx6q-pcie 33800000.pcie: link up\n",
    ],
)
def test_a_controller_that_comes_up_at_last_is_no_finding(more: str) -> None:
    early = IMX.splitlines(keepends=True)[:4]
    later = "[    4.2] pci 0000:00:00.0: [16c3:abcd] type 01 class 0x060400\n"
    assert not diagnose(read_bytes(("".join(early) + more + later).encode()), cost=False).findings


def test_a_controller_that_has_to_wait_for_others_is_no_finding() -> None:
    log = (
        "[    1.1] qcom-pcie 1bf8000.pci: probe with driver qcom-pcie failed with error -517\n"
        "[    1.2] pci 0000:00:00.0: [17cb:0115] type 01 class 0x060400\n"
    )
    assert not diagnose(read_bytes(log.encode()), cost=False).findings


# GitHub, enjoy-digital/litex_m2sdr issue 156: a log whose lines with the bits were left out.
NAMED_ALONE = """\
pcieport 0004:00:00.0: AER: Multiple Uncorrectable (Fatal) error message received from 0004:00:00.0
pcieport 0004:00:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)
pcieport 0004:00:00.0:    [18] MalfTLP                (First)
pcieport 0004:00:00.0: AER:   TLP Header: ca615a08 976f5b08 345a6d08 90ea1ccd
"""


@pytest.mark.parametrize(
    "bits", ["", "pcieport 0004:00:00.0:   device [10de:229c] error status/mask=00040000/0\n"]
)
def test_the_name_of_an_error_is_enough(bits: str) -> None:
    head, bus_error, *rest = NAMED_ALONE.splitlines(keepends=True)
    bits = bits.replace("/0\n", "/00000000\n")
    (port,) = read_bytes("".join((head, bus_error, bits, *rest)).encode())
    assert dict(port.errors.counters or ()) == {"fatal.TOTAL": 1, "fatal.MalfTLP": 1}
