"""PCIe host controllers of chips whose firmware lists no buses: boards with ARM and RISC-V processors.

Linux starts such a controller itself, and names it by its place in the chip (``fd500000.pcie``), because it
has no PCI address. Its driver says whether its link came up, most say how fast, and the kernel says
which bus begins there: so a log tells how the root port runs, or that nothing was found. A socket in which
nothing is has the same words as one whose device does not start.

Controllers with several ports that share one name (Tegra before 194, MT7621) say which port found nothing;
how fast those run that found something they do not say.
Source: logs of Raspberry Pi, Rockchip, Jetson, Armada, i.MX, Qualcomm and SpacemiT boards; Linux,
drivers/pci/controller (pcie-rockchip-host.c, pcie-mediatek-gen3.c, dwc/pcie-designware.c), 4.19 to 6.17, read
for the wording only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.numbers import line_rate, natural

if TYPE_CHECKING:
    from lanewise.machine.assembly import Reading

NAME = r"[0-9a-f]{4,12}\.[a-z][\w-]{1,23}"
_SPEAKER = rf"[\w-]{{0,24}}pci[\w-]{{0,24}} {NAME}: (?:[\w-]{{1,24}}: )?"
_OF_ANDROID = r"PCIe:? ?RC\d{1,2} link init"
"""How Qualcomm's own driver (msm_pcie) begins what it says: by the number of the root complex."""
NO_LINK = (
    rf"{_OF_ANDROID}ialization failed|{_SPEAKER}(?:(?:[Pp]hy |PCIe )?[Ll]ink never came up|"
    r"(?:PCIe )?[Ll]ink (?:is )?(?:down|DOWN)\b|"
    r"PCIe Link Fail|PCIe link training gen\d timeout|link \d down, ignoring|pcie\d no card, disable it|"
    r"(?:error -\w{1,16}: )?(?:failed to|cannot|unable to) initialize host|"
    r"probe with driver [\w-]{1,32} failed with error -(?!517\b)\d)|"
    rf"[\w-]{{0,24}}pci[\w-]{{0,24}}: probe of {NAME} failed with error -(?!517\b)\d"
)
"""A link that did not come up."""
PORT = re.compile(r"\b(?:link |pcie)(\d) (?:down, ignoring|no card)")
"""Which of several ports of a controller a line tells of."""
NO_START = re.compile(r"initialize host|failed with error -")
"""A line that says that a controller did not start; where its link is the reason, another line says so."""
CONTROLLER = re.compile(rf"({NAME}): |probe of ({NAME}) |PCIe:? ?(RC\d{{1,2}}) link init")
"""Where the name of a controller stands."""
LINK_UP = rf"{_OF_ANDROID}ialized|{_SPEAKER}(?:PCIe Gen\.\d x\d{{1,2}} |PCIe )?[Ll]ink (?:is )?(?:up|UP)\b"
"""One that did."""
SIGN = "pcie"
"""What is in the names of most controllers; ``pci`` in those of Qualcomm."""
_MODE = re.compile(
    rf"({NAME}): (?:PCIe Gen\.(?P<generation>\d) x(?P<lanes>\d{{1,2}}) link up|"
    r"link up, (?P<speed>[\d.]{1,6}) GT/s PCIe x(?P<width>\d{1,2}))"
)
_BUS = re.compile(rf"({NAME}): PCI host bridge to bus ([0-9a-f]{{4,8}}):([0-9a-f]{{2}})\b")
_OF_GENERATION = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0"}


class HostControllers:
    """Learns how the links of controllers run, and at which bus each begins; both come in either order."""

    def __init__(self) -> None:
        """Start before the first line."""
        self._modes: dict[str, LinkMode] = {}
        self._ports: dict[str, Address] = {}

    def take(self, line: str) -> None:
        """Take a line; most are about something else."""
        if (mode := _MODE.search(line)) is not None:
            speed = mode["speed"] or _OF_GENERATION.get(int(mode["generation"]))
            if speed is not None:
                self._modes[mode[1]] = LinkMode(line_rate(speed), natural(mode["width"] or mode["lanes"]))
        elif (bus := _BUS.search(line)) is not None:
            self._ports[bus[1]] = Address(int(bus[2], 16), int(bus[3], 16), 0, 0)

    def put_on(self, into: Reading) -> None:
        """Give root ports that the log lists their links, where it does not say how they run elsewhere."""
        for name, port in self._ports.items():
            draft, mode = into.drafts.get(port), self._modes.get(name)
            if draft is not None and mode is not None and "status" not in draft.link:
                draft.link["status"] = mode
                draft.registers["express"] = True
