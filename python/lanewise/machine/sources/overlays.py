"""Texts that tell more of functions that another text lists: they go on top of a machine.

They stand beside `lspci` in one file, or in a file of their own (`lanewise scan --with`). Tables and matrices
are taken out before other readers see the text; layers (`text_kinds.LAYERS`), which name functions, stay. A
layer, or a matrix of `nvidia-smi` or `xpu-smi`, also stands alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lanewise.machine.sources import text_kinds, tool_failures
from lanewise.machine.sources.wrapping import FENCE, joined_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lanewise.machine.model import Machine
    from lanewise.machine.sources.topo import Matrix

WANTED = (
    f"{text_kinds.WANTED}, 'nvidia-smi topo -m', 'xpu-smi topology -m', 'dmidecode -t slot', 'nvme list', "
    "'ethtool -i' and 'dmesg'"
)
"""What they are printed by."""

_SIGNS_OF_LOG = (
    *(
        "Xid",
        "detected NVSwitch",
        "off the bus",
        "rejects atomics",
        "assume dead",
        "No bus number available",
        "can't reserve [mem",
        "Speed 2.5GT/s",
        "from bus",
        "nvme nvme",
        "nvme 0",
        "mlx5_core 0",
        "pciehp",
        "DPC: ",
        " Bus Error: severity=",
    ),
    *(
        "available PCIe",
        "PCI-Express bandwidth available",
        "can't assign",
        "failed to assign",
        "no space for",
        "giving up",
        "inaccessible",
    ),
    *("power state from D3", "power state from unknown"),
    *(
        "Refused to change",
        "retraining",
        "offline",
        "link lost",
        "RmInitAdapter",
        "failed with error -",
        "header type 7f",
        "Adapter removed",
        "Link Active not set",
        "link never came up",
        "initialize host",
        "link initialization failed",
        "ink down",
        "ink is down",
        "ink is DOWN",
        "down, ignoring",
        "no card, disable it",
        "PCIe Link Fail",
        "PCIe link training",
    ),
    *("Default domain type", "ommand line: ", "device recovery", "[Hardware Error]", "aer_status: 0x"),
    *(
        "DMAR: [",
        "DMAR:[",
        "DMAR: VT-d",
        "AMD-V",
        "arm-smmu",
        "FAULT state",
        "fault_state(",
        "non-operational",
        "lockup",
    ),
    *(
        "error, dev nvme",
        "Unrecovered Read",
        "UNRECOVERED READ",
        "failing outstanding i/o",
        "ready did not become",
        "XDMA config BAR",
        "= 0xffffffff (id)",
        "able controller",
        "identify controller",
        "Missing interrupt",
        "AER: ",
        "amdgpu 0",
        "timed out",
        "bnxt_en 0",
        "wedged",
        "power cables",
        "EEH: ",
        "Safe Mode",
    ),
    *("Unit Hang", "habanalabs ", "unusable because", "can't enable", "ecovery mode", "ecovery Mode"),
    *("mlx4_core 0", "recovery unsuccessful", "unload and reload", "diag reset", "timeout"),
    *("Keep alive watchdog", "mpt3sas_cm", "mpt2sas_cm", "qla2xxx [", "smartpqi 0", "hpsa 0", "lpfc 0"),
    *(" 0000:", "[0000:", " kernel: ", "aacraid: ", "AAC: ", "megasas: ", "zpci: ", "bnx2x: ", "NVRM: "),
    *("megaraid_sas 0", "ISP System Error", "Adapter Hardware", "global fatal", "uncorrectable hardware"),
)
"""One of these is in every log that says anything of the bus."""


class Overlays:
    """All of them that are in a text."""

    def __init__(self, lines: list[str], document: str = "") -> None:
        """Look for them; a plain search for a word that must be there comes before a reader is loaded.

        `document` is the text as it came, where it may be one of JSON: its lines may be cut.
        """
        self.rest = list(lines)
        """The lines without theirs, of which a fence is left, so that line numbers stay."""
        self.stand_alone = False
        """Whether one of them is a machine of its own."""
        self.notes: list[str] = []
        """Why what looked like one is none."""
        self._untold: list[str] = []
        """Those of them that no layer tells."""
        self._layers: list[tuple[str, Callable[[Machine], Machine]]] = []
        text = "\n".join(lines)
        # One line in ten of a dump is no copy of another: words are looked for in those.
        once = "\n".join(dict.fromkeys(lines))
        self._add_layers(lines, text, once, document)
        if "DMI type " in once:
            from lanewise.machine.sources import dmidecode

            slots, taken = dmidecode.take(lines)
            self._add("dmidecode", partial(dmidecode.put_on, slots=slots), taken, wanted=bool(slots))
        if "FW Rev" in once or "TxPort" in once or '"ModelNumber"' in once:
            from lanewise.machine.sources import nvme_list

            drives, taken = nvme_list.take(lines, text)
            self._add("nvme list", partial(nvme_list.put_on, drives=drives), taken, wanted=bool(drives))
        if "bus-info: " in once or "_signal_integrity: " in once:
            from lanewise.machine.sources import ethtool

            adapters, taken = ethtool.take(lines)
            self.stand_alone |= ethtool.stands_alone(adapters)
            self._add("ethtool", partial(ethtool.put_on, adapters=adapters), taken, wanted=bool(adapters))
        self._add_log(self.rest, once)
        if any(sign in once for sign in ("Overall Health", "Health Monitor", "Diagnostic", ". GPU ")):
            self._add_numbered(lines, once, document)
        if any(sign in once for sign in tool_failures.SIGNS):
            self._add_failures(lines)
        if "GPU0" in once:
            from lanewise.machine.sources import topo

            if topo.LOOKS_LIKE_MATRIX.search(text):
                self._add_matrix("nvidia-smi topo", topo.read(lines))
        if "(UUID: GPU-" in once:
            from lanewise.machine.sources import nvidia_list

            self._add_matrix("nvidia-smi -L", nvidia_list.read(lines))
        if "GPU 0/0 " in once:
            from lanewise.machine.sources import xpu_smi

            self._add_matrix("xpu-smi topology", xpu_smi.read(lines))
        self.text = text if self.rest == lines else "\n".join(self.rest)
        """The same in one piece."""

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._layers)

    def _add_layers(self, lines: list[str], text: str, once: str, document: str) -> None:
        readers = text_kinds.layers_of(text, once)
        documents = text_kinds.document_readers_of(document)
        if not readers and not documents:
            return
        from lanewise.machine.assembly import Reading
        from lanewise.machine.sources import layers

        reading = Reading()
        for reader in readers:
            for number in reader(lines, reading) or ():
                self.rest[number] = FENCE
        for document_reader in documents:
            document_reader(document, reading)
        if not reading.kinds:
            self.notes += reading.notes
            self._untold += reading.notes
        else:
            self.stand_alone = True
            self._layers.append((reading.kinds[0], partial(layers.put_on, reading=reading)))

    def put_on(self, machine: Machine) -> Machine:
        """Put all of them on top of a machine."""
        if self._untold:
            machine = replace(machine, notes=tuple(dict.fromkeys((*machine.notes, *self._untold))))
        for kind, layer in self._layers:
            machine = layer(machine)
            if kind not in machine.kinds:
                machine = replace(machine, kinds=(*machine.kinds, kind))
        return machine

    def _add(
        self, kind: str, layer: Callable[[Machine], Machine], taken: Iterable[int], *, wanted: bool
    ) -> None:
        for number in taken:
            self.rest[number] = FENCE
        if wanted:
            self._layers.append((kind, layer))

    def _add_log(self, lines: list[str], once: str) -> None:
        """Add a kernel log; its lines stay, because others read those that list functions."""
        if not any(sign in once for sign in _SIGNS_OF_LOG):
            return
        from lanewise.machine.sources import kernel_events

        log = kernel_events.take(joined_log(lines))
        self.stand_alone |= bool(log)
        self._add("kernel log", partial(kernel_events.put_on, log=log), (), wanted=bool(log))

    def _add_numbered(self, lines: list[str], once: str, document: str) -> None:
        """Add what a tool says of the health of GPUs by number: alone that is a machine of those."""
        from lanewise.machine.sources import dcgmi, numbered_health, xpu_health

        tables = [xpu_health.take(lines)] if "Status: " in once else []
        for told in (dcgmi.take(lines, document), *tables):
            if told is not None:
                self.stand_alone = True
                self._add(told.tool, partial(numbered_health.put_on, told=told), (), wanted=True)

    def _add_failures(self, lines: list[str]) -> None:
        """Add what a tool of GPUs says when it reaches none: alone that is a machine that fails."""
        events = tool_failures.take(lines)
        self.stand_alone |= bool(events)
        self._add("nvidia-smi", partial(tool_failures.put_on, events=events), (), wanted=bool(events))

    def _add_matrix(self, kind: str, matrix: Matrix) -> None:
        from lanewise.machine.sources import topo

        self.notes += matrix.notes
        self.stand_alone |= bool(matrix.rows)
        self._add(kind, partial(topo.put_on, matrix=matrix), matrix.taken, wanted=bool(matrix.rows))
