"""From a source of any kind to a `Machine`: finds out what it is, and hands it to its reader.

Accepts a path, ``-`` for standard input, or nothing for the machine itself. Text may be UTF-8, UTF-16, or
anything else, may be compressed (`unpacking`), packed into a tar or zip archive (`sources.archive`), wrapped
in a web page or a mail (`sources.wrapping`, `sources.mail`), and may hold several kinds at once (a bug report
with `lspci` and `dmidecode` in it: `sources.overlays`, `sources.segments`). Everything is bounded, by one
budget for a whole reading (`budget`).
"""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lanewise.broken_json import said_of_broken_json
from lanewise.errors import InputError
from lanewise.inputs import STANDARD_INPUT, read_input
from lanewise.machine.assembly import Reading
from lanewise.machine.budget import Budget, UsedUpError
from lanewise.machine.own_files import said_of_an_own_file
from lanewise.machine.sources import mail, segments
from lanewise.machine.sources.log_stamps import looks_like_log
from lanewise.machine.sources.markup import mended
from lanewise.machine.sources.overlays import WANTED, Overlays
from lanewise.machine.sources.wrapping import HEADER, joined, tidy
from lanewise.machine.unpacking import MOST_BYTES, unpacked
from lanewise.scenario_text import said_of_a_scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lanewise.machine.model import Machine
    from lanewise.machine.sources.archive import Archive
    from lanewise.machine.sources.files import Files

LIVE = Path("/sys")
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\-_])")
_ACCEPTED = (
    "lspci -vvv or -xxxx output, lspci -tv, a copy of /sys/bus/pci, hwloc XML, NCCL topology XML, nvidia-smi "
    "-q, --query-gpu or topo -m, amd-smi, inxi -a, lshw, lstopo -v, Redfish, pciconf -lvbc, a kernel log, "
    "and tar or zip archives of those"
)
_LINK_LINES = re.compile(r"^[^\w\n]*+Lnk(?:Cap|Sta):", re.MULTILINE)
_XML_PROLOGUE = ((b"<!--", b"-->"), (b"<?", b"?>"), (b"<!doctype", b">"))
"""What may stand before the outermost element: how it begins, and how it ends."""
_XML_INSIDE = re.compile(
    rb"^[ \t]*(<(topology|system|graphs|nvidia_smi_log)(?:[ \t][^<>]{0,1000})?>)", re.MULTILINE
)
"""A file of hwloc or NCCL that somebody pasted below a prompt, or into a message."""
_MOST_SEARCHED = 1 << 20
"""Bytes in which its beginning is looked for."""
_NVIDIA_ROOT = "nvidia_smi_log"
_LSHW_ROOTS, _LSHW_FUNCTION = ("list", "node"), b"<businfo>pci@"
"""What is outermost in XML of `lshw`, and the bus info of a function in it."""
_LSHW_PAGE = b'content="lshw-'
"""Who made a page, in its head: `lshw -html`."""
_XML_ROOTS = ("topology", "system", "graphs", _NVIDIA_ROOT)
_XML_ROOT = re.compile(rb"<([A-Za-z_][\w.-]{0,100}+)[\s>/]")
"""Lines of `dmesg -r` (``<6>``) and of traces (``<...>-42``) begin otherwise."""


def read(source: str | Path | None = None, *, overlays: Iterable[str | Path] = ()) -> Machine:
    """Read a machine.

    `source` is a file or folder, ``-`` for standard input, or None for this machine. `overlays` are files
    that tell more of it (`sources.overlays`). Raises `InputError` when there is nothing to read in one of
    them, OSError when it cannot be opened.
    """
    budget = Budget()
    machine = _read_one(source, budget)
    for overlay in overlays:
        machine = _put_on(machine, overlay, budget)
    return machine


def tells_more(path: str | Path) -> bool:
    """Whether a file can go on top of the dump of a machine, as an overlay; OSError when it is not there."""
    try:
        _on_top(path, Budget())
    except InputError:
        return False
    return True


