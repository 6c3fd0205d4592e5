"""How a process that works speaks with the one that serves: frames of a kind, a length and as many bytes.

A job goes in as one frame; any number of `PROGRESS`, then one `ANSWER` or `REFUSED` come out, all in JSON.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

HEAD = struct.Struct(">cI")
"""Kind, and length of what follows in bytes."""

JOB = b"j"
PROGRESS = b"p"
ANSWER = b"a"
REFUSED = b"e"


def framed(kind: bytes, content: bytes) -> bytes:
    """Return a frame."""
    return HEAD.pack(kind, len(content)) + content


def read_frame(stream: BinaryIO) -> tuple[bytes, bytes] | None:
    """Read a frame; None where the other side has gone."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    kind, length = HEAD.unpack(head)
    content = stream.read(length)
    return (kind, content) if len(content) == length else None
