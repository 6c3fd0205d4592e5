"""A study on disk: what is asked, and each finished point, safe from the moment at which it is written.

    study.json        what is asked: scenario, axes, seeds, measures, core
    points.jsonl      one line for each finished point, with a checksum; lines are only added
    points.parquet    all of them as a table, in the order of the axes, once the study is complete
    .lock             held by the process that works on the study; empty

A process that is killed leaves a line that is cut off at worst: it is dropped, and its point is run again.
What is asked does not change, but that a search may take more trials: the first ones stay what they were, as
each is chosen after those before it. A study that would ask something else is refused, with the difference.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zlib
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.files import HALF, remove_stale_halves, write_whole
from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from io import FileIO
    from pathlib import Path
    from typing import BinaryIO

    import polars as pl

FORMAT = 1
"""Version of the folder's layout, in ``study.json``."""

ASKED = "study.json"
FINISHED = "points.jsonl"
TABLE = "points.parquet"
LOCK = ".lock"


class StudyFolderError(InputError):
    """A folder cannot be a study's, or is another's."""


@contextmanager
def open_study(folder: Path, asked: Mapping[str, object]) -> Iterator[Journal]:
    """Begin a study in a new or empty folder, or go on with it; no other process can until the block ends.

    StudyFolderError when something else is asked in the folder, it holds something else, or another process
    works on it. Errors of the block stay as they are.
    """
    _refuse_foreign(folder)
    with ExitStack() as stack:
        path = folder / LOCK
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(path.open("ab"))
            _lock(lock, folder)
        except OSError as error:
            raise _not_written(path, error) from error
        # What was seen before the lock may have changed.
        _refuse_foreign(folder)
        remove_stale_halves(folder)
        if is_study(folder):
            before = read_asked(folder)
            _refuse_difference(folder, before, {"format": FORMAT, **asked})
            if before.get("search") != asked.get("search"):
                _write_asked(folder, asked)
        else:
            _write_asked(folder, asked)
        path = folder / FINISHED
        finished = {outcome.number: outcome for outcome in read_finished(folder)}
        try:
            # Without a buffer: what does not fit would be written once more when the file is closed.
            file = stack.enter_context(path.open("ab", buffering=0))
            _end_line(path, file)
        except OSError as error:
            raise _not_written(path, error) from error
        yield Journal(file, folder, finished)


def _write_asked(folder: Path, asked: Mapping[str, object]) -> None:
    content = json.dumps({"format": FORMAT, **asked}, indent=1, ensure_ascii=False)
    write_whole(folder / ASKED, f"{content}\n")


def _refuse_foreign(folder: Path) -> None:
    """Raise StudyFolderError for a folder with something else than a study, or than the beginnings of one."""
    if is_study(folder) or not folder.exists():
        return
    has_others = not folder.is_dir() or any(
        path.name != LOCK and not path.name.startswith(HALF) for path in folder.iterdir()
    )
    # Asked again: another process may just have begun it.
    if has_others and not is_study(folder):
        raise StudyFolderError(f"'{folder}' is there, and is no study: name another folder")


def _not_written(path: Path, error: OSError) -> StudyFolderError:
    return StudyFolderError(f"'{path}' cannot be written: {error.strerror}")


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


class Journal:
    """Finished points of a study that this process works on, to add to."""

    def __init__(self, file: FileIO, folder: Path, finished: Mapping[int, Outcome]) -> None:
        """Take an open file, and what is finished already, by number."""
        self._file = file
        self._folder = folder
        self.finished = dict(finished)
        """By number."""

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Write finished points, together; they are on the disk when the call returns.

        StudyFolderError for a disk that is full, which keeps all that were there before, and those
        of these that fit.
        """
        if not outcomes:
            return
        data, written = b"".join(map(_line, outcomes)), 0
        try:
            while written < len(data):
                written += self._file.write(data[written:])
            os.fsync(self._file.fileno())
        except OSError as error:
            self._cut(data[:written])
            raise _not_written(self._folder / FINISHED, error) from error
        self.finished |= {outcome.number: outcome for outcome in outcomes}

    def _cut(self, written: bytes) -> None:
        """Take back a line of which only the beginning was written."""
        beginning = len(written) - written.rfind(b"\n") - 1
        if beginning:
            with suppress(OSError):
                self._file.truncate(self._file.seek(0, os.SEEK_END) - beginning)

    def write_table(self, table: pl.DataFrame, units: Mapping[str, str]) -> None:
        """Write the table of all points, whole; `units` are those that names of columns do not say."""
        from lanewise.arrow import schema_of

        # Whole in memory first: a disk that is full is then told as such, and not as a mistake of the format.
        buffer = io.BytesIO()
        table.write_parquet(buffer, arrow_schema=schema_of(table, units))
        write_whole(self._folder / TABLE, buffer.getvalue())


def _line(outcome: Outcome) -> bytes:
    content = json.dumps(vars(outcome), ensure_ascii=False).encode()
    return b"%08x %s\n" % (zlib.crc32(content), content)


def _outcome(line: bytes) -> Outcome | None:
    checksum, _, content = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(content):
            return None
        kept = json.loads(content)
        overrides = tuple((path, value) for path, value in kept.pop("overrides"))
        return Outcome(**kept, overrides=overrides)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _end_line(path: Path, file: FileIO) -> None:
    """Close a line that a killed process left open, so that the next one is a line of its own."""
    with path.open("rb") as there:
        if there.seek(0, os.SEEK_END) and (there.seek(-1, os.SEEK_END), there.read(1))[1] != b"\n":
            file.write(b"\n")


def _lock(file: BinaryIO, folder: Path) -> None:
    """Take the lock of a folder; it goes with the file and its process. OSError where there is none."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise StudyFolderError(f"another process works on the study '{folder}' now") from None


_MAY_DIFFER = {"name"}
"""A scenario may be called otherwise: it may have been moved, or be read from elsewhere."""

_WORDS = {
    "scenario": "the scenario",
    "axes": "the axes",
    "sample": "the sample",
    "samplers": "the libraries that choose points",
    "search": "the goals and limits of the search",
    "seeds": "the seeds",
    "measures": "the metrics",
    "overrides": "the values of --set",
    "core": "the simulator, which was built anew since,",
}


def _refuse_difference(folder: Path, before: Mapping[str, object], now: Mapping[str, object]) -> None:
    different = [key for key in now if key not in _MAY_DIFFER and before.get(key) != now[key]]
    if _has_more_trials(before.get("search"), now.get("search")):
        different.remove("search")
    if not different:
        return
    told = [_difference(key, before.get(key), now[key]) for key in different]
    raise StudyFolderError(
        f"the study in '{folder}' is a different one (for a new study, name another folder): "
        f"{'; '.join(told)}"
    )


def _has_more_trials(before: object, now: object) -> bool:
    """Whether a search is what it was, but for more trials."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return False
    trials, more = before.get("trials"), now.get("trials")
    is_more = isinstance(trials, int) and isinstance(more, int) and trials < more
    return is_more and {**before, "trials": more} == now


def _difference(key: str, before: object, now: object) -> str:
    word = _WORDS.get(key, key)
    if key == "scenario":
        return f"{word} has changed:\n{_changed_lines(str(before), str(now))}"
    if key == "core":
        return f"{word} has changed"
    if key == "search" and isinstance(before, dict) and isinstance(now, dict):
        told = [
            f"'{name}' was {json.dumps(before.get(name), ensure_ascii=False)} and is "
            f"{json.dumps(now[name], ensure_ascii=False)}"
            for name in now
            if before.get(name) != now[name]
        ]
        return f"of the search, {', '.join(told)}"
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
