"""The text of a job file: sections with their options, and the lines they stand in.

`configparser` does not fit: sections may have the same name twice, ``[global]`` holds for the sections after
it only, comments may follow a value, and the reader of an option needs its line.
Leaves out: ``include``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.inputs import read_file
from lanewise.scenario_text import said_of_a_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MOST_BYTES = 1 << 20
_MOST_SECTIONS = 4096
_MOST_SHARED = 1024
"""Options of ``[global]``; fio has fewer than a thousand."""
_MOST_IN_FORCE = 200_000
"""Options over all sections, those of ``[global]`` counted for each: what is translated one by one."""
_MOST_MISTAKES = 100
"""What is shown of them; all are counted."""
_LONGEST_SHOWN = 200
_HEADING = re.compile(r"\[(.{1,255})\]")
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")


class JobFileError(InputError):
    """A job file cannot be used; the text shows every mistake with its line."""


@dataclass(frozen=True)
class Option:
    """One option as it is written."""

    key: str
    value: str | None
    """None for a key alone."""
    line: int


@dataclass(frozen=True)
class Section:
    """One job."""

    name: str
    line: int
    shared: tuple[Option, ...]
    """What ``[global]`` sections before it say."""
    own: tuple[Option, ...]

    def effective(self, aliases: Mapping[str, str]) -> dict[str, Option]:
        """Return the options in force by their first names; of several for one the last holds."""
        return {aliases.get(option.key, option.key): option for option in (*self.shared, *self.own)}


class Mistakes:
    """Collects what is wrong with a file, to say all of it at once."""

    def __init__(self, path: str, text: str) -> None:
        """Take the file."""
        self._path = path
        self._lines = text.splitlines()
        self._reports: dict[tuple[int, str], str] = {}
        self._unread: set[int] = set()
        self._count = 0

    def add_unread(self, line: int, message: str, hint: str) -> None:
        """Keep the mistake of a line that cannot be read; what follows from it is not kept."""
        self.add(line, message, hint)
        self._unread.add(line)

    def add(self, line: int, message: str, hint: str) -> None:
        """Keep one mistake; an option of ``[global]`` that is wrong for several jobs is one."""
        message = message if len(message) <= 2 * _LONGEST_SHOWN else f"{message[:_LONGEST_SHOWN]}..."
        if line in self._unread or (line, message) in self._reports:
            return
        self._count += 1
        if self._count > _MOST_MISTAKES:
            return
        written = self._lines[line - 1].strip()[:_LONGEST_SHOWN] if 0 < line <= len(self._lines) else ""
        margin = " " * len(str(line))
        self._reports[line, message] = (
            f"error: {message}\n{margin}--> {self._path}:{line}\n{margin} |\n"
            f"{line} | {written}\n{margin} |\n{margin} = hint: {hint}\n"
        )

    def raise_if_any(self) -> None:
        """Raise JobFileError with everything found."""
        if self._reports:
            count = self._count
            reports = [self._reports[key] for key in sorted(self._reports)]
            counted = f"{count} problem{'s' if count > 1 else ''}"
            raise JobFileError("\n".join([*reports, counted]).removeprefix("error: "))


@dataclass(frozen=True)
class JobFile:
    """A job file as it is written."""

    path: str
    text: str
    sections: tuple[Section, ...]
    mistakes: Mistakes
    """What is wrong with the text; a later finder adds its own, so that all of it is said at once."""


def read_job_file(path: Path) -> JobFile:
    """Read a job file with at least one job, whose other mistakes are kept.

    JobFileError shows why it is no job file, OSError says why it cannot be opened.
    """
    data = read_file(path, _MOST_BYTES)
    if len(data) > _MOST_BYTES:
        raise JobFileError(f"'{path}' has more than 1 MiB; is it a job file?")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise JobFileError(f"'{path}' is not text in UTF-8, from byte {error.start} on") from error
    if (scenario := said_of_a_scenario(text, str(path))) is not None:
        raise JobFileError(f"{scenario}; --fio takes the jobs of fio, and the scenario comes before it")
    return _parse(str(path), text)


def parse_job_file(path: str, text: str) -> JobFile:
    """Read the text of a job file; JobFileError shows every mistake."""
    file = _parse(path, text)
    file.mistakes.raise_if_any()
    return file


def _parse(path: str, text: str) -> JobFile:
    reader = _Reader(path, text)
    for number, line in enumerate(text.splitlines(), start=1):
        # A comment may follow a value, too.
        content = re.split("[;#]", line, maxsplit=1)[0].strip()
        if content:
            reader.take(number, content)
    return reader.result()


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text
        self._mistakes = Mistakes(path, text)
        self._shared: list[Option] = []
        self._own: list[Option] | None = None
        self._heading: tuple[str, int] | None = None
        self._sections: list[Section] = []
        self._copied: tuple[Option, ...] | None = None
        """What ``[global]`` says, one copy for all sections after it."""
        self._in_force = 0

    def take(self, number: int, content: str) -> None:
        heading = _HEADING.fullmatch(content)
        if heading:
            self._close()
            if heading[1] == "global":
                self._own = self._shared
            else:
                self._heading, self._own = (heading[1], number), []
        elif content.startswith("["):
            self._mistakes.add(number, "a heading without its end", "write [NAME], at most 255 characters")
        elif content.split(maxsplit=1)[0] == "include":
            self._mistakes.add(number, "`include` is not read", "put what it includes in its place")
        elif self._own is None:
            self._mistakes.add(number, "an option before any section", "start with [global] or [NAME]")
        else:
            self._option(number, content, self._own)

    def _option(self, number: int, content: str, options: list[Option]) -> None:
        key, equals, value = (part.strip() for part in content.partition("="))
        for name in _VARIABLE.findall(value):
            if name not in os.environ:
                message = f"the variable `{name}` of the environment is not set"
                self._mistakes.add_unread(number, message, f"run it as {name}=VALUE lanewise run ...")
        value = _VARIABLE.sub(lambda found: os.environ.get(found[1], ""), value)
        options.append(Option(key, value if equals else None, number))

    def _close(self) -> None:
        if self._heading is not None:
            name, line = self._heading
            # An empty list is one, too: a section may leave everything to [global].
            if len(self._sections) >= _MOST_SECTIONS:
                raise JobFileError(f"'{self._path}', line {line}: more than {_MOST_SECTIONS:,} jobs")
            if self._copied is None or len(self._copied) != len(self._shared):
                self._copied = tuple(self._shared)
            self._in_force += len(self._copied) + len(self._own or ())
            if len(self._copied) > _MOST_SHARED or self._in_force > _MOST_IN_FORCE:
                raise JobFileError(
                    f"'{self._path}', line {line}: {len(self._copied):,} options of [global] for "
                    f"{len(self._sections) + 1:,} jobs; "
                    f"{_MOST_SHARED:,} are read, and {_MOST_IN_FORCE:,} over all jobs"
                )
            self._sections.append(Section(name, line, self._copied, tuple(self._own or ())))
        self._heading = None

    def result(self) -> JobFile:
        self._close()
        if not self._sections:
            self._mistakes.add(1, "no job in it", "a job is a section, [NAME]; [global] alone is none")
        if not self._sections:
            self._mistakes.raise_if_any()
        return JobFile(self._path, self._text, tuple(self._sections), self._mistakes)
