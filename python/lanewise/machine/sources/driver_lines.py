"""What drivers of Linux say of their devices, and some of BSD: a table of messages, and common words.

A row of `driver_messages/*.txt` is a message of one driver, with what it means and the file that prints it.
A message counts wherever it stands in a line that shows its driver. No table has all of them. So what a
driver of an adapter, a controller or an accelerator says before the address of its device counts too, where
it says in common words that hardware, firmware or a reset failed: that is `EventKind.COMPLAINED`.

Left out of those words: firmware files that are not there, interrupts, virtual functions, cables and
transceivers, remote ends, single commands, and what drivers of displays, sound and USB say, who complain on
machines in order, too. Source: the texts at error level of 140 drivers in Linux 6.12, and public logs of
machines in order.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from lanewise.machine.kernel_event import EventKind

MEANINGS = {
    "down": EventKind.CONTROLLER_DOWN,
    "failed": EventKind.DEVICE_FAILED,
    "firmware": EventKind.HEALTH_LOST,
    "late": EventKind.TIMED_OUT,
    "less": EventKind.RUNS_WITH_LESS,
    "error": EventKind.COMPLAINED,
    "again": EventKind.RECOVERED,
}
"""What the first column of a row says: the device stopped answering, could not be started or was given up,
its firmware stopped, it was late, it does less, it reported an error of its own, it works again."""

_FILES = ("network", "storage", "graphics", "host", "bsd")
GPUS = frozenset(("nvidia", "amdgpu", "xe", "radeon"))
"""Drivers of GPUs that compute."""
EEH = "EEH"
"""PowerPC's handling of errors, which stops devices and is none."""
_WITHOUT_COMMON_WORDS = GPUS | frozenset(
    (
        *("NVRM", "i915", "nouveau", "xhci_hcd", "thunderbolt", "iwlwifi", "zpci", "pci", "EEH", "intel_vpu"),
        *("ath10k_pci", "ath11k_pci", "ath12k_pci"),
        *("qat", "QAT", "4xxx", "c6xx", "c3xxx", "dh895xcc", "420xx"),
    )
)
"""Drivers whose words count only where the table has them."""
_MORE_DRIVERS = frozenset(
    (
        *("8139too", "acenic", "alx", "amd-xgbe", "atl1", "atl1c", "atl1e", "atl2", "be2iscsi", "bfa"),
        *("bna", "bnx2fc", "bnx2i", "bnxt_re", "cassini", "cnic", "cxgb3", "dfl-pci", "dl2k", "e100"),
        *("efct", "enetc", "enic", "erdma", "et131x", "fnic", "forcedeth", "fsl_enetc", "funeth"),
        *("genwqe", "gve", "hisi_hpre", "hisi_sas_v3_hw", "hisi_sec2", "hisi_zip", "hptiop"),
        *("ib_mthca", "ib_qib", "idpf", "igbvf", "inia100", "ips", "ixgbevf", "jme", "ksz884xp"),
        *("lan743x", "mlx5_ib", "mptfc", "mptsas", "mptspi", "mvsas", "mvumi", "myrb", "myri10ge"),
        *("myrs", "natsemi", "netxen_nic", "nfp_netvf", "ngbe", "ntb_hw_amd", "ntb_hw_intel"),
        *("pata_via", "pds_core", "plx_dma", "ptdma", "qaic", "qedf", "qedi", "qib", "qla1280"),
        *("qla3xxx", "qla4xxx", "qlcnic", "rnpgbe", "rtase", "s2io", "sata_mv", "sata_nv"),
        *("sata_sil24", "sata_via", "skge", "sundance", "switchtec", "tehuti", "tn40xx", "tulip"),
        *("txgbe", "typhoon", "usnic_verbs", "vmd", "vmxnet3", "xclmgmt", "xdma", "xilinx-xdma"),
        *("xocl",),
    )
)
"""Drivers of what moves data that the table does not have. Source: the names of PCI drivers in Linux 6.12,
drivers/net/ethernet, scsi, message, infiniband/hw, ntb, accel and crypto."""

