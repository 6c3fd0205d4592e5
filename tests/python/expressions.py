"""Every regular expression of some packages, found in their source, and texts that make bad ones slow.

Python's engine goes back and tries again. What that costs shows when a text repeats a piece of what the
expression looks for and then ends otherwise: with one way to read it, the time grows with the length; with
several, with its square or worse. The pieces are made from the expression itself.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any

import lanewise

ROOT = Path(lanewise.__file__).parent
FUNCTIONS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "split"}
_FLAGS_AT = {"sub": 4}
_LARGE = 16
"""A repetition of less is not worth pumping."""
_ENDS = ("", "\x01", "\n\x01", "]")


@dataclass(frozen=True)
class Expression:
    """One expression where it stands, and a way in which it is used."""

    module: str
    line: int
    pattern: str | bytes
    flags: int
    method: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.method} {self.pattern!r}"

    def tree(self) -> Any:
        """Return it as Python's engine reads it."""
        pattern = self.pattern
        text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
        return _parser.parse(text, self.flags)

    def runner(self, tree: Any) -> Callable[[str], object]:
        """Return what uses a part of it on a text."""
        compiled = _compiler.compile(tree, self.flags)
        wide = isinstance(self.pattern, bytes)

        def run(text: str) -> object:
            subject: Any = text.encode("utf-8", "replace") if wide else text
            if self.method == "sub":
                return compiled.sub(b"" if wide else "", subject)
            if self.method == "finditer":
                return sum(1 for _ in compiled.finditer(subject))
            return getattr(compiled, self.method)(subject)

        return run


@dataclass(frozen=True)
class Unknown:
    """A use of an expression that is put together while the program runs."""

    module: str
    source: str


@cache
def collect(*packages: str) -> tuple[list[Expression], list[Unknown]]:
    """Return the expressions in the modules of some packages, and those that cannot be told."""
    trees = {
        path: list(ast.walk(ast.parse(path.read_text())))
        for package in packages
        for path in sorted(_files(ROOT / package))
    }
    shared = _uses(trees.values())
    found, unknown = [], []
    for path, tree in trees.items():
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        names = vars(importlib.import_module(name))
        owners, own = _owners(tree), _uses([tree])
        for call in _calls(tree):
            function = call.func.attr  # type: ignore[attr-defined]
            try:
                pattern = _value(call.args[0], names)
                flags = _flags(call, function, names)
            except NameError:
                unknown.append(Unknown(name, ast.unparse(call)))
                continue
            if isinstance(pattern, re.Pattern):
                pattern, flags = pattern.pattern, pattern.flags & ~re.UNICODE.value
            owner = owners.get(call.lineno)
            uses = own if owner and owner.startswith("_") else shared
            methods = {function} if function != "compile" else uses.get(owner or "?") or {"search"}
            found += [Expression(name, call.lineno, pattern, flags, method) for method in sorted(methods)]
    return found, unknown


def _files(place: Path) -> Iterable[Path]:
    return place.rglob("*.py") if place.is_dir() else [place]


def _calls(tree: list[ast.AST]) -> Iterator[ast.Call]:
    for node in tree:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in FUNCTIONS
        ):
            yield node


def _owners(tree: list[ast.AST]) -> dict[int, str]:
    """Return the name that each line of a module gives a value to, where it is one name."""
    found = {}
    for node in tree:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target = node.targets[0]
            if isinstance(target, ast.Name):
                found[node.value.lineno] = target.id
    return found


def _uses(trees: Iterable[list[ast.AST]]) -> dict[str, set[str]]:
    """Return the methods that are called on each name; a name that is handed on may be searched for."""
    found: dict[str, set[str]] = {}
    for tree in trees:
        called = set()
        for node in tree:
            if isinstance(node, ast.Attribute) and node.attr in FUNCTIONS:
                name = _name(node.value)
                called.add(id(node.value))
                found.setdefault(name, set()).add(node.attr)
        for node in tree:
            if (
                isinstance(node, ast.Name | ast.Attribute)
                and isinstance(node.ctx, ast.Load)
                and id(node) not in called
                and re.fullmatch(r"_?[A-Z][A-Z_0-9]+", _name(node))
            ):
                found.setdefault(_name(node), set()).add("search")
    return found


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _value(node: ast.AST, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "expression", "eval"), names)  # type: ignore[arg-type]


