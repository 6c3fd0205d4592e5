"""Compressed files: gzip, bzip2, xz and Zstandard, decompressed in memory and only as far as is allowed.

What decompresses to a tar archive is handed on as a stream, because bug reports hold hundreds of megabytes of
which a reader wants a few; everything else is one piece of at most 64 MiB. Zstandard needs Python 3.14 or the
package ``zstandard``; without either the message says so.
"""

from __future__ import annotations

import io
import re
import zlib
from functools import partial
from typing import IO, TYPE_CHECKING, Any, cast

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.budget import Budget

MOST_BYTES = 64 << 20
"""Largest file, and most that a file other than an archive may unpack to."""
_MOST_OF_XZ = 256 << 20
"""Memory that xz may take; the largest of its levels takes 65 MiB."""
_PIECE = 1 << 20
_FIRST_PIECE = 512
"""Of a stream of xz, in bytes; the shortest has 32."""
_MOST_STREAMS = 10_000
"""Of xz in one file: each costs a decompressor, however short it is."""
_ZEROS = re.compile(rb"\0*")
_XZ = b"\xfd7zXZ\x00"
"""What a stream of xz begins with."""
_TAR_AT = 257
_NESTED = 2


def damaged_by() -> tuple[type[BaseException], ...]:
    """Return what decompressors raise about damaged input."""
    try:
        from lzma import LZMAError
    except ImportError:
        return (OSError, EOFError, zlib.error)
    return (OSError, EOFError, zlib.error, LZMAError)


def is_tar(head: bytes) -> bool:
    """Whether this is the beginning of a tar archive."""
    return head[_TAR_AT : _TAR_AT + 5] == b"ustar"


def unpacked(data: bytes, budget: Budget) -> bytes | IO[bytes]:
    """Decompress, at most twice; a tar archive comes back as a stream, whether it was compressed or not.

    Raises InputError for what is damaged from its first byte on, and when the budget is used up.
    """
    for _ in range(_NESTED):
        opener = _opener(data)
        if opener is None:
            break
        if is_tar(_head(opener())):
            return cast("IO[bytes]", _Bounded(opener(), budget))
        data = _decompressed(opener(), budget)
    return io.BytesIO(data) if is_tar(data) else data


def _opener(data: bytes) -> Callable[[], IO[bytes]] | None:
    """Return what opens the data for reading decompressed; None when they are not compressed."""
    if data[:2] == b"\x1f\x8b":
        import gzip

        return lambda: gzip.GzipFile(fileobj=io.BytesIO(data))  # type: ignore[return-value]
    if data[:3] == b"BZh":
        import bz2

        return lambda: bz2.BZ2File(io.BytesIO(data))
    if data[: len(_XZ)] == _XZ or data[:3] == b"]\x00\x00":
        return lambda: cast("IO[bytes]", io.BufferedReader(_Xz(data)))
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return lambda: _zstandard(data)
    if data[:6] == b"7z\xbc\xaf\x27\x1c" or data[:4] == b"Rar!":
        raise InputError("7z and rar archives are not read: unpack it, or use zip, tar, gzip, xz or zstd")
    return None


def _zstandard(data: bytes) -> IO[bytes]:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return zstd.ZstdFile(io.BytesIO(data))  # type: ignore[no-any-return, unused-ignore]
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise InputError(
            "this is compressed with Zstandard: unpack it with 'zstd -d', or 'pip install zstandard'"
        ) from None
    reader = zstandard.ZstdDecompressor(max_window_size=128 << 20).stream_reader(
        io.BytesIO(data), read_across_frames=True
    )
    return cast("IO[bytes]", _Zstandard(reader, zstandard.ZstdError))


class _Zstandard(io.RawIOBase):
    """Turns the package's exception into the one that files raise."""

    def __init__(self, reader: IO[bytes], error: type[Exception]) -> None:
        self._reader, self._error = reader, error

    def read(self, size: int = -1) -> bytes:
        try:
            return self._reader.read(size)
        except self._error as error:
            raise OSError(str(error)) from error


class _Xz(io.RawIOBase):
    """Decompresses xz and lzma with bounded memory: a header may ask for gigabytes."""

    def __init__(self, data: bytes) -> None:
        try:
            from lzma import LZMADecompressor
        except ImportError:
            raise InputError(
                "this is compressed with xz, which the Python here cannot read: unpack it with 'xz -d'"
            ) from None
        self._make = partial(LZMADecompressor, memlimit=_MOST_OF_XZ)
        self._data, self._view, self._at = data, memoryview(data), 0
        self._streams, self._size = 0, _FIRST_PIECE
        self._begin()

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._decompressor.eof or self._begins_another():
            fed = self._next() if self._decompressor.needs_input else b""
            piece = self._decompressor.decompress(fed, max_length=len(into))
            if self._decompressor.eof:
                # All but the last of what it was given was used, or it would not have asked for more.
                self._at -= len(self._decompressor.unused_data)
            if piece:
                into[: len(piece)] = piece
                return len(piece)
        return 0

    def _next(self) -> memoryview:
        """Return what comes next: little of a stream that may be short, as what it leaves is copied."""
        fed = self._view[self._at : self._at + self._size]
        if not fed:
            raise EOFError("it ends before its end mark")
        self._at += len(fed)
        self._size = min(2 * self._size, _PIECE)
        return fed

    def _begins_another(self) -> bool:
        """Whether another stream follows: of files that were joined, maybe with zeros between them."""
        zeros = _ZEROS.match(self._data, self._at)
        assert zeros is not None
        start, self._at = zeros.span()
        if self._at == len(self._data):
            return False
        if not self._data.startswith(_XZ, self._at) or (self._at - start) % 4:
            raise OSError("what follows the end of a compressed stream is no other one")
        self._begin()
        return True

    def _begin(self) -> None:
        self._streams += 1
        if self._streams > _MOST_STREAMS:
            raise InputError(f"it is more than {_MOST_STREAMS:,} files of xz, joined: unpack it with 'xz -d'")
        self._decompressor, self._size = self._make(), _FIRST_PIECE


class _Bounded(io.RawIOBase):
    """A stream that refuses to deliver more than may be unpacked, and much of it at once."""

    def __init__(self, file: IO[bytes], budget: Budget) -> None:
        self._file, self._budget = file, budget

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(_PIECE if size < 0 else min(size, _PIECE))
        self._budget.unpack(len(piece))
        return piece


def _head(opened: IO[bytes]) -> bytes:
    try:
        return opened.read(_TAR_AT + 5)
    except damaged_by():
        return b""


def _decompressed(opened: IO[bytes], budget: Budget) -> bytes:
    """Read at most what is allowed; what comes before damage is kept."""
    pieces, size = [], 0
    try:
        while piece := opened.read(_PIECE):
            budget.unpack(len(piece))
            budget.keep(len(piece))
            pieces.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                raise InputError(f"it unpacks to more than {MOST_BYTES >> 20} MiB")
    except damaged_by() as error:
        if not pieces:
            raise InputError(f"it looks compressed but cannot be unpacked: {error}") from error
    return b"".join(pieces)
