"""Faults as dumps show them: what `lspci`, its bytes and sysfs say when a link, a slot or a device fails.

The wordings are those of `lspci` 3.6 to 3.14 and Linux 5 to 6; registers are those of PCIe Base 5.0, 7.5.
"""

from __future__ import annotations

import re

from dump_edits import EXPRESS, Edit, files, gone, registers, together, whole, words

_SPEED = r"(LnkSta:\s+Speed )(?:[\d.]+GT/s|unknown)(?: \(\w+\))?"
_WIDTH = r"(LnkSta:\s+Speed [^,]+, Width )x\d+(?: \(\w+\))?"
CODES = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5}
LNKSTA, DEVCTL = 0x12, 0x08


def lanes(width: int, *ends: str) -> Edit:
    """Let a link come up on fewer lanes; both of its ends say so."""
    return together(*(words(end, _WIDTH, rf"\g<1>x{width} (downgraded)") for end in ends))


def speed(gt_s: float, *ends: str) -> Edit:
    """Let a link run slower than it could; both of its ends say so."""
    return together(*(words(end, _SPEED, rf"\g<1>{gt_s:g}GT/s (downgraded)") for end in ends))


def lanes_in_bytes(width: int, *ends: str) -> Edit:
    """The same in Negotiated Link Width."""
    return together(*(registers(end, EXPRESS, LNKSTA, 0x3F0, width << 4) for end in ends))


def speed_in_bytes(gt_s: float, *ends: str) -> Edit:
    """The same in Current Link Speed."""
    return together(*(registers(end, EXPRESS, LNKSTA, 0xF, CODES[gt_s]) for end in ends))


def lanes_in_sysfs(width: int, *ends: str) -> Edit:
    """The same in the kernel's attributes."""
    return together(*(files(current_link_width=f"{width}\n")(end) for end in ends))


def speed_in_sysfs(words_: str, *ends: str) -> Edit:
    """The same in the kernel's attributes, in the words of its version."""
    return together(*(files(current_link_speed=f"{words_}\n")(end) for end in ends))


def payload(size: int, *functions: str) -> Edit:
    """Set Max_Payload_Size."""
    return together(
        *(
            words(one, r"MaxPayload \d+ bytes, MaxReadReq", f"MaxPayload {size} bytes, MaxReadReq")
            for one in functions
        )
    )


def request(size: int, function: str) -> Edit:
    """Set Max_Read_Request_Size."""
    return words(function, r"MaxReadReq \d+ bytes", f"MaxReadReq {size} bytes")


def bits(function: str, record: str, *names: str) -> Edit:
    """Set bits of a record, like CESta."""
    return together(*(words(function, rf"(^\s*{record}:.*?\b{name})-", r"\1+") for name in names))


def answers_with_ones(bdf: str, *, driver: bool = True) -> Edit:
    """Let a device fall off the bus: all `lspci` can say is its old name, and who drove it."""

    def instead(block: str) -> str:
        first = re.sub(r" \(rev \w+\)| \(prog-if .*", "", block.partition("\n")[0])
        held = re.search(r"^\tKernel driver in use: .*\n", block, re.MULTILINE) if driver else None
        return f"{first} (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n{held[0] if held else ''}\n"

    return whole(bdf, instead)


def empty_port(bdf: str, *, training: bool = False) -> Edit:
    """Let a port have no link, although its slot says that a card is there."""
    return together(
        speed(2.5, bdf),
        lanes(0, bdf),
        words(bdf, r"Train[-+]", "Train+" if training else "Train-"),
        words(bdf, r"DLActive[-+]", "DLActive-"),
        words(bdf, r"(SltSta:.*PresDet)[-+]", r"\1+"),
    )


def card_without_link(port: str, *below: str, training: bool = False) -> Edit:
    """Let the card in a slot not come up: it is gone from the bus, and its slot is still occupied."""
    return together(*map(gone, below), empty_port(port, training=training))


def no_driver(bdf: str) -> Edit:
    """Let no driver be bound."""
    return words(bdf, r"^\tKernel driver in use: .*\n", "")


def held_by(driver: str, bdf: str) -> Edit:
    """Let another driver hold a device."""
    return words(bdf, r"^(\tKernel driver in use: ).*\n", rf"\g<1>{driver}\n")


def no_address(bdf: str, how: str = "<unassigned>") -> Edit:
    """Let the BARs of a device have no address."""
    return together(
        words(bdf, r"(Region \d: Memory at )[0-9a-f]+( \([^)]*\))", rf"\g<1>{how}\2 [disabled]"),
        words(bdf, r"Mem\+", "Mem-"),
    )
