"""What happens to dumps on their way does not change what they say."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest
from machine_dumps import DUMPS

from lanewise.errors import InputError
from lanewise.machine import read, read_bytes
from lanewise.machine.model import Address, LinkMode, LinkRegisters, Machine

TEXT = (DUMPS / "qemu.vvv").read_text()


def links_of(machine: Machine) -> dict[Address, LinkRegisters | None]:
    """Return link registers by address, without what `lspci` thinks of them."""
    return {
        f.address: f.registers.link and f.registers.link._replace(said_of_speed=None, said_of_width=None)
        for f in machine
    }


PLAIN = links_of(read(DUMPS / "qemu.vvv"))
WAYS = {
    "blanks for tabs": TEXT.expandtabs(8).encode(),
    "no indentation": "\n".join(line.strip() for line in TEXT.splitlines()).encode(),
    "line ends of Windows": TEXT.replace("\n", "\r\n").encode(),
    "UTF-16 from PowerShell": ("\ufeff" + TEXT).encode("utf-16-le"),
    "byte order mark": ("\ufeff" + TEXT).encode(),
    "Markdown": f"# My box\n\n```console\n$ sudo lspci -vvv\n{TEXT}\n```\n\nSlow.\n".encode(),
    "quoted in an e-mail": "\n".join("> " + line for line in TEXT.splitlines()).encode(),
    "coloured": TEXT.replace("LnkSta:", "\x1b[1;31mLnkSta:\x1b[0m").encode(),
    "twice": (TEXT + "\nroot@box:~# lspci -vvv\n" + TEXT).encode(),
    "packed": gzip.compress(TEXT.encode()),
    "other keys translated": TEXT.replace("Capabilities:", "Fähigkeiten:")
    .replace("Latency:", "Latenz:")
    .encode(),
    "old wording": TEXT.replace(
        "LnkSta:\tSpeed 2.5GT/s, Width x1\n\t\t\t", "LnkSta:\tSpeed 2.5GT/s, Width x1, "
    ).encode(),
    "verdicts behind speeds": TEXT.replace("Width x1\n", "Width x1 (downgraded)\n").encode(),
}


@pytest.mark.parametrize("way", WAYS)
def test_links_survive(way: str) -> None:
    machine = read_bytes(WAYS[way])
    assert links_of(machine) == PLAIN


def test_twice_is_noted_and_no_second_machine() -> None:
    machine = read_bytes(WAYS["twice"])
    assert any("several captures" in note for note in machine.notes)


def test_a_copied_tree_without_links_falls_back_to_bus_numbers() -> None:
    """`cp -rL /sys/bus/pci/devices` leaves folders where symbolic links were."""
    source = tarfile.open(DUMPS / "qemu.sysfs.tar.gz")  # noqa: SIM115
    flat = io.BytesIO()
    with source, tarfile.open(fileobj=flat, mode="w") as copy:
        for member in source:
            folder, _, name = member.name.rpartition("/")
            address = folder.rpartition("/")[2]
            if member.isfile() and "/devices/pci" in folder and address.count(":") == 2:
                data = source.extractfile(member)
                assert data is not None
                member.name = f"copy/sys/bus/pci/devices/{address}/{name}"
                copy.addfile(member, data)
    machine = read_bytes(flat.getvalue())
    assert {f.address: f.parent for f in machine} == {f.address: f.parent for f in read(DUMPS / "qemu.vvv")}
    assert not any(f.driver_known for f in machine)


def test_an_odd_header_is_a_function() -> None:
    machine = read_bytes(b"10000:e1:00.0 Non-Volatile memory controller [0108]: Intel Device [8086:0b60]\n")
    (function,) = machine
    assert function.address.domain == 0x10000
    assert function.identity.device_id == 0x0B60


def test_numbers_instead_of_names() -> None:
    (function,) = read_bytes(b"3b:00.0 0207: 15b3:1021 (rev 01) (prog-if 02)\n")
    assert function.is_nic
    assert function.identity.class_code == 0x020702
    assert function.identity.vendor_name == "Mellanox Technologies"


def test_names_instead_of_numbers() -> None:
    (function,) = read_bytes(
        b"3b:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
    )
    assert function.is_nic
    assert function.identity.vendor_id == 0x15B3


def test_virtual_functions_belong_to_their_owner() -> None:
    text = b"""\
00:01.0 PCI bridge: Intel Corporation Device 0001 (prog-if 00 [Normal decode])
	Bus: primary=00, secondary=01, subordinate=02, sec-latency=0
	Capabilities: [40] Express (v2) Root Port (Slot+), MSI 00
		LnkSta:	Speed 8GT/s (ok), Width x8 (ok)
