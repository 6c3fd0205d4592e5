"""What the bits of uncorrectable errors mean, in words, and what to do about each.

Source: PCI Express Base Specification 5.0, 6.2.7 (error listing) and 7.8.4.2; the short names are lspci's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.registers import WITHOUT_DETAILS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

MEANINGS = {
    "DLP": "broken data link protocol",
    "SDES": "link down by surprise",
    "TLP": "poisoned packet",
    "FCP": "broken flow control",
    "CmpltTO": "read without an answer",
    "CmpltAbrt": "refused request",
    "UnxCmplt": "answer without a request",
    "RxOF": "receive buffer overrun",
    "MalfTLP": "malformed packet",
    "ECRC": "packet damaged on its way",
    "UnsupReq": "unsupported request",
    "ACSViol": "request against access control",
    "UncorrIntErr": "internal error",
    "BlockedTLP": "blocked multicast packet",
    "AtomicOpBlocked": "blocked atomic operation",
    "TLPBlockedErr": "blocked prefix of a packet",
    "PoisonTLPBlocked": "blocked poisoned packet",
}
"""Of what each bit tells."""

_FIXES = (
    (
        frozenset({"CmpltTO"}),
        "Completion Timeout: a read got no answer. Look at the device that should have answered: for an "
        "adapter or GPU mostly the host or the switch above it, for a port the device below it; update "
        "firmware of both, and look for a link that went down at that time.",
    ),
    (
        frozenset({"MalfTLP", "RxOF", "FCP"}),
        "Malformed packets, overrun buffers and flow control: the two ends do not agree. Compare MaxPayload "
        "of all functions on the path (`lspci -vv | grep MaxPayload`) and update firmware of the device.",
    ),
    (
        frozenset({"TLP", "ECRC", "PoisonTLPBlocked"}),
        "Poisoned packets and ECRC: data was damaged before it was sent, or inside a switch or bridge on "
        "the way. Look for memory errors of host (`dmesg | grep -i -e mce -e edac`) and device.",
    ),
    (
        frozenset({"DLP", "SDES"}),
        "Data link protocol errors and links that go down by surprise: reseat the card, look at riser, "
        "cable and power.",
    ),
    (frozenset({"UncorrIntErr"}), "Internal error: update the firmware of the device, then replace it."),
)


def in_words(bits: Collection[str]) -> str:
    """Name bits in words with lspci's name behind each, like ``poisoned packet (TLP)``.

    Errors of which a log gives no more than that they happened are named only where there are no others.
    """
    named = [bit for bit in bits if bit != WITHOUT_DETAILS]
    if not named and WITHOUT_DETAILS in bits:
        return "of a kind that the log does not name"
    bits = named
    return ", ".join(f"{MEANINGS[bit]} ({bit})" if bit in MEANINGS else bit for bit in bits)


def fixes(bits: Iterable[str]) -> list[str]:
    """Say what to do about these bits, a sentence or two for each kind."""
    found = frozenset(bits)
    return [words for about, words in _FIXES if about & found]