def _put_on(machine: Machine, overlay: str | Path, budget: Budget) -> Machine:
    return _on_top(overlay, budget)(machine)


def _on_top(overlay: str | Path, budget: Budget) -> Callable[[Machine], Machine]:
    """Return what puts a file on top of a machine; InputError where it tells nothing more of one."""
    content = unpacked(_bytes(overlay), budget)
    if isinstance(content, bytes) and _xml_root(content) == _NVIDIA_ROOT:
        return partial(_with_nvidia_xml, content=content)
    text = _text(content, str(overlay), budget) if isinstance(content, bytes) else ""
    lines = tidy(text)
    on_top = Overlays(lines, text)
    # A kernel log that says nothing of the bus is good news.
    if on_top or looks_like_log(lines):
        return on_top.put_on
    if segments.holds_lspci(text) and HEADER.search(text):
        raise InputError(f"'{overlay}' is the dump of a machine itself; one machine is read at a time")
    refusal = f"'{overlay}' cannot go on top of another dump: it is not an output of {WANTED}"
    raise InputError("; ".join([refusal, *on_top.notes]))


def _with_nvidia_xml(machine: Machine, *, content: bytes) -> Machine:
    from lanewise.machine.sources import layers, nvidia_smi

    reading = Reading()
    nvidia_smi.read_xml(content, reading)
    return layers.put_on(machine, reading)


def read_bytes(data: bytes, *, name: str = "-", overlays: Iterable[str | Path] = ()) -> Machine:
    """Read a machine from the content of a file; `overlays` as for `read`."""
    budget = Budget()
    machine = _or_said_empty(_read_content(data, name, budget))
    for overlay in overlays:
        machine = _put_on(machine, overlay, budget)
    return machine


def _read_content(data: bytes, name: str, budget: Budget) -> Machine:
    content = unpacked(data, budget)
    if not isinstance(content, bytes):
        from lanewise.machine.sources.archive import Archive, tar_members

        return _archive(Archive(tar_members(content), budget), name, budget)
    if content[:4] == b"PK\x03\x04":
        from lanewise.machine.sources.archive import Archive, zip_members

        return _archive(Archive(zip_members(io.BytesIO(content), budget), budget), name, budget)
    if (said := said_of_an_own_file(content, name)) is not None:
        raise InputError(said)
    reading, content = Reading(), mended(content)
    root = _xml_root(content)
    if root in _XML_ROOTS or (root in _LSHW_ROOTS and _LSHW_FUNCTION in content):
        return _xml(root, content, reading, name)
    if root is None and (pieces := mail.parts(content)):
        return _of_mail(pieces, reading, name, budget)
    try:
        return _read_text(_text(content, name, budget), reading, name)
    except InputError:
        inside = _XML_INSIDE.search(content, 0, _MOST_SEARCHED)
        if inside is not None:
            end = content.find(b"</%b>" % inside[2], inside.end())
            whole = content[inside.start(1) : None if end < 0 else end + len(inside[2]) + 3]
            return _xml(inside[2].decode(), whole, Reading(), name)
        if root is None:
            raise
        if root.lower() == "html":
            if _LSHW_PAGE in content:
                raise InputError(
                    f"'{name}' is a web page of lshw, which is not read: 'sudo lshw -json' is"
                ) from None
            raise InputError(
                f"'{name}' is a web page without a dump in it; accepted are {_ACCEPTED}"
            ) from None
        if root in _LSHW_ROOTS:
            raise InputError(
                f"'{name}' is XML in which no PCI device is; of lshw 'sudo lshw -xml' has them"
            ) from None
        raise InputError(
            f"'{name}' is XML with <{root}> outermost; hwloc has <topology> there, NCCL <system>, "
            "nvidia-smi <nvidia_smi_log>, lshw <list>"
        ) from None


