"""Whether the tables of an experiment's files have the keys and the kinds of values that ``entries.py`` says.

What a value says is the business of ``reading.py``, which may rely on this: a text is a text there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar, cast, get_args, get_origin, get_type_hints, is_typeddict

from lanewise.experiment.entries import LadderEntry, NullEntry, Where

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Kind = tuple[str, Callable[[object], bool]]

File = TypeVar("File")
"""One of the files in ``entries.py``."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _all(value: object, is_one: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(is_one(each) for each in value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _are_rows(value: object) -> bool:
    return isinstance(value, dict) and all(_is_text(each) or _all(each, _is_text) for each in value.values())


_TABLE: Kind = ("a table", _is_table)
_ANY: Kind = ("anything", lambda _: True)
_KINDS: Mapping[object, Kind] = {
    str: ("a text", _is_text),
    float: ("a number", _is_number),
    int: ("a whole number above 0", lambda value: type(value) is int and value > 0),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    list[str]: ("a list of texts", lambda value: _all(value, _is_text)),
    list[float]: (
        "a list of two numbers",
        lambda value: isinstance(value, list) and len(value) == 2 and _all(value, _is_number),
    ),
    list[str | float]: (
        "a list of cells or numbers",
        lambda value: _all(value, lambda each: _is_text(each) or _is_number(each)),
    ),
    str | int: ("a text or a whole number", lambda value: _is_text(value) or type(value) is int),
    dict[str, object]: _TABLE,
    LadderEntry: _TABLE,
    NullEntry: _TABLE,
    dict[str, dict[str, object]]: (
        "a table of tables, such as [variation.x4]",
        lambda value: isinstance(value, dict) and all(_is_table(each) for each in value.values()),
    ),
    Where: ("a table of columns, each with a text or a list of texts", _are_rows),
}


@dataclass
class Checked(Generic[File]):
    """A document without what cannot be read, and what is wrong with it, one sentence each."""

    document: File
    unknown_keys: list[str] = field(default_factory=list)
    misfits: list[str] = field(default_factory=list)
    """Values of another kind. Single ones are left out, and so is every listed table that has one."""


def check(name: str, file: type[File], read: Mapping[str, object]) -> Checked[File]:
    """Check the shape of a file, which messages call `name`."""
    document: dict[str, object] = {}
    checked = Checked(cast("File", document))
    misfits = _misfits(name, read, _keys_of(file), checked)
    document |= {key: value for key, value in read.items() if key not in misfits}
    for table, entry_type in _listed(file).items():
        entries, keys = document.get(table, []), _keys_of(entry_type)
        if not isinstance(entries, list) or not _all(entries, _is_table):
            checked.misfits.append(f"{name}: '{table}' is a list of tables: write each under [[{table}]]")
            entries = []
        document[table] = [
            entry
            for number, entry in enumerate(entries, start=1)
            if not _misfits(f"{name}: {label(table, entry, number)}", entry, keys, checked)
        ]
    return checked


def label(table: str, entry: Mapping[str, object], number: int) -> str:
    """Return what a table of a list is called in a message: by its id or name, else by its number."""
    return f"{table} {entry.get('id', entry.get('name', entry.get('cell', number)))!r}"


def _keys_of(table: type[object]) -> Mapping[str, Kind]:
    """Return the kind of value of each key; lists of tables are looked at by themselves."""
    listed = _listed(table)
    return {key: _ANY if key in listed else _KINDS[hint] for key, hint in get_type_hints(table).items()}


def _listed(file: type[object]) -> Mapping[str, type[object]]:
    """Return the type of the tables of each list of tables."""
    lists = {key: get_args(hint) for key, hint in get_type_hints(file).items() if get_origin(hint) is list}
    return {key: of[0] for key, of in lists.items() if is_typeddict(of[0])}


def _misfits(
    where: str, table: Mapping[str, object], keys: Mapping[str, Kind], checked: Checked[File]
) -> list[str]:
    """Return the keys whose values are of another kind, and note what is wrong with the table."""
    misfits = []
    for key, value in table.items():
        if key not in keys:
            known = ", ".join(sorted(keys))
            checked.unknown_keys.append(f"{where}: unknown key {key!r}; known are {known}")
        elif not keys[key][1](value):
            misfits.append(key)
            checked.misfits.append(f"{where}: {key!r} is {value!r}, but {keys[key][0]} is needed")
    return misfits