01:00.0 Ethernet controller: Intel Corporation Device 0002
	Capabilities: [40] Express (v2) Endpoint, MSI 00
		LnkSta:	Speed 8GT/s (ok), Width x8 (ok)
	Capabilities: [160 v1] Single Root I/O Virtualization (SR-IOV)
		IOVCtl:	Enable+ Migration- Interrupt- MSE+ ARIHierarchy+
		Initial VFs: 8, Total VFs: 8, Number of VFs: 2, Function Dependency Link: 00
		VF offset: 256, stride: 2, Device ID: 0003
02:00.0 Ethernet controller: Intel Corporation Device 0003
	Capabilities: [40] Express (v2) Endpoint, MSI 00
		LnkSta:	Speed unknown, Width x0
02:00.2 Ethernet controller: Intel Corporation Device 0003
	Capabilities: [40] Express (v2) Endpoint, MSI 00
		LnkSta:	Speed unknown, Width x0
02:00.4 Ethernet controller: Intel Corporation Device 0003
	Capabilities: [40] Express (v2) Endpoint, MSI 00
"""
    machine = read_bytes(text)
    owner = machine["01:00.0"]
    assert [f.address.short for f in machine if f.physical_function == owner.address] == [
        "02:00.0",
        "02:00.2",
    ]
    assert machine.endpoints == (owner, machine["02:00.4"])
    assert machine["02:00.0"].parent == machine["00:01.0"].address
    assert machine["02:00.0"].link.status == LinkMode(None, 0)
    assert machine["02:00.4"].parent is None


def test_a_captured_matrix_and_machine_in_one_file() -> None:
    gpu = (
        "{0} 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)\n"
        "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
    )
    matrix = (
        "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\t X \tNV18\tPIX\t0-51\t0\n"
        "GPU1\tNV18\t X \tSYS\t52-103\t1\n"
    )
    text = gpu.format("19:00.0") + gpu.format("3b:00.0") + "\n" + matrix
    machine = read_bytes(text.encode())
    relation = machine.relation(machine["19:00.0"], machine["3b:00.0"])
    assert relation is not None
    assert (relation.path, relation.links) == ("NV", 18)
    assert (machine["19:00.0"].numa_node, machine["3b:00.0"].local_cpus) == (0, "52-103")
    assert [r.path for r in machine.relations if r.second == "mlx5_0"] == ["PIX", "SYS"]
    assert machine.not_understood.count == 0


def test_a_matrix_of_other_gpus_than_the_machine_has_is_said() -> None:
    gpu = "{} 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)\n"
    matrix = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-51\nGPU1\tSYS\t X \t0-51\n"
    three = "".join(gpu.format(address) for address in ("19:00.0", "3b:00.0", "5d:00.0"))
    assert any("2 GPUs of 3" in note for note in read_bytes(f"{three}\n{matrix}".encode()).notes)


PIECES = """\
01:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)
		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 8GT/s (downgraded), Width x8 (downgraded)