_HOLDER = re.compile(r"%[-+ #0]{0,4}\d{0,3}(?:\.\d{1,3})?(?:hh?|ll?|z)?[diuxXcsp][eRfMU]?")
_WORD = re.compile(r"[A-Za-z0-9][\w-]{1,24}")
_WORDS_LOOKED_AT = 12
_SPOKEN = re.compile(
    r"(?:^|[\s\]:>\x22])(\w[\w-]{1,24}) \[?(?P<address>[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])\]?[-: ]"
    r"(?P<message>.{0,300})"
)
_LATER = re.compile(r"^\W{0,3}(?:AER:|(?:PCIe|CXL) Bus Error|  |device \[|BAR \d|\[ *\d)")
"""What the kernel says in a driver's place, and others read."""
_FAILED_START = re.compile(
    r"(?:^|[\s\]:>\x22])(?:(\w[\w-]{1,24}): probe of [0-9a-f]{4,8}:[0-9a-f:.]{5,12}|"
    r"\w[\w-]{0,24} [0-9a-f]{4,8}:[0-9a-f:.]{5,12}: probe with driver (\w[\w-]{1,24}))"
    r" failed with error -(\d+)"
)
"""Of any driver, as kernels say it and as they did before 6.8: who it is, and its error."""
_LATER_AGAIN = 517
_NOT_MEANT = frozenset((16, 19, _LATER_AGAIN))
"""Busy, no such device, and later again: another driver has it, or this one does not want it."""
_HELPERS = re.compile(
    r"pcieport|shpchp|vfio|snd_|mei|i801|i2c|piix|smbus|edac|uncore|intel_|int3|proc_thermal|pmt|vsec|lpc|iTCO|"
    r"sp5100|sdhci|rtsx|thunderbolt|[eou]hci|serial|parport|tpm|ccp|spi|gpio|pinctrl|ioat|agp|i915|ast|mgag|"
    r"bochs|cirrus|virtio|vmw|hyperv|cxl|ipmi|hpwdt|hpilo|nvidia-gpu|ucsi|"
    r"intel-|qat|QAT|4xxx|c6xx|c3xxx|dh895xcc|420xx|pcie_mp2|amd_sfh"
)
"""Drivers of what belongs to the board, of displays, sound and USB 1 and 2, and of guests, which fail to
start on machines in order, too."""
_TAKEN = re.compile(r": BAR \d: can't reserve \[mem")
_THING = (
    r"(?:hardware|hw|adapter|controller|device|board|card|chip|asic|firmware|fw|mcu|ioc|isp|hba|nic|mailbox|"
    r"mbox|admin ?q\w{0,8}|reset|init\w{0,16}|probe|recover\w{0,8}|restart|heartbeat|nvm|eeprom|flash|phy|"
    r"rebuild|pci\w{0,16}|bars?|registers?|watchdog|keep alive|microcode|doorbell|semaphore|self[- ]test|"
    r"start ?up|handshake)"
)
_BROKE = (
    r"(?:fail\w{0,4}|timed? ?out|errors?|lost|offline|not ready|not functional|corrupt\w{0,4}|unreachable|"
    r"invalid)"
)
_FAULT = re.compile(
    r"\b(?:not respond\w{0,8}|unresponsive|failed to respond|dead|hung|lock(?:ed |-)?up|unrecoverable|"
    r"giving up|uncorrectable|non-?recoverable|parity error|ecc error|fatal|assert(?:ion|ed)?|panic\w{0,4}|"
    r"crashed|stuck|unusable|not usable|power cycle|transmit timed out|tx timeout|link lost|surprise removal|"
    rf"{_THING}\b.{{0,40}}\b{_BROKE}|"
    rf"(?:fail(?:ed|ure)?|unable to|cannot|can't|could not|timed? ?out|error)\b.{{0,30}}\b{_THING})\b",
    re.IGNORECASE,
)
_NO_FAULT = re.compile(
    r"firmware load for|load(?:ing)? (?:the )?(?:acceleration )?(?:firmware|fw)\b|firmware file|"
    r"\.(?:fw|bin|ucode|pkg|mfa2)\b|ASPM|MSI|\bIRQ|interrupt|\bVFs?\b|vf_|SR-?IOV|VPD|PTP|hwmon|devlink|debugfs|"
    r"DCB|VLAN|\bTC\b|filter|offload|flow|multicast|ethtool|EEE|PME|wake|DMA mask|parameter|module|"
    r"SFP|cable|transceiver|link is|auto-?negotiat|SOL/IDER|"
    r"log[io]n|target|remote|rport|wwpn|FCF|fabric|abort|\bLUN|\btask\b|nexus|user|ACCESS_REG|I/OAT|DCA|"
    r"dump|performing|max timeout|timeout:|default|enabled|disabled|not supported|unsupported|recovered|"
    r"success|retry|hot-?added|error -517",
    re.IGNORECASE,
)
"""Files, interrupts, virtual functions and offloads; cables and links of networks; remote ends and single
commands; what is switched on or off, or tried again."""
_QUIET = re.compile(r"^<(?:5|6|7|13|14|15|29|30|31)>|^kern *:(?:notice|info|debug) *:")
"""How `dmesg -r` and `dmesg -x` begin lines below warnings."""
_SOON = re.compile(
    r"fail|time|respon|dead|hung|lock|recover|giving|correct|error|fatal|assert|panic|crash|stuck|usable|"
    r"cycle|lost|removal|reset|online|operational|unable|cannot|can't|"
    r"could not|offline|ready|reachable|invalid|corrupt|functional",
    re.IGNORECASE,
)
"""What is in every line that says a fault in common words: spares most lines the long search."""


