"""Kinds of text that hold a machine: by which signs they are told, and who reads them.

A kind is one line here and one file beside this one, which has a pattern for its signs and a function that
reads lines into a `Reading`. A plain search for a word that must be there comes before the file is loaded.
`lspci -vvv` and its bytes are told by the first lines of functions (`wrapping.HEADER`) and come before all of
these. Of `TREES` the first that is found counts, and what comes first tells more: lists before trees, trees
before logs. Of `LAYERS` all are read that are there: they tell of devices by address, stand alone, and go on
top of every other source (`layers`). Matrices and tables that only go on top are in `overlays`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from lanewise.machine.assembly import Reading

    Reader = Callable[[list[str], Reading], Collection[int] | None]
    DocumentReader = Callable[[str, Reading], object]


class TextKind(NamedTuple):
    """One kind of text."""

    words: tuple[str, ...]
    """One of them is in every such text, and in few others: every text is searched for them."""
    module: str
    """The file beside this one that reads it."""
    signs: str = "LOOKS_LIKE"
    """Its pattern; one that is found makes a text one of this kind."""
    reader: str = "read"
    """Its function: takes lines, and fills a reading. One that goes on top may return those that it read, by
    their index: then no other reader counts them as not understood."""


TREES = (
    TextKind(("(Bus:Device:Function) Number",), "hwinfo_report"),
    TextKind(("@pci",), "pciconf", "LOOKS_LIKE_PCICONF"),
    TextKind((' "', "Slot:", "Device:"), "lspci_list", "LOOKS_LIKE_LIST"),
    TextKind(("pci@",), "lshw", "LOOKS_LIKE_LSHW"),
    TextKind(("pci@",), "lshw", "LOOKS_LIKE_TABLE", "read_table"),
    TextKind(("LnkCap:", "LnkSta:"), "lspci_links"),
    TextKind(("]-", "]+"), "tree", "LOOKS_LIKE_TREE"),
    TextKind(("/devices/",), "tree", "LOOKS_LIKE_LINKS", "read_links"),
    TextKind(("Address: ",), "esxcli"),
    TextKind(("Vend:Dvid", " vmkernel", " passthru"), "esxcli", "LOOKS_LIKE_TABLE", "read_table"),
    TextKind((" at pci",), "bsd_log"),
    TextKind(("PCI",), "lstopo"),
    TextKind(("pci ", "pcieport ", " Bus Error: "), "kernel_log", "LOOKS_LIKE_LOG"),
)
LAYERS = (
    TextKind(("Bus Id", "GPU 0000", "device handle for ", "corrupted at gpu"), "nvidia_smi"),
    TextKind(("GPU[", "BDF: ", "MAX_PCIE_", "PCIE:", "Link Type between"), "amd_smi"),
    TextKind(("PCI BDF Address: ",), "xpu_discovery"),
    TextKind(("(PCI Express)", ": PCI Express", "ErrorSource"), "windows_events"),
    TextKind(
        (
            *("on a component at bus", "link training failure is observed", "(Segment 0x", "(DevFn"),
            *("PCI bus:", "Function ", "Func:", "Func ", "Fun ", "Fun:", "Func0", "Function:", "Fn:", "/F0"),
        ),
        "server_logs",
    ),
    TextKind(("ected error: ", "atal) error:"), "rasdaemon"),
    TextKind(("Health ",), "npu_smi"),
    TextKind(("pci/",), "devlink"),
    TextKind(("DCGM_FI_DEV_",), "dcgm_metrics"),
    TextKind((" pcie ",), "nvme_subsystems"),
    TextKind(("bus-ID: ",), "inxi"),
    TextKind(("PCIe Operational (Enabled) Info", "Width Active (Enabled)"), "mlxlink"),
    TextKind(("PcieLinkSpeed PcieLinkWidth",), "windows_adapters"),
    TextKind(("bus/pci/devices/", "devices/pci", "TOTAL_ERR_", "_link_"), "link_files"),
    TextKind(("PCIDevices.hardware.talos.dev",), "talos"),
    TextKind(("PCIDevice  ",), "talos", "LOOKS_LIKE_TABLE", "read_table"),
    TextKind(("Vendor ID: 0x", "TRIM Support: "), "system_profiler"),
    TextKind(("pci.bus_id", "gpu_bus_id", "pcie.link", "Bus-Id", " 00000000:"), "nvidia_smi_csv"),
)
DOCUMENTS = (
    TextKind(('"bdf"', '"gpu"', '"PCI Bus"', "(Topology)"), "amd_smi", "JSON_SIGNS", "read_document"),
    TextKind(("@odata", "PCIeInterface"), "redfish", "JSON_SIGNS", "read_document"),
    TextKind(("sppci_", "spnvme_"), "system_profiler", "JSON_SIGNS", "read_document"),
    TextKind(('"express_type"',), "pcicrawler", "JSON_SIGNS", "read_document"),
    TextKind(("<capability type=",), "nodedev", "JSON_SIGNS", "read_document"),
    TextKind(('"pci/',), "devlink", "JSON_SIGNS", "read_document"),
    TextKind(('"memdev"',), "cxl_list", "JSON_SIGNS", "read_document"),
    TextKind(('"Transport"',), "nvme_subsystems", "JSON_SIGNS", "read_document"),
)
"""Layers in JSON or XML, whose readers take the whole text: it may be one line."""
WANTED = (
    "'nvidia-smi -q', 'nvidia-smi --query-gpu', 'amd-smi', 'rocm-smi', 'inxi -a', 'tail -v *_link_*', "
    "'system_profiler', 'talosctl', Redfish, 'devlink health', 'dcgmi', 'cxl list', 'nvme list-subsys'"
)
"""What prints a text that is a layer."""


def reader_of(text: str) -> Reader | None:
    """Return the reader of the first kind of a tree whose signs are in a text; None when there are none."""
    return next(_readers(TREES, text), None)


def layers_of(text: str, once: str) -> list[Reader]:
    """Return the readers of all layers whose signs are in a text; `once` has each of its lines once."""
    return list(_readers(LAYERS, text, once))


def document_readers_of(document: str) -> list[DocumentReader]:
    """Return the readers of all layers in JSON whose signs are in a text."""
    return list(_readers(DOCUMENTS, document))


def _readers(kinds: tuple[TextKind, ...], text: str, once: str | None = None) -> Iterator[Any]:
    for kind in kinds:
        if any(word in (once or text) for word in kind.words):
            module = import_module(f"{__package__}.{kind.module}")
            if getattr(module, kind.signs).search(text):
                yield getattr(module, kind.reader)
