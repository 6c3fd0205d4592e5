"""`nvidia-smi`: `-q` as text and XML, `--query-gpu` and the plain table, alone and on top of `lspci`.

The forms are those that drivers 352 to 580 print; the values are made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.health.doctor.coverage import readable
from lanewise.machine import read, read_bytes
from lanewise.machine.model import Kind, LinkMode
from lanewise.machine.view import View

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.machine.model import Machine


def gpu(
    address: str, *, now: int = 4, lanes: int = 16, state: str = "P0", idle: str = "Active", host: str = "4"
) -> str:
    """Write what driver 550 prints of a GPU that could do gen4 x16, without what is no part of PCI."""
    return f"""\
GPU {address}
    Product Name                          : NVIDIA A100-SXM4-80GB
    Product Architecture                  : Ampere
    PCI
        Bus                               : 0x{address[9:11]}
        Device                            : 0x00
        Domain                            : 0x0000
        Base Classcode                    : 0x3
        Sub Classcode                     : 0x2
        Device Id                         : 0x20B210DE
        Bus Id                            : {address}
        Sub System Id                     : 0x147F10DE
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : {now}
                Device Current            : {now}
                Device Max                : 4
                Host Max                  : {host}
            Link Width
                Max                       : 16x
                Current                   : {lanes}x
        Bridge Chip
            Type                          : N/A
        Replays Since Reset               : 3
        Replay Number Rollovers           : 0
    Performance State                     : {state}
    Clocks Event Reasons
        Idle                              : {idle}
    Max Clocks
        Graphics                          : 1410 MHz
"""


HEAD = """
==============NVSMI LOG==============

Timestamp                                 : Wed Mar 12 10:00:00 2025
Driver Version                            : 550.90.07
Attached GPUs                             : 2
"""
OLD = """\
GPU 0000:06:00.0
    Product Name                    : Tesla K80
    PCI
        Device Id                   : 0x102D10DE
        Bus Id                      : 0000:06:00.0
        GPU Link Info
            PCIe Generation
                Max                 : 3
                Current             : 1
            Link Width
                Max                 : 16x
                Current             : 16x
    Performance State               : P8
    Clocks Throttle Reasons
        Idle                        : Active
