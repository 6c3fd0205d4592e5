"""What was asked of a drive at a time: sizes and depth, which decide what it could have reached.

An output that states neither (fio before 2.2, a text without its first lines) tells both by its results: the
bytes of an I/O are bandwidth over operations, and the I/Os under way are operations times their latency
(Little's law). I/O by way of the page cache reaches a drive in the kernel's sizes, not in those of the job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lanewise.tools.instruments.measurement import Case

_USUAL = 128 << 10
"""Bytes of an I/O where nothing tells any. Assumed: fio's customary size for bandwidth."""
_LARGEST = 1 << 20
"""Bytes of a command. Assumed: kernels split longer I/Os so (Linux: ``max_sectors_kb``)."""
_MOST_AT_ONCE = 4096
_READ_AHEAD = 128 << 10
"""Bytes that a kernel reads ahead, or writes back, at a time: ``read_ahead_kb`` of Linux by default."""
_PAST_THE_CACHE = ("io_uring_cmd", "spdk", "xnvme", "libcufile", "libblkio", "rbd", "rados", "sg")
"""What is in the names of fio's engines that know no page cache, whatever ``direct`` says (fio's HOWTO)."""
_HALF = 50
_DEEP = 32
"""I/Os under way where a kernel chooses, or nothing tells. Assumed: enough that the link is the limit."""


class Asked(NamedTuple):
    """I/Os of a job as its drive sees them."""

    size: int
    """Bytes of one."""
    at_once: int
    """How many are under way, over all clones."""


def asked_of_drive(case: Case) -> Asked:
    """Return what a case asked of its drive."""
    size, at_once = _size(case) or _USUAL, case.queue_depth or _under_way(case) or _DEEP
    if is_buffered(case) and (not is_random(case) or case.direction == "write"):
        size, at_once = max(size, _READ_AHEAD), max(at_once, _DEEP)
    parts = -(-size // _LARGEST)
    return Asked(max(512, min(size, _LARGEST)), max(1, min(at_once * parts, _MOST_AT_ONCE)))


def is_random(case: Case) -> bool:
    """Whether a job goes to places in no order."""
    return "rand" in _way(case) or bool(case.raw.get("random"))


def read_percent(case: Case) -> int:
    """Return how many in a hundred operations of a mixed job are reads; half, as of fio, if nothing tells."""
    told = case.raw.get("read percent", case.options.get("rwmixread"))
    writes = case.options.get("rwmixwrite")
    if told is None and str(writes).isdecimal():
        told = 100 - int(str(writes))
    try:
        return min(99, max(1, round(float(str(told)))))
    except ValueError:
        return _HALF


def is_buffered(case: Case) -> bool:
    """Whether a job went by way of the page cache; False where its options are not known."""
    if case.raw.get("buffered"):
        return True
    options = case.options
    engine = str(options.get("ioengine", ""))
    if any(word in engine for word in _PAST_THE_CACHE):
        return False
    known = "direct" in options or "buffered" in options or "filename" in options or "bs" in options
    return known and options.get("direct", "0") in ("0", 0, False) and options.get("buffered") not in ("0", 0)


def _way(case: Case) -> str:
    return str(case.options.get("rw", case.options.get("readwrite", "")))


def _size(case: Case) -> int | None:
    """Return the bytes of an I/O, in whole sectors; of a mix their mean."""
    if case.block_bytes:
        return case.block_bytes
    rate, operations = case.bandwidth_bytes_per_s, case.operations_per_s
    return max(512, 512 * round(rate / operations / 512)) if rate and operations else None


def _under_way(case: Case) -> int | None:
    mean = case.latency.mean_ns if case.latency else None
    return max(1, round(case.operations_per_s * mean / 1e9)) if mean and case.operations_per_s else None
