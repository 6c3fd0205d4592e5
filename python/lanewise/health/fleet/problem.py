"""What is wrong with a fleet file, all at once, in the words and the form of mistakes in scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Problem:
    """One mistake: a stable code, the line it is in, what was found and what is allowed, and a hint."""

    code: str
    line: int
    message: str
    hint: str = ""

    def shown(self, name: str, lines: Sequence[str]) -> str:
        """Write it with the line that it is about, of those of the file."""
        source = lines[self.line - 1] if 0 < self.line <= len(lines) else ""
        margin = " " * len(str(self.line))
        shown = [
            f"error[{self.code}]: {self.message}",
            f"{margin}--> {name}:{self.line}",
            f"{margin} |",
            f"{self.line} | {source}".rstrip(),
            f"{margin} |",
        ]
        return "\n".join([*shown, *([f"{margin} = hint: {self.hint}"] if self.hint else [])])


CODES = {
    "syntax-error": "The text is not TOML.",
    "unknown-format": "The file has no `format`, or one that this version does not know.",
    "unknown-key": "A table or key that no such file has.",
    "missing-key": "A key without which an entry means nothing.",
    "wrong-type": "A value of another type than the key takes.",
    "bad-value": "A value that the key does not take: a link, a size, an address, a class that does "
    "not exist.",
    "too-many-places": "An entry lists more places than it counts devices.",
    "duplicate-place": "Two devices in one place.",
    "unknown-rule": "A waiver names a rule that does not exist.",
    "not-here": "Something that belongs in a file of another option.",
}
"""Every code, and what it means."""


_MOST_SHOWN = 50
"""Mistakes that a person is shown; `FleetFileError.problems` has all."""


class FleetFileError(InputError):
    """A fleet file cannot be used; the text lists every mistake, `problems` has them one by one."""

    def __init__(self, name: str, text: str, problems: Iterable[Problem]) -> None:
        """Put the mistakes in the order of the lines."""
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        count = len(self.problems)
        head = f"'{name}' cannot be used: {count} {'problem' if count == 1 else 'problems'}"
        lines = text.splitlines()
        shown = [problem.shown(name, lines) for problem in self.problems[:_MOST_SHOWN]]
        rest = [f"and {count - _MOST_SHOWN} more"] if count > _MOST_SHOWN else []
        super().__init__("\n\n".join([head, *shown, *rest]))


def meant(word: str, known: Iterable[str]) -> str:
    """Ask whether a known word was meant, or list them when none is like it."""
    listed = sorted(known)
    near = get_close_matches(word, listed, 1)
    return f"did you mean `{near[0]}`?" if near else f"known are {', '.join(listed)}"