def _flags(call: ast.Call, function: str, names: dict[str, Any]) -> int:
    at = _FLAGS_AT.get(function, 1 if function == "compile" else 2)
    given = [keyword.value for keyword in call.keywords if keyword.arg == "flags"] + call.args[at : at + 1]
    return int(_value(given[0], names)) if given else 0


def alternatives(tree: Any) -> Iterator[Any]:
    """Yield the branches of an alternation, or an expression that is none as it is.

    At each place in a text, an alternation tries its branches one after the other until one fits. So it costs
    at most what all of them cost, each by itself, and is slow only where one of them is.
    """
    if len(tree) == 1:
        operation, argument = str(tree[0][0]), tree[0][1]
        if operation == "BRANCH":
            for branch in argument[1]:
                yield from alternatives(branch)
            return
        if operation == "SUBPATTERN" and argument[1:3] == (0, 0) and _is_alternation(argument[-1]):
            yield from alternatives(argument[-1])
            return
    yield tree


def _is_alternation(tree: Any) -> bool:
    return len(tree) == 1 and str(tree[0][0]) == "BRANCH"


def pumps(tree: Any) -> set[tuple[str, str]]:
    """Return pairs of what comes first and what is repeated."""
    found = {("", piece) for piece in (" ", "\n", " \n", "\t", "0", "a", "A", "0 ", "a ", "=", "/", "-")}
    found |= set(_of_sequence(tree, ""))
    whole = _sample(tree)
    return {(before, piece) for before, piece in found | {("", whole)} if piece}


def texts_of(tree: Any) -> list[tuple[str, str, str]]:
    """Return what comes first, what is repeated and how it ends: one of those that the engine takes alike."""
    kind = _kinds(tree)
    found = {}
    for before, piece in sorted(pumps(tree)):
        for end in _ENDS:
            alike = tuple(tuple(map(kind, part)) for part in (before, piece, end))
            found.setdefault(alike, (before, piece, end))
    return list(found.values())


def _kinds(tree: Any) -> Callable[[str], object]:
    """Return what tells a character's kind: those of one are taken by the same parts of the expression."""
    atoms = list(_atoms(tree))
    if None in atoms:
        # A part that compares the text with itself.
        return str

    @cache
    def kind(character: str) -> object:
        both = (character.lower(), character.upper())
        taken = tuple(_takes(atom, each) for atom in atoms for each in (character, *both))
        return taken, character == "\n", character.isalnum() or character == "_"

    return kind


def _atoms(sequence: Any) -> Iterator[Any]:
    """Yield the parts that take one character, and None for what is not known here."""
    for operation, argument in sequence:
        name = str(operation)
        if name in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            yield operation, argument
        elif "REPEAT" in name:
            yield from _atoms(argument[2])
        elif name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
            yield from _atoms(argument[-1])
        elif name == "ATOMIC_GROUP":
            yield from _atoms(argument)
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from _atoms(branch)
        elif name != "AT":
            yield None


def _of_sequence(sequence: Any, before: str) -> Iterator[tuple[str, str]]:
    """Pump every repetition behind what leads to it, and every beginning by itself."""
    for operation, argument in sequence:
        name = str(operation)
        if "REPEAT" in name:
            _, most, body = argument
            sample = _sample(body)
            if most >= _LARGE:
                yield before, sample
                yield "", before + sample
                for other in _others(body):
                    yield before, other
                    yield "", before + other
            yield from _of_sequence(body, before)
        elif name == "SUBPATTERN":
            yield from _of_sequence(argument[-1], before)
        elif name == "ATOMIC_GROUP":
            yield from _of_sequence(argument, before)
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from _of_sequence(branch, before)
        before += _sample([(operation, argument)])
        yield "", before


def _others(body: Any) -> Iterator[str]:
    """Characters of each kind that a repeated class takes."""
    if len(body) == 1 and str(body[0][0]) in ("IN", "ANY", "NOT_LITERAL"):
        pattern = _matcher(body[0])
        for character in ' a0A:.-/[]"\\<>{}\n#=':
            if pattern(character):
                yield character


def _matcher(node: Any) -> Callable[[str], bool]:
    return partial(_takes, node)


