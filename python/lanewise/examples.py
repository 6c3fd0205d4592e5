"""Example rigs: scenarios that come with the package, to copy and change."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path

from lanewise.data import data_folder
from lanewise.errors import InputError
from lanewise.files import write_whole


def examples() -> dict[str, str]:
    """Return the title of each example by its name, in the order of the names.

    >>> import lanewise.examples
    >>> lanewise.examples.examples()["switch"]
    'Two Gen3 x4 cards behind one switch'
    """
    return {path.stem: _title(path) for path in sorted(data_folder("scenarios").glob("*.toml"))}


def _title(path: Path) -> str:
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("title", ""))


def copy_example(name: str, to: str | Path | None = None) -> Path:
    """Copy an example to a file that is not there yet, by its own name when none is given, and return which.

    Raises `InputError` for a name that none has and for a file that exists.
    """
    plain = name.removesuffix(".toml")
    source = data_folder("scenarios") / f"{plain}.toml"
    if plain not in examples():
        near = get_close_matches(plain, examples(), n=1)
        hint = f"did you mean '{near[0]}'?" if near else "'lanewise new' lists them"
        raise InputError(f"there is no example '{name}'; {hint}")
    target = Path(to) if to is not None else Path(f"{plain}.toml")
    if target.is_dir():
        target /= source.name
    if target.exists():
        raise InputError(f"'{target}' exists, and is left as it is; name another file")
    return write_whole(target, source.read_text(encoding="utf-8"))