def _of_mail(pieces: list[bytes], reading: Reading, name: str, budget: Budget) -> Machine:
    """Read the parts of a mail: an archive or XML that is attached, else all that is text in one.

    An archive in which there is no machine is left out: `nvidia-bug-report.sh` has records of the driver in
    base64 below everything that it prints. One that cannot be read is left out, too, and said.
    """
    from lanewise.machine.sources.archive import NothingInItError

    texts, refused = [], None
    for piece in pieces:
        budget.keep(len(piece))
        packed = True
        try:
            content = unpacked(piece, budget)
            packed = not isinstance(content, bytes) or content[:4] == b"PK\x03\x04"
            if packed or _xml_root(cast("bytes", content)) in _XML_ROOTS:
                return _read_content(piece, name, budget)
        except UsedUpError:
            raise
        except InputError as error:
            refused = error
            if not isinstance(error, NothingInItError):
                reading.note(f"an attached {'archive' if packed else 'file'} was left out: {error}")
        else:
            texts.append(_text_or_none(cast("bytes", content), budget) or "")
    try:
        return _read_text("\n\n".join(texts), reading, name)
    except InputError as error:
        raise refused or error from None


def _or_said_empty(machine: Machine) -> Machine:
    """Say of a machine that it has no PCI device: a mainframe, a container, hwloc without devices."""
    if machine.functions or machine.relations:
        return machine
    return replace(machine, notes=(*machine.notes, "there is no PCI device in it"))


def _archive(archive: Archive, name: str, budget: Budget) -> Machine:
    """Read a sysfs in an archive, and the outputs of tools beside it."""
    from lanewise.machine.sources import sysfs

    reading = Reading()
    if archive.breaks_off:
        reading.note_end(archive.breaks_off)
    for note in archive.notes:
        reading.note(note)
    if archive.holds_sysfs:
        sysfs.read(archive, reading)
    texts = [
        content for data in archive.texts.values() if (content := _plain_bytes(data, budget)) is not None
    ]
    for data in texts:
        if not archive.holds_sysfs and _xml_root(data) in _XML_ROOTS:
            return _read_content(data, name, budget)
    pieces = [text for data in texts if (text := _text_or_none(data, budget)) is not None]
    text = "\n\n".join(pieces)
    if archive.holds_sysfs and not HEADER.search(text):
        return Overlays(tidy(text)).put_on(reading.machine(name))
    try:
        return _read_text(text, reading, name)
    except InputError:
        names = ", ".join(path.rpartition("/")[2] for path in list(archive.texts)[:5])
        refusal = f"'{name}' is an archive without a sysfs and without output of lspci; it holds {names}"
        raise archive.refusal(refusal) from None


def _plain_bytes(data: bytes, budget: Budget) -> bytes | None:
    """Return a member of an archive decompressed; None for archives in archives and what is damaged."""
    try:
        content = unpacked(data, budget)
    except UsedUpError:
        raise
    except InputError:
        return None
    return content if isinstance(content, bytes) else None


def _text_or_none(data: bytes, budget: Budget) -> str | None:
    try:
        return _text(data, "", budget)
    except UsedUpError:
        raise
    except InputError:
        return None


def _read_one(source: str | Path | None, budget: Budget) -> Machine:
    if source is None or Path(source).is_dir():
        from lanewise.machine.sources.files import Folder

        folder = LIVE if source is None else Path(source)
        if source is None and not (LIVE / "bus/pci/devices").is_dir():
            raise InputError(f"this machine has no /sys/bus/pci; give a file: {_ACCEPTED}")
        return _or_said_empty(_sysfs(Folder(folder), Reading(), str(folder)))
    return _or_said_empty(_read_content(_bytes(source), str(source), budget))


