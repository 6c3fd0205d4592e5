"""A study on disk: what is asked, and each finished point, safe from the moment at which it is written.

    study.json        what is asked: scenario, axes, seeds, measures, core
    points.jsonl      one line for each finished point, with a checksum; lines are only added
    points.parquet    all of them as a table, in the order of the axes, once the study is complete

A process that is killed leaves a line that is cut off at worst: it is dropped, and its point is run again.
What is asked does not change: a study that would ask something else is refused, with the difference.
"""

from __future__ import annotations

import io
import json
import os
import zlib
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.files import write_whole
from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    import polars as pl

FORMAT = 1
"""Version of the folder's layout, in ``study.json``."""

ASKED = "study.json"
FINISHED = "points.jsonl"
TABLE = "points.parquet"


class StudyFolderError(InputError):
    """A folder cannot be a study's, or is another's."""


def open_study(folder: Path, asked: Mapping[str, object]) -> dict[int, Outcome]:
    """Begin a study in a new or empty folder, or go on with it; return what is finished by number.

    StudyFolderError when something else is asked in the folder, or it holds something else.
    """
    file = folder / ASKED
    if file.is_file():
        _refuse_difference(folder, read_asked(folder), {"format": FORMAT, **asked})
        return {outcome.number: outcome for outcome in read_finished(folder)}
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyFolderError(f"'{folder}' is there, and is no study: name another folder")
    write_whole(file, json.dumps({"format": FORMAT, **asked}, indent=1, ensure_ascii=False) + "\n")
    return {}


def is_study(path: Path) -> bool:
    """Whether this is the folder of a study."""
    return (path / ASKED).is_file()


def read_asked(folder: Path) -> dict[str, object]:
    """Return what is asked in a study's folder; StudyFolderError where that cannot be read."""
    try:
        asked = json.loads((folder / ASKED).read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyFolderError(f"'{folder}' is no study: '{folder / ASKED}': {error.strerror}") from error
    except ValueError as error:
        raise StudyFolderError(f"'{folder}' is a damaged study: '{ASKED}' is no JSON: {error}") from error
    if not isinstance(asked, dict) or asked.get("format") != FORMAT:
        found = asked.get("format") if isinstance(asked, dict) else asked
        raise StudyFolderError(f"'{folder}' has layout {found!r}, and this version reads layout {FORMAT}")
    return asked


def read_finished(folder: Path) -> list[Outcome]:
    """Return the finished points in the order in which they were; lines that are cut off are dropped."""
    try:
        data = (folder / FINISHED).read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StudyFolderError(f"'{folder / FINISHED}' cannot be read: {error.strerror}") from error
    return [outcome for line in data.split(b"\n") if (outcome := _outcome(line)) is not None]


@contextmanager
def journal(folder: Path) -> Iterator[Journal]:
    """Open the list of finished points to add to it; StudyFolderError while another process does."""
    path = folder / FINISHED
    try:
        with path.open("ab") as file:
            _lock(file, folder)
            _end_line(path, file)
            yield Journal(file, path)
    except OSError as error:
        raise StudyFolderError(f"'{path}' cannot be written: {error.strerror}") from error


class Journal:
    """Finished points, to add to. What is added is on the disk when the call returns."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        """Take an open file."""
        self._file = file
        self._path = path

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Write finished points, together. A disk that is full keeps all that were there before."""
        lines = b"".join(_line(outcome) for outcome in outcomes)
        if lines:
            self._file.write(lines)
            self._file.flush()
            os.fsync(self._file.fileno())


def write_table(folder: Path, table: pl.DataFrame, units: Mapping[str, str]) -> None:
    """Write the table of all points, whole; `units` are those that the names of columns do not say."""
    from lanewise.arrow import schema_of

    # Whole in memory first: a disk that is full is then told as such, and not as a mistake of the format.
    buffer = io.BytesIO()
    table.write_parquet(buffer, arrow_schema=schema_of(table, units))
    write_whole(folder / TABLE, buffer.getvalue())


def _line(outcome: Outcome) -> bytes:
    content = json.dumps(asdict(outcome), ensure_ascii=False).encode()
    return b"%08x %s\n" % (zlib.crc32(content), content)


def _outcome(line: bytes) -> Outcome | None:
    checksum, _, content = line.partition(b" ")
    try:
        return Outcome(**json.loads(content)) if int(checksum, 16) == zlib.crc32(content) else None
    except (ValueError, TypeError):
        return None


def _end_line(path: Path, file: BinaryIO) -> None:
    """Close a line that a killed process left open, so that the next one is a line of its own."""
    with path.open("rb") as there:
        if there.seek(0, os.SEEK_END) and (there.seek(-1, os.SEEK_END), there.read(1))[1] != b"\n":
            file.write(b"\n")


def _lock(file: BinaryIO, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:
        return  # Elsewhere two processes at once would run points twice, and lose none.
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StudyFolderError(f"another process works on the study '{folder}' now") from None


_MAY_DIFFER = {"name"}
"""A scenario may be called otherwise: it may have been moved, or be read from elsewhere."""

_WORDS = {
    "scenario": "the scenario",
    "axes": "the axes",
    "sample": "the sample",
    "seeds": "the seeds",
    "measures": "the metrics",
    "overrides": "the values of --set",
    "core": "the simulator, which was built anew since,",
}


def _refuse_difference(folder: Path, before: Mapping[str, object], now: Mapping[str, object]) -> None:
    different = [key for key in now if key not in _MAY_DIFFER and before.get(key) != now[key]]
    if not different:
        return
    told = [_difference(key, before.get(key), now[key]) for key in different]
    raise StudyFolderError(
        f"the study in '{folder}' asks something else: {'; '.join(told)}; name another one"
    )


def _difference(key: str, before: object, now: object) -> str:
    word = _WORDS.get(key, key)
    if key == "scenario":
        return f"{word} has changed:\n{_changed_lines(str(before), str(now))}"
    if key == "core":
        return f"{word} has changed"
    if key == "lanewise_version":
        return f"it was begun by Lanewise {before}, and this is {now}"
    return (
        f"{word} were {json.dumps(before, ensure_ascii=False)}, and are {json.dumps(now, ensure_ascii=False)}"
    )


def _changed_lines(before: str, now: str) -> str:
    from difflib import unified_diff

    lines = list(unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=0))[2:]
    shown = lines[:20]
    return "\n".join(["  " + line for line in shown] + ["  …"] * (len(lines) > len(shown)))
