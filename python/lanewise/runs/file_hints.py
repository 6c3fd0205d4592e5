"""What to do about a scenario's file that cannot be read: the name that was meant, or the verb for it."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from errno import EIO
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError, ScenarioError
from lanewise.inputs import READ_FAILED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.documents import Mistake

_UNREADABLE = "unreadable-file"
"""Code of the core's mistake about a file that it could not read, whose record has the path."""


@contextmanager
def with_file_hints() -> Iterator[None]:
    """Add to a ScenarioError about a file its path and a hint: to the record, and as a note of the error."""
    try:
        yield
    except ScenarioError as error:
        # Made by the core, it has `diagnostics`; one that is made by hand may have none.
        known: list[Mistake] = getattr(error, "diagnostics", [])
        error.diagnostics = [_completed(each) for each in known]
        for before, after in zip(known, error.diagnostics, strict=True):
            old, new = before["hint"], after["hint"]
            if new == old or new is None:
                continue
            if old:
                error.args = (str(error).replace(old, new),)
            else:
                error.add_note(f"hint: {new}")
        raise


def _completed(mistake: Mistake) -> Mistake:
    path = mistake["path"]
    if path is None or mistake["code"] != _UNREADABLE:
        return mistake
    return {**mistake, "hint": _hint(Path(path)) or mistake["hint"]}


def _hint(path: Path) -> str:
    """Say what to do about a file that could not be read, by what happens when it is read again."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        return ""
    try:
        with path.open("rb") as file:
            file.read(1)
    except FileNotFoundError:
        return _about_a_name(path)
    except IsADirectoryError:
        return _about_a_folder(path)
    except OSError as error:
        return READ_FAILED if error.errno == EIO else ""
    return ""


def _about_a_folder(path: Path) -> str:
    """Say how to run a run folder's scenario again; of another folder, which verbs take some."""
    from lanewise.runs.folder import SCENARIO, load_run

    try:
        overrides = load_run(path).overrides if (path / SCENARIO).is_file() else None
    except InputError:
        overrides = None
    if overrides is None:
        return "a scenario is a file; 'lanewise compare' takes run folders, 'lanewise scan' a copied /sys"
    settings = "".join(f" --set {shlex.quote('='.join(pair))}" for pair in overrides)
    return f"a scenario is a file; that of this run is '{path / SCENARIO}'" + (
        f", which was run with{settings}" if settings else ""
    )


def _about_a_name(path: Path) -> str:
    """Offer the file of the same folder, or the example, whose name is nearest."""
    from lanewise.examples import examples

    if (near := file_meant(path)) is not None:
        return near
    if path.stem in examples():
        return f"'lanewise new {path.stem}' copies the example of this name"
    return ""


def file_meant(path: Path) -> str | None:
    """Offer the file of the same folder whose name is nearest, or begins so; None where there is none."""
    from difflib import get_close_matches

    try:
        files = sorted(each.name for each in path.parent.iterdir() if each.is_file())
    except OSError:
        return None
    begun = (name for name in files if Path(name).stem == path.name)
    near = next(iter(get_close_matches(path.name, files, n=1)), None) or next(begun, None)
    return None if near is None else f"did you mean '{path.with_name(near)}'?"