def _sysfs(files: Files, reading: Reading, name: str) -> Machine:
    """Read a sysfs, and the slots of the board where its firmware's tables can be read."""
    from lanewise.machine.sources import dmidecode, smbios, sysfs

    sysfs.read(files, reading)
    slots = smbios.slots(files)
    if not slots:
        return reading.machine(name)
    reading.kinds.append("SMBIOS")
    return dmidecode.put_on(reading.machine(name), slots)


def _bytes(source: str | Path) -> bytes:
    data = read_input(source, MOST_BYTES)
    if len(data) > MOST_BYTES:
        name = "standard input" if str(source) == STANDARD_INPUT else f"'{source}'"
        raise InputError(f"{name} is larger than {MOST_BYTES >> 20} MiB, which no dump of a machine is")
    return data


def _xml_root(data: bytes) -> str | None:
    """Return the name of the outermost element, of what is XML."""
    head = data[:65536].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith(b"<"):
        return None
    match = _XML_ROOT.match(_without_prologue(head))
    return match[1].decode("ascii", "replace") if match else None


def _without_prologue(head: bytes) -> bytes:
    """Take off declarations, comments and a document type, whose own part stands in brackets."""
    at = 0
    while True:
        while head[at : at + 1].isspace():
            at += 1
        end = next((end for start, end in _XML_PROLOGUE if head[at : at + len(start)].lower() == start), None)
        if end is None:
            return head[at:]
        if end == b">" and 0 <= head.find(b"[", at) < head.find(b">", at):
            at = max(at, head.find(b"]", at))
        at = head.find(end, at + 1)
        if at < 0:
            return b""
        at += len(end)


def _xml(root: str | None, data: bytes, reading: Reading, name: str) -> Machine:
    from lanewise.machine.sources import hwloc, lshw, nccl, nvidia_smi

    if root == "topology":
        hwloc.read(data, reading)
    elif root == _NVIDIA_ROOT:
        nvidia_smi.read_xml(data, reading)
    elif root in _LSHW_ROOTS:
        lshw.read_xml(data, reading)
    else:
        nccl.read(data, reading)
    if not reading.drafts and reading.breaks_off:
        raise InputError(f"'{name}': {reading.breaks_off}, and no PCI device was in that")
    return reading.machine(name)


def _text(data: bytes, name: str, budget: Budget) -> str:
    """Decode; files that are mostly not text are refused."""
    budget.read(len(data), data.count(b"\n") + data.count(b"\r"))
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", "replace")
    elif _is_wide(data):
        text = data.decode("utf-16-le", "replace")
    else:
        head = data[:65536]
        if len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 20:
            raise InputError(f"'{name}' is binary; accepted are {_ACCEPTED}")
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if '"MESSAGE"' in text:
        from lanewise.machine.sources import journal

        text = journal.plain(text)
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def _is_wide(data: bytes) -> bool:
    """Whether this is UTF-16 without a mark: every other byte is zero."""
    head = data[:4096]
    return len(head) > 1 and head[1::2].count(0) > 0.9 * len(head[1::2]) and head[::2].count(0) == 0


def _read_text(text: str, reading: Reading, name: str) -> Machine:
    """Read whatever kinds a text holds: functions first, else a list or a tree; overlays go on top."""
    from lanewise.machine.sources import diffs, log_excerpt, lspci

    side = diffs.newer_side(text)
    if side is not None:
        text = side.text
        if side.of_dumps:
            reading.note("the text is a diff: its newer side is read")
    document, on_top = text, Overlays(tidy(text), text)
    lines, text = on_top.rest, on_top.text
    if '"businfo"' in document and _is_lshw_json(document):
        from lanewise.machine.sources import lshw

        lshw.read_json(document, reading)
    elif HEADER.search(text):
        log: list[str] = []
        if _is_mostly_log(text):
            log, lines = segments.without_log(lines)
            text = "\n".join(lines)
        if log:
            # What lspci says of a function counts more, and the log knows functions that it does not show.
            _read_kind("\n".join(log), log, reading)
        if not log or segments.holds_lspci(text):
            if "]-" in text or "]+" in text:
                _read_tree_beside(text, lines, reading)
            lspci.read(joined(lines), reading)
    else:
        _read_kind(text, lines, reading)
    if not reading.drafts and not on_top.stand_alone and (on_top or not log_excerpt.read(lines, reading)):
        raise InputError(_nothing_found(text, on_top, name))
    return on_top.put_on(reading.machine(name))