02:00.0 Audio device: Example Corporation Device 0001
"""


def test_what_grep_left_of_a_function_keeps_its_link() -> None:
    """`lspci -vvv | grep -E '^[0-9a-f]|LnkCap:|LnkSta:'` is how links are posted most often."""
    machine = read_bytes(PIECES.encode())
    assert machine["01:00.0"].registers.express
    assert machine["01:00.0"].link.status == LinkMode(8.0, 8)
    assert machine["02:00.0"].registers.express is None


def test_a_list_with_a_tree_beside_it_knows_who_is_below_whom() -> None:
    text = (
        "-[0000:00]-+-00.0\n           \\-01.0-[01]----00.0\n\n$ lspci\n"
        "00:00.0 Host bridge: Example Corporation Device 0010\n"
        "00:01.0 PCI bridge: Example Corporation Device 0011\n"
        "01:00.0 Ethernet controller: Example Corporation Device 0012\n"
    )
    machine = read_bytes(text.encode())
    assert machine["01:00.0"].parent == machine["00:01.0"].address
    assert machine["01:00.0"].identity.class_name == "Ethernet controller"
    assert machine.not_understood.count == 0


def test_remarks_of_lspci_and_device_trees_are_understood() -> None:
    text = TEXT.splitlines()
    at = next(number for number, line in enumerate(text) if "Control:" in line)
    text.insert(at, "\tDevice tree node: /sys/firmware/devicetree/base/pciex@600c3c0000000/pci@0")
    at = next(number for number, line in enumerate(text) if "LnkSta:" in line)
    text.insert(at + 1, "\t\t<error in resizable BAR: num_bars=0 is out of specification>")
    machine = read_bytes("\n".join(text).encode())
    assert machine.not_understood.count == 0
    assert links_of(machine) == PLAIN


def test_link_lines_without_their_device_are_told_what_is_missing() -> None:
    with pytest.raises(InputError, match="of which device"):
        read_bytes(
            b"    LnkCap: Port #0, Speed 16GT/s, Width x16\n    LnkSta: Speed 8GT/s, Width x8 (downgraded)\n"
        )


MATRIX = (
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV4\tPIX\t0-31\t0\t\tN/A\n"
    "GPU1\tNV4\t X \tSYS\t32-63\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\t X \n\nNIC Legend:\n\n  NIC0: mlx5_2\n"
)


@pytest.mark.parametrize(
    "text",
    [
        MATRIX,
        MATRIX.replace("\tGPU0\tGPU1", "\t\x1b[4mGPU0\tGPU1", 1).replace("ID\n", "ID\x1b[0m\n"),
        MATRIX.replace("\tGPU0\tGPU1", "\t[4mGPU0\tGPU1", 1).replace("ID\n", "ID[0m\n"),
        "".join(f"rig7: {line}\n" for line in MATRIX.splitlines()),
        "".join(f"> | {line.replace(chr(9), ' | ')} |\n" for line in MATRIX.splitlines()),
    ],
    ids=["as printed", "underlined", "underline that lost its escape", "behind a host", "a quoted table"],
)
def test_matrices_as_they_are_posted(text: str) -> None:
    relations = read_bytes(text.encode()).relations
    assert [(r.first, r.second, r.path, r.links) for r in relations] == [
        ("GPU0", "GPU1", "NV", 4),
        ("GPU0", "mlx5_2", "PIX", None),
        ("GPU1", "mlx5_2", "SYS", None),
    ]


def test_virtual_functions_in_a_guest_are_known_without_their_owner() -> None:
    text = (
        "0001:00:02.0 Ethernet controller: Mellanox Technologies MT27710 [ConnectX-4 Lx Virtual Function]\n"
        "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n"
        "00:03.0 Ethernet controller: Example Corporation Device 0001\n"
        "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\t\tLnkSta:\tSpeed unknown, Width x0\n"
    )
    assert [f.virtual for f in read_bytes(text.encode())] == [True, True]


@pytest.mark.parametrize(
    ("address", "beside", "virtual"),
    [
        ("01:00.0", "", False),
        ("01:00.1", "", True),
        ("01:00.0", "00:02.0 SCSI storage controller [0100]: Red Hat Device [1af4:1048]\n", True),
    ],
)
def test_the_first_function_at_a_port_that_counts_its_lanes_is_not_virtual(
    address: str, beside: str, *, virtual: bool
) -> None:
    """Its Link Status contradicts the port's; only behind the first function, or in a guest, that may be."""
    text = (
        "00:01.0 PCI bridge [0604]: Example Device [1234:0001]\n"
        "\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n"
        "\tCapabilities: [60] Express (v2) Root Port (Slot+), MSI 00\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n"
        f"{beside}"
        f"{address} Ethernet controller [0200]: Example Device [1234:0002]\n"
        "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\t\tLnkSta:\tSpeed unknown, Width x0\n"
    )
    assert read_bytes(text.encode())[address].virtual is virtual


GRAPH = """<system version="1">
  <cpu numaid="0" affinity="00ffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207">
    <pci busid="0000:16:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:18:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
    </pci>
  </cpu>
</system>
"""


@pytest.mark.parametrize(
    "text",
    [
        f"root@box:/opt# cat topo.xml\n{GRAPH}root@box:/opt# ",
        f"Dear all,\nis this right?\n\n```xml\n{GRAPH}```\nThanks\n",
        f"<?xml version='1.0'?>\n{GRAPH}",
    ],
)
def test_a_graph_pasted_below_a_prompt_or_into_a_message(text: str) -> None:
    machine = read_bytes(text.encode())
    assert "NCCL XML" in machine.kinds
    assert {str(f.address) for f in machine if not f.implied} == {"0000:16:00.0", "0000:18:00.0"}
    assert not any("is incomplete or damaged" in note for note in machine.notes)


def test_a_graph_that_breaks_off_in_a_message_is_read_so_far() -> None:
    machine = read_bytes(f"Is this right?\n\n{GRAPH.partition('</pci>')[0]}".encode())
    assert any("is incomplete or damaged" in note for note in machine.notes)
    assert "0000:18:00.0" in {str(f.address) for f in machine}