def _takes(node: Any, character: str) -> bool:  # noqa: PLR0911
    operation, argument = str(node[0]), node[1]
    code = ord(character)
    if operation == "ANY":
        return character != "\n"
    if operation == "LITERAL":
        return bool(argument == code)
    if operation == "NOT_LITERAL":
        return bool(argument != code)
    if operation == "RANGE":
        return bool(argument[0] <= code <= argument[1])
    if operation == "CATEGORY":
        kind = str(argument).removeprefix("CATEGORY_")
        inside = {
            "DIGIT": character.isdigit(),
            "SPACE": character.isspace(),
            "WORD": character.isalnum() or character == "_",
        }[kind.removeprefix("NOT_")]
        return inside is not kind.startswith("NOT_")
    if operation == "IN":
        negated = str(argument[0][0]) == "NEGATE"
        return any(_takes(each, character) for each in argument[negated:]) is not negated
    return False


def _sample(sequence: Any) -> str:
    """Return a text that a sequence takes; anchors and assertions are left out."""
    found = []
    for operation, argument in sequence:
        name = str(operation)
        if name == "LITERAL":
            found.append(chr(argument))
        elif name in ("IN", "ANY", "NOT_LITERAL"):
            node = (operation, argument)
            found.append(next((c for c in 'a0A :.-/[]"\\<>{}\n#=' if _takes(node, c)), "a"))
        elif name == "SUBPATTERN":
            found.append(_sample(argument[-1]))
        elif name == "ATOMIC_GROUP":
            found.append(_sample(argument))
        elif name == "BRANCH":
            found.append(_sample(argument[1][0]))
        elif "REPEAT" in name:
            found.append(_sample(argument[2]) * max(1, min(argument[0], 8)))
    return "".join(found)


_ANYWHERE = ("search", "finditer", "findall", "sub", "subn", "split")


def counts_line_ends_again(expression: Expression) -> bool:
    """Whether an expression begins at each line and takes line ends from there: the square of blank lines.

    Told from the expression alone, without running it.
    """
    tree = expression.tree()
    flags = expression.flags | tree.state.flags
    if not flags & re.MULTILINE or expression.method not in _ANYWHERE or len(tree) < 2:
        return False
    (first, place), (second, repeated) = tree[0], tree[1]
    if (str(first), str(place)) != ("AT", "AT_BEGINNING") or "REPEAT" not in str(second):
        return False
    _, most, body = repeated
    return most >= _LARGE and len(body) == 1 and _takes(body[0], "\n")


_LONG_ENOUGH_S = 1e-3


def slowest(expression: Expression, small: int, factor: int) -> tuple[float, str]:
    """Return how much more a character costs in a text `factor` times as long, for the worst text.

    In processor time, so that what else the machine does counts little; a text that looks bad is measured
    again. 1 is what a linear expression has, `factor` a quadratic one.
    """
    worst = (0.0, "")
    for tree in alternatives(expression.tree()):
        worst = max(worst, growth_of_worst(expression.runner(tree), texts_of(tree), small, factor))
        if worst[0] > factor / 2:
            break
    return worst


def growth_of_worst(
    run: Callable[[str], object], pumped: list[tuple[str, str, str]], small: int, factor: int
) -> tuple[float, str]:
    """What `slowest` says, of a beginning, a piece that is repeated and an end; by any function of a text."""
    worst = (0.0, "")
    for before, piece, end in pumped:
        least, middle = small // 5, small // 2
        sizes = (least, small, middle, middle * factor, small * factor)
        texts = [before + piece * (size // len(piece) + 1) + end for size in sizes]
        if _growth(run, texts[:2], 2) > 5**2.5 and _growth(run, texts[:2], 5) > 5**2.5:
            # Its cube or worse: a longer text would take hours.
            return float(factor**2), f"{before[:60]!r} + {piece[:60]!r} * n + {end!r}"
        # What takes long enough to be measured on a short text is not tried on a long one.
        few = _seconds(run, texts[0]) > _LONG_ENOUGH_S
        texts = texts[2:4] if few else [texts[1], texts[4]]
        growth = _growth(run, texts, 1) / factor
        if growth > 3:
            growth = _growth(run, texts, 5) / factor
        worst = max(worst, (growth, f"{before[:60]!r} + {piece[:60]!r} * n + {end!r}"))
        if growth > factor / 2:
            return worst
    return worst


def _growth(run: Callable[[str], object], texts: list[str], times: int) -> float:
    short, long = (min(_seconds(run, text) for _ in range(times)) for text in texts)
    return long / max(short, 2e-6)


def _seconds(run: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    run(text)
    return time.process_time() - start