def _read_kind(text: str, lines: list[str], reading: Reading) -> None:
    """Read a text of one of the other kinds, if it is of any."""
    from lanewise.machine.sources import text_kinds

    reader = text_kinds.reader_of(text)
    if reader is not None:
        reader(lines, reading)


# A plain search for a word that must be there comes before a reader is loaded: that doubles as a quick no.
def _is_lshw_json(text: str) -> bool:
    from lanewise.machine.sources import lshw

    return lshw.LOOKS_LIKE_LSHW_JSON.search(text) is not None and HEADER.search(text) is None


def _is_mostly_log(text: str) -> bool:
    if "pci " not in text:
        return False
    from lanewise.machine.sources import kernel_log

    return kernel_log.is_most_of(text, HEADER)


def _read_tree_beside(text: str, lines: list[str], reading: Reading) -> None:
    from lanewise.machine.sources import tree

    if tree.LOOKS_LIKE_TREE.search(text):
        tree.read(lines, reading, alone=False)


_OTHER_OUTPUTS = {
    re.compile(
        r'"fio version" ?:|"test_start" ?:|\(groupid=\d|^[ \t]*#?bytes[ \t]+#?iterations[ \t]|^# ?OSU '
        r"|^Connecting to host |\balgbw[ \t]+busbw\b|\bnvbandwidth Version|\[CUDA Bandwidth Test\] - "
        r"|^\[P2P \(Peer-to-Peer\) GPU Bandwidth|^CrystalDiskMark \d|\bRocmBandwidthTest Version"
        r"|^TransferBench v\d|^Command Line: \S{0,80}diskspd",
        re.MULTILINE,
    ): "is the result of a benchmark: 'lanewise import' judges it, and --machine names the machine's dump",
    re.compile(
        r"^[ \t]*Link \d{1,2}: (?:<inactive>|\d{1,4}(?:\.\d+)? GB/s)", re.MULTILINE
    ): "shows links of NVLink, which are not PCI Express, and is not read: 'nvidia-smi -q' and 'nvidia-smi "
    "topo -m' are. There, a link that is '<inactive>' beside others that run is down",
    re.compile(
        r"^GPU \d{1,2}: [^\n]{1,80}\(UUID: ", re.MULTILINE
    ): "lists GPUs without addresses: 'nvidia-smi -q' has them, and their links",
    re.compile(r"H/W path"): "lists devices without addresses: 'lshw' alone and 'lshw -businfo' have them",
    re.compile(
        r"\|----\w[^\n|]{0,80}?\.{3}"
    ): "looks like output of esxcfg-info, which is not read: 'esxcli hardware pci list' is",
    re.compile(
        r"^pcib\d{1,3}: <", re.MULTILINE
    ): "looks like a boot log of FreeBSD, which is not read: 'sudo pciconf -lvbBc' is",
    re.compile(
        r"^[ \t*-]{1,8}[^\n]{1,120}: Speed [\d.]{1,4}GT/s[^\n]{0,20}, Width x\d", re.MULTILINE
    ): "has links by the names of devices, without addresses: 'sudo lspci -vvv' has both",
    re.compile(
        r"^smartctl \d|^Smart Log for NVME device|^NVME Identify Controller|^Error Information Log Entries"
        r'|^Error Log Entries for device:|"(?:critical_warning|error_count|num_err_log_entries)" ?: ?\d',
        re.MULTILINE,
    ): "tells of a drive's media, not of its link: 'sudo lspci -vvv' does, and 'nvme list -v' has addresses",
    re.compile(
        r"^(?:PCIe Operational \(Enabled\) Info|Link Width Active \(Enabled\))", re.MULTILINE
    ): "is output of mlxlink, which names no device; put its command ('mlxlink -d 81:00.0 ...') before it",
    re.compile(
        r"^\[ *\d+\.\d{9},\d\] ", re.MULTILINE
    ): "looks like a log of OPAL, POWER's firmware, which is not read: 'dmesg' and 'sudo lspci -vvv' are",
    re.compile(
        r"^(?:\[\w{4,6}\] +)?coreboot-\S", re.MULTILINE
    ): "looks like a log of coreboot, which is not read: 'dmesg' and 'sudo lspci -vvv' are",
    re.compile(
        r"^[ \t>]*=+ (?:Weight|Hops|Link Type) between two GPUs =+", re.MULTILINE
    ): "has matrices of rocm-smi, and neither addresses of GPUs nor a link of XGMI: 'rocm-smi --showbus "
    "--showtopo' has addresses",
    re.compile(
        r"^[ \t]*[0-9a-f]{1,4} \|[^\n]{0,80}\|[^\n]{0,40}(?:Critical Interrupt|System Firmware)", re.MULTILINE
    ): "is a log of a management controller that names no device; 'dmesg' and iDRAC's 'racadm lclog view' do",
    re.compile(
        r"NCCL INFO (?:=== System : |\+ PCI\[)"
    ): "has what NCCL says of the topology, which is not read: the file that "
    "'NCCL_TOPO_DUMP_FILE=machine.xml' writes is",
    re.compile(
        r"^ *(?:Fault class|Problem class) +: +fault\.io\.", re.MULTILINE
    ): "looks like faults of illumos, whose devices have paths and no addresses, and is not read: lspci of "
    "pciutils for illumos is",
    re.compile(
        r"^System Configuration: +\S", re.MULTILINE
    ): "looks like output of prtconf or prtdiag, which has no addresses and is not read: lspci of pciutils "
    "for illumos is",
    re.compile(
        r"^\w{2,12}\d{1,3} at pci\d{1,3} dev \d{1,2} function \d", re.MULTILINE
    ): "has lines of a boot log of OpenBSD or NetBSD, and none that places its buses; keep those, like "
    "'pci0 at mainbus0 bus 0' and 'pci1 at ppb0 bus 1'",
    re.compile(
        r"^[ \t]*(?:BusDevFun +VendorId|Seg +Bus +Dev +Func\b)", re.MULTILINE
    ): "lists devices as U-Boot or a UEFI shell does, without links, and is not read: 'sudo lspci -vvv' is",
    re.compile(
        r"\bDEVPKEY_PciDevice_\w"
    ): "has properties of devices of Windows without their addresses, and is not read: lspci of pciutils for "
    "Windows is, and 'nvidia-smi -q'",
    re.compile(
        r"\bsetpci (?:-\w{1,3} {1,4}){1,3}[0-9a-f:.]{5,12}\b"
    ): "has values of registers that setpci read, one by one, and is not read: 'sudo lspci -vvv' and "
    "'sudo lspci -xxxx' have all of them",
    re.compile(
        r"^MCE \d{1,4}$|^mcelog: |\bMachine check events logged|^Hardware event\. This is not a software",
        re.MULTILINE,
    ): "tells of errors of processors and memory, which mcelog keeps: 'dmesg' has those of PCI Express",
    re.compile(
        r"^CA '\w{1,20}'|^hca_id:[ \t]|^# Port (?:extended )?counters: Lid \d", re.MULTILINE
    ): "tells of ports of InfiniBand, not of PCI Express: 'sudo lspci -vvv' does",
    re.compile(
        r"^PCIe AER events summary:", re.MULTILINE
    ): "counts errors of PCI Express, and does not say of which devices: 'ras-mc-ctl --errors' does",
    re.compile(
        r"^No PCIe AER errors\.", re.MULTILINE
    ): "is output of ras-mc-ctl, whose record has no error of PCI Express; of links and devices 'sudo lspci "
    "-vvv' tells",
    re.compile(
        r"^CLI Version = |^Avago Technologies SAS|^Broadcom(?: Inc\.)? SAS\d? ", re.MULTILINE
    ): "tells of a storage controller and its drives, and no link is read from it: 'sudo lspci -vvv' has it",
    re.compile(
        r"^  Address {4,10}Description {4,40}Parent {4,20}Passthrough", re.MULTILINE
    ): "looks like output of govc, which has no links and is not read: 'esxcli hardware pci list' is",
    re.compile(
        r"\bWHEA-Logger\b"
    ): "names events of WHEA-Logger, and no message that says which device; 'Get-WinEvent -ProviderName "
    "Microsoft-Windows-WHEA-Logger | Format-List' has them",
    re.compile(
        r"^(?:OS Name|Item)\t|^System Information report written at", re.MULTILINE
    ): "looks like a report of Windows, which has no links and is not read: a report of HWiNFO, saved as "
    "text, is, lspci of pciutils for Windows, and 'nvidia-smi -q'",
    re.compile(
        r"^[ \t]*(?:CPU-Z TXT Report|CPU-Z version|CPU-Z[ \t]+\d|TechPowerUp GPU-Z|.{0,8}AIDA64 "
        r"|Bus Interface:?[ \t]{1,40}PCIe (?:x\d{1,2} )?\d\.\d)",
        re.MULTILINE,
    ): "looks like a report of CPU-Z, GPU-Z or AIDA64, which is not read: a report of HWiNFO, saved as text, "
    "is",
    re.compile(
        r"^[ \t]*SysFS BusID: ", re.MULTILINE
    ): "looks like output of hwinfo, which has no links and is not read: 'sudo lspci -vvv' is",
    re.compile(
        r"^[ \t]*cap 10\[[0-9a-f]{2}\] = PCI-Express", re.MULTILINE
    ): "has capabilities as pciconf prints them, and no line that says of which device; keep the first line "
    "of each: pciconf -lvbBc",
}
"""Signs of outputs that are not read, and what to give in their place."""