_WORKS = re.compile(
    r"\b(?:reset|recover\w{0,8}|restart)\b.{0,24}\b(?:succe\w{1,8}|completed?|done)\b|back online|"
    r"operational again",
    re.IGNORECASE,
)
"""What a driver says of a device that works again."""


_UNUSABLE = re.compile(
    r"PM: failed to (?:resume|restore|thaw)(?: async| noirq| early)?: error -\d"
    r"|(?P<small>[Pp]ower state from \w{2,8} to D[123]\w{0,4}[ ,(]{1,2}(?:config space|device) inaccessible"
    r"|[Ff]ail\w{0,3} (?:to )?enabl\w{1,3} (?:MSI(?:-?X)?|interrupts?)\b\W{0,4}-\d)"
)
"""What the kernel says of any device that it cannot wake or put to sleep, and drivers of one whose interrupts
they cannot have."""
_HARMLESS = re.compile(r"PCI INT [A-D]")
"""An interrupt line that no table of the firmware has: devices have messages (MSI) in its place."""


class Said(NamedTuple):
    """What a line tells of a device."""

    kind: EventKind
    driver: str


class DriverLine(NamedTuple):
    """One message of one driver."""

    kind: EventKind
    driver: str
    message: str
    """As the source has it."""
    sign: str
    """The longest part of it that stands in every line."""
    source: str
    """Folder and file."""

    def fits(self, line: str) -> bool:
        """Whether a line has this message."""
        if self.sign not in line:
            return False
        return self.sign == self.message or _pattern(self.message).search(line) is not None


@cache
def _pattern(message: str) -> re.Pattern[str]:
    return re.compile(pattern_of(message))


def pattern_of(message: str) -> str:
    """Return an expression to search for a message of the table.

    Of a gap at an end one character is enough: to try each of its lengths took up to sixty times as long.
    """
    first, *texts = map(re.escape, _HOLDER.split(message))
    gaps = [r".{1,60}?"] * len(texts)
    if texts and not texts[-1]:
        gaps[-1] = "."
    if texts and not first:
        gaps[0] = "."
    return first + "".join(f"{gap}{text}" for gap, text in zip(gaps, texts, strict=True))


