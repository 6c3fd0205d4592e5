"""Packages depend on one another in one direction, also in what functions import when they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import lanewise

ROOT = Path(lanewise.__file__).parent


def imports(node: ast.AST) -> Iterator[str]:
    """Yield what a module imports; what only types need does not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module == "lanewise":
            yield from (f"lanewise.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield child.module
        yield from imports(child)


def arrows() -> dict[str, set[str]]:
    """Return for each package, or module beside the packages, which others it uses."""
    names = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()} - {"__init__"}
    found: dict[str, set[str]] = {name: set() for name in names}
    for path in ROOT.rglob("*.py"):
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        used = {name.split(".")[1] for name in imports(ast.parse(path.read_text())) if "lanewise." in name}
        if own in names:
            found[own] |= (used & names) - {own}
    return found


def test_no_package_uses_one_that_uses_it() -> None:
    found = arrows()
    assert "machine" in found["doctor"]
    assert list(TopologicalSorter(found).static_order())[-1] == "cli", "everything may be used by the verbs"
