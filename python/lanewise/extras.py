"""Packages that only some verbs need, and what to type when one is missing.

``pyproject.toml`` says which there are: the extras ``calibrate``, ``report``, ``search``, ``serve`` and
``cluster``, and ``all``, which is all but the last. Its words are read back from the metadata of the
installed package, so that nothing here can differ from them.
"""

from __future__ import annotations

import re

from lanewise.errors import InputError

_PACKAGE = "lanewise"
_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")


class MissingPackageError(InputError):
    """A verb needs packages that are not installed; the text says which, and how to install them."""


def need(extra: str, who: str) -> None:
    """Raise `MissingPackageError` unless all packages of an extra are installed; `who` needs them."""
    said = missing(extra, who)
    if said is not None:
        raise MissingPackageError(said)


def missing(extra: str, who: str) -> str | None:
    """Say which packages of an extra are not installed, and how to install them; None when all are."""
    lacking = [requirement for requirement in requirements(extra) if not _is_installed(requirement)]
    return _said(who, lacking, extra) if lacking else None


def requirements(extra: str | None) -> list[str]:
    """Return what pip would be told to install: for an extra, or for all that runs with None."""
    # What it imports would slow down every verb.
    from importlib.metadata import PackageNotFoundError, requires

    try:
        listed = requires(_PACKAGE) or []
    except PackageNotFoundError:
        return []
    found = []
    for line in listed:
        requirement, _, marker = line.partition(";")
        match = _EXTRA.search(marker)
        if (match[1] if match else None) == extra and not requirement.startswith(_PACKAGE):
            found.append(requirement.strip())
    return found


def explained(error: ModuleNotFoundError) -> str | None:
    """Say which package to install for a module that is missing; None when it is not one of ours."""
    module = (error.name or "").partition(".")[0]
    for extra in (None, "calibrate", "report", "search", "serve", "cluster"):
        for requirement in requirements(extra):
            name = _name_of(requirement).replace("-", "_").lower()
            if module and name.startswith(module.lower()):
                return _said("this", [requirement], extra)
    return None


def _said(who: str, lacking: list[str], extra: str | None) -> str:
    names = " and ".join(map(_name_of, lacking))
    where = "" if extra is None else f" (extra '{extra}')"
    command = " ".join(f"'{requirement}'" for requirement in lacking)
    verb = "is" if len(lacking) == 1 else "are"
    return f"{who} needs {names}{where}, which {verb} not installed: type\n  pip install {command}"


def _name_of(requirement: str) -> str:
    match = _NAME.match(requirement)
    return match[0] if match else requirement


def _is_installed(requirement: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(_name_of(requirement))
    except PackageNotFoundError:
        return False
    return True