@cache
def table() -> dict[str, tuple[DriverLine, ...]]:
    """Return the rows by the words that show a driver."""
    found: dict[str, tuple[DriverLine, ...]] = {}
    words: list[str] = []
    folder = ""
    for name in _FILES:
        text = resources.files(__package__).joinpath("driver_messages", f"{name}.txt").read_text("utf-8")
        for line in text.splitlines():
            if line.startswith("["):
                before, _, folder = line[1:].partition("] ")
                words = before.split()
            elif line.startswith("  "):
                meaning, rest = line.strip().split("  ", 1)
                message, _, file = rest.rpartition("  ")
                sign = max(_HOLDER.split(message), key=len)
                row = DriverLine(MEANINGS[meaning], words[0], message, sign, f"{folder}/{file}")
                for word in words:
                    found[word] = (*found.get(word, ()), row)
    return found


@cache
def _movers() -> frozenset[str]:
    return (frozenset(table()) | _MORE_DRIVERS) - _WITHOUT_COMMON_WORDS


def _moves_data(driver: str) -> bool:
    """Whether it matters where a driver does not start: others fail to on machines in order, too."""
    return driver in GPUS or driver in _movers()


def said(line: str) -> Said | None:
    """Return what a line of a driver means; None where it tells of no failing device."""
    rows, known = table(), " failed with error -" in line and _FAILED_START.search(line) is not None
    for number, word in enumerate(_WORD.finditer(line)):
        if number == _WORDS_LOOKED_AT:
            break
        name = word[0]
        known = known or _moves_data(name)
        for row in rows.get(name) or rows.get(name.rstrip("0123456789")) or ():
            if row.fits(line):
                return Said(row.kind, row.driver)
    common = _in_common_words(line) if known and _SOON.search(line) else None
    return common or (_of_any_driver(line) if "ail" in line or "inaccessible" in line else None)


def _of_any_driver(line: str) -> Said | None:
    """Return what it means that a device cannot be woken, or put to sleep, or has no interrupts."""
    found = _UNUSABLE.search(line)
    spoken = _SPOKEN.search(line) if found is not None else None
    if found is None or spoken is None:
        return None
    lost = found["small"] is None and _moves_data(spoken[1])
    return Said(EventKind.NO_RETURN if lost else EventKind.COMPLAINED, spoken[1])


def speaker(line: str) -> tuple[str, str] | None:
    """Return a driver of what moves data and the address of the device of which it speaks."""
    spoken = _SPOKEN.search(line)
    return (spoken[1], spoken["address"]) if spoken is not None and _moves_data(spoken[1]) else None


def _in_common_words(line: str) -> Said | None:
    started = _FAILED_START.search(line)
    if started is not None:
        return _meaning_of_start(started[1] or started[2], int(started[3]))
    spoken = _SPOKEN.search(line)
    if spoken is None or not _moves_data(spoken[1]):
        return None
    driver, message = spoken[1], spoken["message"]
    if _TAKEN.search(line):
        return Said(EventKind.DEVICE_FAILED, driver)
    if driver in GPUS or _LATER.match(message) or _HARMLESS.search(message):
        return None
    if _WORKS.search(message):
        return Said(EventKind.RECOVERED, driver)
    fault = _FAULT.search(message) and not _NO_FAULT.search(message) and not _QUIET.match(line)
    return Said(EventKind.COMPLAINED, driver) if fault else None


def _meaning_of_start(driver: str, error: int) -> Said | None:
    """Return what it means that a driver did not start its device, by whether it is one that moves data."""
    if _moves_data(driver):
        return Said(EventKind.DEVICE_FAILED, driver) if error != _LATER_AGAIN else None
    meant = error not in _NOT_MEANT and _HELPERS.match(driver) is None
    return Said(EventKind.COMPLAINED, driver) if meant else None
