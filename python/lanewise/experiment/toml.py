"""Values as TOML writes them, for overrides and for files we make; the standard library only reads TOML."""

from __future__ import annotations

import json


def inline(value: object) -> str:
    """Write a value on one line: text, truth, number, list or table of such."""
    match value:
        case str():
            # JSON's escapes are TOML's too, once non-ASCII text is left as it is.
            return json.dumps(value, ensure_ascii=False)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(inline(item) for item in value)}]"
        case dict():
            return f"{{ {', '.join(f'{key} = {inline(item)}' for key, item in value.items())} }}"
        case _:
            raise TypeError(f"TOML has no {type(value).__name__}")


def override(value: object) -> str:
    """Write the value of an override: text as it is, anything else as TOML."""
    return value if isinstance(value, str) else inline(value)
