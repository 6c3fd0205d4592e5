"""Mails as they are saved or pasted: their parts, decoded.

A mail wraps a dump in base64 or quoted-printable, splits it over parts and attaches it packed. Here it comes
apart with Python's `email`; what is attached is handed on as bytes, for the unpacker. Text that was pasted
without the mail's head is decoded where its lines show what it is. Source: RFC 2045, 6.7 and 6.8; RFC 2046.
"""

from __future__ import annotations

import binascii
import quopri
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import Message

_MOST_HEAD = 64 << 10
_FIELD = re.compile(rb"(?im)^(?:from|to|subject|date|message-id|received|mime-version|content-type):[ \t]")
_ENCODED = re.compile(
    rb"(?im)^content-transfer-encoding:[ \t]{0,8}(?:base64|quoted-printable)"
    rb"|^content-type:[ \t]{0,8}multipart/"
)
_BASE64 = re.compile(rb"(?:^[A-Za-z0-9+/]{56,76}\r?\n){4,}+[A-Za-z0-9+/]{0,76}={0,2}", re.MULTILINE)
_LONG_LINE = re.compile(rb"[A-Za-z0-9+/]{56}")
_BELOW_A_LINE = re.compile(rb"\n[A-Za-z0-9+/]{56}")
"""What every block begins with: a dump without one is looked through in a third of the time."""
_SOFT_END = re.compile(rb"=\r?\n")
_SOFT_END_OF_A_LINE = re.compile(rb"(?m)^[^\n]{67,74}[^=\n]=\r?$")
"""One where quoted-printable breaks lines, of 76 characters: dumps end none of theirs so."""
_SAYS_SO = re.compile(rb"(?im)^content-transfer-encoding:[ \t]{0,8}quoted-printable")
_QUOTED = re.compile(rb"=(?:3D|09|20|A0|C2=A0|E2=80)")
_QUOTED_INDENT = re.compile(rb"(?m)^(?:> ?)?=(?:09|20|A0|C2=A0)")
"""How lines begin that are indented: short ones need no soft end."""
_BLANK = re.compile(rb"(?<![\x80-\x9f\xa1-\xff])\xa0")
"""The blank of Latin-1 that does not break a line; in UTF-8 another byte stands before it."""
_FEWEST = 3


def parts(data: bytes) -> list[bytes] | None:
    """Return the parts of a mail, decoded; None for what is no mail and nothing that was pasted from one."""
    head = data[:_MOST_HEAD]
    if len(_FIELD.findall(head)) > 1 and _ENCODED.search(data) is not None:
        return _of_mail(data) or None
    ends = len(_SOFT_END.findall(head))
    soft = ends >= _FEWEST and _QUOTED.search(head) is not None
    soft = soft or (ends > 0 and _SAYS_SO.search(head) is not None)
    soft = soft or len(_SOFT_END_OF_A_LINE.findall(head)) >= _FEWEST
    if soft or len(_QUOTED_INDENT.findall(head)) >= _FEWEST:
        return [_BLANK.sub(b" ", quopri.decodestring(data))]
    if _LONG_LINE.match(data) is None and _BELOW_A_LINE.search(data) is None:
        return None
    blocks = [_decoded(block[0]) for block in _BASE64.finditer(data)]
    found = [block for block in blocks if block]
    return [_BASE64.sub(b"", data), *found] if found else None


def _of_mail(data: bytes) -> list[bytes]:
    from email import message_from_bytes

    try:
        message = message_from_bytes(data[data.find(b"\n") + 1 :] if data.startswith(b"From ") else data)
        leaves = [part for part in message.walk() if not part.is_multipart()]
    except (RecursionError, ValueError, LookupError):
        return []
    plain = [part for part in leaves if part.get_content_type() != "text/html"]
    return [content for part in plain or leaves if (content := _content(part))]


def _content(part: Message) -> bytes:
    try:
        content = part.get_payload(decode=True)
    except (ValueError, LookupError):
        return b""
    return content if isinstance(content, bytes) else b""


def _decoded(block: bytes) -> bytes:
    """Decode lines of base64; nothing where they are none, such as hashes one below the other."""
    try:
        found = binascii.a2b_base64(block)
    except binascii.Error:
        return b""
    odd = len(found) - len(
        found.translate(None, bytes(range(9)) + bytes(range(14, 32)) + bytes(range(127, 256)))
    )
    packed = found[:2] in (b"\x1f\x8b", b"BZ", b"PK") or found[:4] in (b"\xfd7zX", b"\x28\xb5\x2f\xfd")
    return found if packed or odd <= len(found) // 20 else b""
