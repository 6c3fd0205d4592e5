"""Files that come with the package: example machines and scenarios, experiments, schemas.

In a checkout they lie at its root, where people edit them. A wheel has them in ``lanewise/data``, where
``crates/python/build.rs`` and ``pyproject.toml`` put them. The catalog is compiled into the core.
"""

from __future__ import annotations

from pathlib import Path

from lanewise.errors import InputError

_PACKAGE = Path(__file__).resolve().parent


class MissingDataError(InputError):
    """A folder that comes with the package is not there."""


def data_folder(name: str) -> Path:
    """Return ``examples``, ``experiments``, ``scenarios`` or ``schema``: of the checkout, or of the package.

    A checkout comes first, because an installation in place leaves a copy in the package, which ages. Raises
    `MissingDataError` when neither has it.
    """
    for root in (checkout(), _PACKAGE / "data"):
        if root is not None and (root / name).is_dir():
            return root / name
    raise MissingDataError(f"this installation of Lanewise has no folder '{name}': install it again")


def checkout() -> Path | None:
    """Return the root of the checkout that the package is part of; None for an installed one."""
    root = _PACKAGE.parents[1]
    return root if (root / "crates" / "python" / "Cargo.toml").is_file() else None
