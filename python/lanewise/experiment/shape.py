"""Which keys the tables of an experiment's files have, and what kind of value each takes.

What a value says is the business of ``reading.py``, which may rely on this: a text is a text there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lanewise.experiment.formula import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Kind = tuple[str, Callable[[object], bool]]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _all(value: object, is_one: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(is_one(each) for each in value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


_TEXT: Kind = ("a text", _is_text)
_NUMBER: Kind = ("a number", _is_number)
_TRUTH: Kind = ("true or false", lambda value: isinstance(value, bool))
_TEXTS: Kind = ("a list of texts", lambda value: _all(value, _is_text))
_TWO_NUMBERS: Kind = (
    "a list of two numbers",
    lambda value: isinstance(value, list) and len(value) == 2 and _all(value, _is_number),
)
_OPERANDS: Kind = (
    "a list of cells or numbers",
    lambda value: _all(value, lambda each: _is_text(each) or _is_number(each)),
)
_TABLE: Kind = ("a table", _is_table)
_TABLES_BY_NAME: Kind = (
    "a table of tables, such as [variation.x4]",
    lambda value: isinstance(value, dict) and all(_is_table(each) for each in value.values()),
)
_ROWS: Kind = (
    "a table of columns, each with a text or a list of texts",
    lambda value: (
        isinstance(value, dict) and all(_is_text(each) or _all(each, _is_text) for each in value.values())
    ),
)
_FITTED: Kind = ("a text or a whole number", lambda value: _is_text(value) or type(value) is int)
_ANY: Kind = ("anything", lambda _: True)

_QUANTITY: Mapping[str, Kind] = {
    **dict.fromkeys(("id", "unit", "note", "scenario", "metric", "rung"), _TEXT),
    **dict.fromkeys(("variations", "fits"), _TEXTS),
    "seeds": ("a whole number above 0", lambda value: type(value) is int and value > 0),
    **dict.fromkeys(("set", "ladder"), _TABLE),
    "where": _ROWS,
    **dict.fromkeys(FORMULAS, _OPERANDS),
}
_LISTED: Mapping[str, Mapping[str, Kind]] = {
    "cell": {
        **_QUANTITY,
        **dict.fromkeys(("published", "band_percent", "band_points", "printed_to"), _NUMBER),
        **dict.fromkeys(("verdict", "role", "claim", "exact"), _TEXT),
        "between": _TWO_NUMBERS,
        "null": _TABLE,
    },
    "value": _QUANTITY,
    "fit": {
        **dict.fromkeys(("name", "unit", "why", "from", "of"), _TEXT),
        **dict.fromkeys(("parameters", "cells"), _TEXTS),
        "between": _TWO_NUMBERS,
        "whole": _TRUTH,
    },
    "oddity": dict.fromkeys(("where", "what", "reading"), _TEXT),
    "plot": dict.fromkeys(("title", "kind", "pattern", "x"), _TEXT),
}
_EXPECTED: Mapping[str, Kind] = {
    **dict.fromkeys(("id", "title", "source", "unit", "metric"), _TEXT),
    "where": _ROWS,
    "variation": _TABLES_BY_NAME,
    "ladder": _TABLE,
    "seeds": _QUANTITY["seeds"],
    **dict.fromkeys(_LISTED, _ANY),
}
_FITTED_LISTED: Mapping[str, Mapping[str, Kind]] = {
    "fitted": {
        **dict.fromkeys(("name", "plus_minus"), _TEXT),
        **dict.fromkeys(("parameters", "fitted_on"), _TEXTS),
        "value": _FITTED,
    }
}
_MISSES_LISTED: Mapping[str, Mapping[str, Kind]] = {
    "miss": {**dict.fromkeys(("cell", "why"), _TEXT), "simulated": _NUMBER}
}
_OTHERS = {"fitted.toml": _FITTED_LISTED, "misses.toml": _MISSES_LISTED}


@dataclass
class Checked:
    """A document without what cannot be read, and what is wrong with it, one sentence each."""

    document: dict[str, Any]
    unknown_keys: list[str] = field(default_factory=list)
    misfits: list[str] = field(default_factory=list)
    """Values of another kind. Single ones are left out, and so is every listed table that has one."""


def check(name: str, document: Mapping[str, Any]) -> Checked:
    """Check the shape of ``expected.toml``, ``fitted.toml`` or ``misses.toml``, which `name` says."""
    listed = _OTHERS.get(name, _LISTED)
    keys = dict.fromkeys(listed, _ANY) if name in _OTHERS else _EXPECTED
    checked = Checked({})
    misfits = _misfits(name, document, keys, checked)
    checked.document = {key: value for key, value in document.items() if key not in misfits}
    for table, allowed in listed.items():
        entries = checked.document.get(table, [])
        if not _all(entries, _is_table):
            checked.misfits.append(f"{name}: '{table}' is a list of tables: write each under [[{table}]]")
            entries = []
        checked.document[table] = [
            entry
            for number, entry in enumerate(entries, start=1)
            if not _misfits(f"{name}: {label(table, entry, number)}", entry, allowed, checked)
        ]
    return checked


def label(table: str, entry: Mapping[str, Any], number: int) -> str:
    """Return what a table of a list is called in a message: by its id or name, else by its number."""
    return f"{table} {entry.get('id', entry.get('name', entry.get('cell', number)))!r}"


def _misfits(where: str, table: Mapping[str, Any], keys: Mapping[str, Kind], checked: Checked) -> list[str]:
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
