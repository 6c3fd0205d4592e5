"""Which drive of a rig each ``filename`` of a job file is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.tools.instruments.simulated import stated_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lanewise.results import ExplainResult

MOST_FILES = 1024
"""Of one job. Assumed: no machine has as many drives."""
_CAPACITY = ".nvme.capacity"
_SEPARATOR = re.compile(r"(?<!\\):")
"""A colon that belongs to a name has a backslash before it."""


@dataclass(frozen=True)
class Drive:
    """A drive of the rig."""

    name: str
    capacity_bytes: int


def drives_of(explained: ExplainResult) -> dict[str, Drive]:
    """Return the drives of a rig by name, in its order."""
    document = explained.document
    capacities = {
        row["path"].removesuffix(_CAPACITY): stated_size(str(row["value"]))
        for row in document["parameters"]
        if row["path"].endswith(_CAPACITY) and str(row["value"]) != "none"
    }
    names = dict.fromkeys(str(link["lower"]) for link in document["links"])
    components = {name: name.partition("[")[0] for name in names}
    return {name: Drive(name, capacities[of]) for name, of in components.items() if of in capacities}


def paths_in(filename: str) -> list[str]:
    """Return the files that a value names; InputError for more than any machine has."""
    if filename.count(":") > MOST_FILES:
        raise InputError(f"`filename` names more than {MOST_FILES:,} files: '{filename[:40]}...'")
    return [part.replace("\\:", ":").strip() for part in _SEPARATOR.split(filename) if part.strip()]


def assign(paths: Iterable[str], drives: Mapping[str, Drive], given: Mapping[str, str]) -> dict[str, Drive]:
    """Give each device its drive: as told, by the drive's own name, or in the order of numbers in the names.

    What has none is left out. Raises InputError for a drive that the rig does not have.
    """
    for name in given.values():
        if name not in drives:
            close = get_close_matches(name, drives, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(drives) or 'none'}"
            raise InputError(f"the rig has no drive '{name}'; {hint}")
    wanted = list(dict.fromkeys(paths))
    found = {path: drives[given.get(path, path)] for path in wanted if given.get(path, path) in drives}
    free = iter(drive for drive in drives.values() if drive not in found.values())
    devices = sorted(
        (path for path in wanted if path not in found and path.startswith("/dev/")), key=_natural
    )
    return found | dict(zip(devices, free, strict=False))


def _natural(path: str) -> list[tuple[int, str]]:
    """Order nvme2n1 before nvme10n1."""
    return list(_pieces(path))


def _pieces(path: str) -> Iterator[tuple[int, str]]:
    for piece in re.findall(r"\d+|\D+", path):
        yield (int(piece), "") if piece.isascii() and piece.isdigit() else (0, piece)
