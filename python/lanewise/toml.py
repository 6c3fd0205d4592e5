"""What TOML writes: values for overrides and files we make, whole scenarios from dictionaries.

The standard library only reads TOML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def inline(value: object) -> str:
    """Write a value on one line: text, truth, number, list or table of such; TypeError for anything else."""
    match value:
        case str():
            # JSON's escapes are TOML's too, once non-ASCII text is left as it is.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return "true" if value else "false"
        case Integral():
            return str(int(value))
        case Real():
            return repr(float(value))
        case list() | tuple():
            return f"[{', '.join(map(inline, value))}]"
        case Mapping():
            return f"{{ {', '.join(f'{_key(key)} = {inline(item)}' for key, item in value.items())} }}"
        case _:
            raise TypeError(f"TOML has no {type(value).__name__}")


def override(value: object) -> str:
    """Write the value of an override: text as it is, anything else as TOML."""
    return value if isinstance(value, str) else inline(value)


def document(tables: Mapping[str, Any]) -> str:
    """Write a whole file; TypeError as `inline`.

    Tables have headings, those in tables (``[host.server]``) and in lists (``[[workload]]``) too; what lies
    deeper stands on one line.
    """
    lines = _entries({key: value for key, value in tables.items() if not _has_heading(value)})
    for key, value in tables.items():
        if isinstance(value, Mapping):
            own = {name: each for name, each in value.items() if not isinstance(each, Mapping)}
            if own or not value:
                lines += ["", f"[{_key(key)}]", *_entries(own)]
            for name, each in value.items():
                if name not in own:
                    lines += ["", f"[{_key(key)}.{_key(name)}]", *_entries(each)]
        elif _has_heading(value):
            for each in value:
                lines += ["", f"[[{_key(key)}]]", *_entries(each)]
    return "\n".join(lines).strip() + "\n"


def _entries(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {inline(value)}" for key, value in table.items()]


def _has_heading(value: object) -> bool:
    """Whether this is a table, or a list of nothing but tables."""
    of_tables = isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value)
    return isinstance(value, Mapping) or (of_tables and bool(value))


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"TOML has no key {key!r}")
    return key if _BARE.fullmatch(key) else inline(key)
