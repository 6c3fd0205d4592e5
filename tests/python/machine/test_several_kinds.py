"""Several kinds in one text, and what a dump is wrapped in on its way: each piece goes to its reader."""

from __future__ import annotations

import base64
import difflib
import gzip
import quopri
import re
from email.message import EmailMessage

import pytest
from machine_dumps import DUMPS

from lanewise.errors import InputError
from lanewise.machine import read, read_bytes

DUMP = (DUMPS / "qemu.vvv").read_text()
WHOLE = {
    address: link.now
    for address, link in ((str(each.device.address), each) for each in read(DUMPS / "qemu.vvv").links)
}
LOG = (
    "".join(
        f"[    0.{number:06d}] pci 0000:{bus:02x}:00.0: [8086:1521] type 00 class 0x020000 PCIe Endpoint\n"
        for number, bus in enumerate(range(0x10, 0x50))
    )
    + "[    9.000001] pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0\n"
)
SLOTS = """\
Handle 0x0030, DMI type 9, 17 bytes
System Slot Information
\tDesignation: PCIe Slot 1
\tType: x16 PCI Express 3
\tCurrent Usage: In Use
\tBus Address: 0000:01:00.0

"""


def links(data: bytes) -> dict[str, object]:
    """Return how links of our machine run, in what may show more than it."""
    found = {str(link.device.address): link.now for link in read_bytes(data).links}
    return {address: found.get(address) for address in WHOLE}


@pytest.mark.parametrize(
    "text", [LOG + "\n" + DUMP, DUMP + "\n" + LOG, f"Hello,\n\n{LOG}\nand lspci:\n\n{DUMP}\n-- \nme\n"]
)
def test_a_kernel_log_beside_lspci(text: str) -> None:
    machine = read_bytes(text.encode())
    assert links(text.encode()) == WHOLE
    assert {"lspci text", "kernel log"} <= set(machine.kinds)
    assert len(machine.functions) >= 64


def test_everything_at_once() -> None:
    text = f"{LOG}\n{SLOTS}\n{DUMP}"
    machine = read_bytes(text.encode())
    assert links(text.encode()) == WHOLE
    assert [slot.name for slot in machine.slots] == ["PCIe Slot 1"]


def unified() -> str:
    before = DUMP.replace("Speed 2.5GT/s", "Speed 5GT/s")
    return "\n".join(
        difflib.unified_diff(before.splitlines(), DUMP.splitlines(), "a", "b", "", "", 10_000, "")
    )


def plain() -> str:
    lines = DUMP.splitlines()
    return f"1,2c1,{len(lines)}\n< 00:00.0 Host bridge: Other\n---\n" + "\n".join(
        f"> {line}" for line in lines
    )


@pytest.mark.parametrize("text", [unified(), plain()])
def test_of_a_diff_the_newer_side_is_read(text: str) -> None:
    assert links(text.encode()) == WHOLE
    assert any("newer side" in note for note in read_bytes(text.encode()).notes)


def mail(*, attached: bytes | None, encoding: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "slow card"
    message.set_content(DUMP if attached is None else "see the file", cte=encoding)
    if attached is not None:
        message.add_attachment(
            attached, maintype="application", subtype="octet-stream", filename="lspci.txt.gz"
        )
    return message.as_bytes()


@pytest.mark.parametrize(
    "data",
    [
        mail(attached=None, encoding="base64"),
        mail(attached=None, encoding="quoted-printable"),
        mail(attached=gzip.compress(DUMP.encode()), encoding="7bit"),
        mail(attached=(DUMPS / "qemu.sysfs.tar.gz").read_bytes(), encoding="7bit"),
        base64.encodebytes(DUMP.encode()),
        quopri.encodestring(DUMP.encode()),
        b"On Monday somebody wrote:\n" + "".join(f"> {line}\n" for line in DUMP.splitlines()).encode(),
        b"# Report\n\n```\n" + DUMP.encode() + b"```\n",
        b"<html><body><pre>"
        + DUMP.replace("&", "&amp;").replace("<", "&lt;").encode()
        + b"</pre></body></html>",
    ],
    ids=[
        "base64",
        "quoted",
        "attached",
        "archive",
        "pasted base64",
        "pasted quoted",
        "cited",
        "Markdown",
        "HTML",
    ],
)
def test_mails_and_pages(data: bytes) -> None:
    assert links(data) == WHOLE


def test_what_can_be_said_without_addresses_is() -> None:
    text = "".join(f"{line}\n" for line in DUMP.splitlines() if re.match(r"\s+Lnk(Cap|Sta):", line))
    with pytest.raises(InputError, match=r"lines about links \(2\.5GT/s x\d.*\), and none"):
        read_bytes(text.encode())
    cut = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)\n"
    with pytest.raises(InputError, match=r"16GT/s x8 of 16GT/s x16 \(downgraded\)"):
        read_bytes(cut.encode())