"""
XML = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <attached_gpus>1</attached_gpus>
  <gpu id="00000000:06:00.0">
    <product_name>NVIDIA RTX 4000 SFF Ada Generation</product_name>
    <pci>
      <pci_base_class>3</pci_base_class>
      <pci_sub_class>0</pci_sub_class>
      <pci_device_id>27B010DE</pci_device_id>
      <pci_bus_id>00000000:06:00.0</pci_bus_id>
      <pci_gpu_link_info>
        <pcie_gen>
          <max_link_gen>4</max_link_gen>
          <current_link_gen>1</current_link_gen>
          <device_current_link_gen>1</device_current_link_gen>
          <max_device_link_gen>4</max_device_link_gen>
          <max_host_link_gen>5</max_host_link_gen>
        </pcie_gen>
        <link_widths>
          <max_link_width>16x</max_link_width>
          <current_link_width>16x</current_link_width>
        </link_widths>
      </pci_gpu_link_info>
      <replay_counter>0</replay_counter>
    </pci>
    <performance_state>P8</performance_state>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
    </clocks_event_reasons>
  </gpu>
</nvidia_smi_log>
"""
TABLE = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |
| N/A   30C    P8             62W /  400W |       4MiB /  81920MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
"""
OLD_TABLE = """\
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
|===============================+======================+======================|
|   0  Tesla K80           Off  | 0000:06:00.0     Off |                  Off |
| N/A   46C    P8    27W / 149W |     22MiB / 12205MiB |      0%      Default |
"""
COLUMNS = (
    "index, name, pci.bus_id, pcie.link.gen.max, pcie.link.gen.current, pcie.link.width.max, "
    "pcie.link.width.current, memory.total [MiB]"
)
ROW = "1, NVIDIA A100-SXM4-80GB, 00000000:0F:00.0, 4, 4, 16, 8, 81920 MiB"
COMMAND = f"$ nvidia-smi --query-gpu={COLUMNS.replace(', ', ',').replace(' [MiB]', '')} --format=csv,noheader"


def machine_of(text: str) -> Machine:
    return read_bytes(text.encode())


def rules(machine: Machine) -> set[tuple[str, str, str]]:
    return {(f.rule, str(f.severity), f.bdf) for f in diagnose(machine, cost=False).findings}


def test_the_link_of_a_gpu() -> None:
    machine = machine_of(HEAD + gpu("00000000:18:00.0", lanes=8, state="P0") + gpu("00000000:2A:00.0"))
    first, port = machine["18:00.0"], machine.links[0].upper
    assert machine.kinds == ("nvidia-smi",)
    assert (first.link.capability, first.link.status) == (LinkMode(16, 16), LinkMode(16, 8))
    assert (first.kind, first.is_gpu, first.driver) == (Kind.ENDPOINT, True, "nvidia")
    assert "A100 SXM4 80GB" in first.name
    assert (first.identity.subsystem_id, first.identity.subsystem_vendor_id) == (0x147F, 0x10DE)
    assert (first.performance_state, first.idle) == ("P0", True)
    assert first.errors.counter("correctable.Replay") == 3
    assert (port.implied, port.link.capability) == (True, LinkMode(16, None))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(gpu("00000000:18:00.0", lanes=8), {("link-one-end", "warning")}, id="x8 of x16"),
        pytest.param(gpu("00000000:18:00.0", now=1, state="P8"), {("gpu-link-idle", "info")}, id="asleep"),
        pytest.param(
            gpu("00000000:18:00.0", now=1, idle="Not Active"),
            {("link-speed", "warning")},
            id="at work and slow",
        ),
        pytest.param(
            gpu("00000000:18:00.0", now=1, idle="Not Active", host="N/A"),
            {("link-speed", "warning")},
            id="at work and slow, in a guest",
        ),
        pytest.param(
            gpu("00000000:18:00.0", now=3, host="3"), {("device-above-slot", "info")}, id="slower host"
        ),
        pytest.param(OLD, {("gpu-link-idle", "info")}, id="driver 352"),
        pytest.param(gpu("00000000:18:00.0"), set(), id="in order"),
    ],
)
def test_what_the_doctor_says(text: str, wanted: set[tuple[str, str]]) -> None:
    machine = machine_of(text)
    said = {(rule, severity) for rule, severity, _ in rules(machine) if rule != "link-errors"}
    assert said == wanted
    seen = next(known for known in readable(View(machine)) if known.what == "links")
    assert (seen.known, seen.of) == (1, 1), "a GPU that sleeps is seen as well as one at work"


def test_replays_are_errors_of_the_link() -> None:
    assert ("link-errors", "info", "18:00.0") in rules(machine_of(gpu("00000000:18:00.0")))
    evidence = [f.evidence for f in diagnose(machine_of(gpu("00000000:18:00.0")), cost=False).findings]
    assert evidence == [("18:00.0 Replays Since Reset: 3",)]
    rolled = gpu("00000000:18:00.0").replace("Rollovers           : 0", "Rollovers           : 471")
    assert ("link-errors", "warning", "18:00.0") in rules(machine_of(rolled))


def test_lines_that_grep_left_or_that_lost_their_blanks() -> None:
    text = gpu("00000000:18:00.0", lanes=8) + gpu("00000000:2A:00.0", lanes=4)
    bare = "".join(line.strip() + "\n" for line in text.splitlines())
    kept = "".join(
        line + "\n"
        for line in text.splitlines()
        if any(word in line for word in ("Bus Id", "PCIe Generation", "Link Width", " Max ", " Current "))
    )
    for changed in (bare, kept):
        machine = machine_of(changed)
        widths = [machine[bdf].link.status.width for bdf in ("18:00.0", "2a:00.0")]
        assert widths == [8, 4]


def test_xml() -> None:
    machine = machine_of(XML)
    card = machine["06:00.0"]
    assert (card.link.capability, card.link.status) == (LinkMode(16, 16), LinkMode(2.5, 16))
    assert card.identity.class_code == 0x030000
    assert machine.links[0].upper.link.capability == LinkMode(32, None)
    assert rules(machine) == {("gpu-link-idle", "info", "06:00.0")}


@pytest.mark.parametrize(
    "text",
    [
        f"{COLUMNS}\n{ROW}\n",
        f"{COMMAND}\n{ROW}\n",
        f"{COLUMNS}\n{ROW.replace(' MiB', '')}\n",
        f"> {COLUMNS}\n> {ROW}\n",
    ],
)
def test_columns(text: str) -> None:
    machine = machine_of(text)
    card = machine["0f:00.0"]
    assert (card.link.capability, card.link.status) == (LinkMode(16, 16), LinkMode(16, 8))
    assert (card.name, card.interfaces) == ("NVIDIA Corporation A100-SXM4-80GB", ("GPU1",))
    assert rules(machine) == {("link-one-end", "warning", "0f:00.0")}


def test_columns_with_states() -> None:
    text = "pci.bus_id, pstate, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current\n"
    machine = machine_of(
        text + "00000000:0F:00.0, P8, 1, 4, 16\n00000000:1F:00.0, [N/A], [Unknown Error], 4, 16\n"
    )
    assert (machine["0f:00.0"].performance_state, machine["0f:00.0"].idle) == ("P8", True)
    lost = machine["1f:00.0"]
    assert (lost.performance_state, lost.link.status) == (None, LinkMode(None, 16))


def test_columns_without_addresses() -> None:
    text = "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max\n"
    machine = machine_of(text + "0, 1, 4, 16, 16\n1, 1, 4, 8, 16\n")
    assert [f.link.status.width for f in machine] == [16, 8]
    assert any("made up" in note for note in machine.notes)


@pytest.mark.parametrize(
    ("text", "address"),
    [(TABLE, "07:00.0"), (OLD_TABLE, "06:00.0"), (ROW.replace(", 4, 4, 16, 8, 81920 MiB", ""), "0f:00.0")],
)
def test_what_tells_no_link_is_not_examined(text: str, address: str) -> None:
    machine = machine_of(text)
    assert machine[address].is_gpu
    assert not machine[address].link.status.known
    assert not diagnose(machine, cost=False).examined


def test_the_state_in_the_table() -> None:
    assert machine_of(TABLE)["07:00.0"].performance_state == "P8"


def test_a_gpu_that_is_lost() -> None:
    lost = "Unable to determine the device handle for GPU0000:2A:00.0: GPU is lost.  Reboot the system.\n"
    for text in (lost, lost + gpu("00000000:18:00.0")):
        assert ("device-lost", "error", "2a:00.0") in rules(machine_of(text))
    unknown = lost.replace("GPU is lost.  Reboot the system.", "Unknown Error")
    assert ("device-lost", "error", "2a:00.0") in rules(machine_of(unknown))


LSPCI = """\
18:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)
\tCapabilities: <access denied>
\tKernel driver in use: nvidia
19:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller [144d:a80a]
\tCapabilities: <access denied>
"""


class TestOnTop:
    def put(self, tmp_path: Path, text: str, base: str = LSPCI) -> Machine:
        (tmp_path / "lspci.txt").write_text(base)
        (tmp_path / "more.txt").write_text(text)
        return read(tmp_path / "lspci.txt", overlays=[tmp_path / "more.txt"])

    @pytest.mark.parametrize(
        "text", [gpu("00000000:18:00.0", lanes=8), XML.replace(":06:", ":18:").replace("27B0", "20B2")]
    )
    def test_of_lspci_without_links(self, tmp_path: Path, text: str) -> None:
        machine = self.put(tmp_path, text)
        assert machine.kinds == ("lspci text", "nvidia-smi")
        assert len(machine) == 2
        assert machine["18:00.0"].link.capability == LinkMode(16, 16)

    def test_in_one_file(self) -> None:
        machine = machine_of(LSPCI + "\n" + gpu("00000000:18:00.0", lanes=8))
        assert machine["18:00.0"].link.status == LinkMode(16, 8)
        assert len(machine) == 2

    def test_what_the_source_says_stays(self, tmp_path: Path) -> None:
        base = LSPCI.replace(
            "\tCapabilities: <access denied>\n\tKernel",
            "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
            "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 2.5GT/s, Width x16\n\tKernel",
        )
        card = self.put(tmp_path, gpu("00000000:18:00.0", now=4, idle="Not Active"), base)["18:00.0"]
        assert card.link.status == LinkMode(2.5, 16)
        assert card.idle is None, "it was at work when its link was fast, and nobody knows about this moment"

    def test_of_another_machine(self, tmp_path: Path) -> None:
        notes = self.put(tmp_path, gpu("00000000:77:00.0")).notes
        assert any("does not list: 77:00.0" in note for note in notes)
        other = gpu("00000000:18:00.0").replace("20B210DE", "1DB410DE")
        machine = self.put(tmp_path, other)
        assert any(
            "other devices than the source has at these addresses: 18:00.0" in note for note in machine.notes
        )
        assert not machine["18:00.0"].link.status.known


@pytest.mark.parametrize(
    "text",
    [
        "GPU 00000000:18:00.0 is on the bus",
        "Bus Id : unknown\nLink Width\n",
        "name, memory.total [MiB]\nNVIDIA A100, 81920 MiB\n",
        "the NVIDIA card, 0000:18:00.0 or so, is slow",
        XML[:300],
    ],
)
def test_what_only_looks_like_it_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        machine_of(text)


def test_what_breaks_off_is_read_as_far_as_it_goes() -> None:
    text = gpu("00000000:18:00.0", lanes=8) + gpu("00000000:2A:00.0", lanes=8)
    for end in range(120, len(text), 97):
        machine = machine_of(text[:end])
        assert machine["18:00.0"].is_gpu
    broken = machine_of(XML[: XML.index("<performance_state>")] + "</gpu>")
    assert broken["06:00.0"].link.status == LinkMode(2.5, 16)