def _of_no_device(text: str) -> str:
    """Say what lines of `lspci` tell from which `grep` took away whose they are; empty for none."""
    if _LINK_LINES.search(text):
        return (
            f"lines about links ({segments.links_told(text)}), and none that says of which device; "
            "keep the first line of each function: lspci -vvv | grep -E '^[0-9a-f]|LnkCap:|LnkSta:'"
        )
    if (access := segments.access_told(text)) != "":
        return (
            f"lines about access control ({access}), and none that says of which port: 'sudo lspci -vvv' has "
            "ports, and what is behind them"
        )
    return ""


def _nothing_found(text: str, on_top: Overlays, name: str) -> str:
    if on_top.notes:
        return f"'{name}': {on_top.notes[0]}"
    if on_top:
        return f"'{name}' lists no functions; give it beside 'lspci -vvv', in one file or with --with"
    if (of_no_device := _of_no_device(text)) != "":
        return f"'{name}' has {of_no_device}"
    if (scenario := said_of_a_scenario(text, name)) is not None:
        return scenario
    if broken := said_of_broken_json(text):
        return f"'{name}' is JSON that is incomplete or damaged: {broken}"
    what = "is empty" if not text.strip() else "has nothing in it that is read as a PCI device"
    if text.strip() and looks_like_log(text.splitlines()):
        what = "is a kernel log in which no line names a PCI device"
    other = next((said for sign, said in _OTHER_OUTPUTS.items() if sign.search(text)), None)
    return f"'{name}' {other or f'{what}; accepted are {_ACCEPTED}'}"
