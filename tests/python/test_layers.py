"""Modules and packages depend on one another in one direction, also in what functions import when called."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import lanewise

ROOT = Path(lanewise.__file__).parent


def imports(node: ast.AST, modules: Collection[str]) -> Iterator[str]:
    """Yield which of the modules one imports; what only types need does not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names if alias.name in modules)
        elif isinstance(child, ast.ImportFrom) and child.module in modules:
            names = (f"{child.module}.{alias.name}" for alias in child.names)
            yield from (name if name in modules else child.module for name in names)
        yield from imports(child, modules)


@cache
def arrows() -> dict[str, set[str]]:
    """Return for each module of the package which other modules it uses."""
    paths = {name_of(path): path for path in ROOT.rglob("*.py")}
    return {
        own: {*imports(ast.parse(path.read_text()), paths)} - {own, "lanewise"}
        for own, path in paths.items()
        if own != "lanewise"
    }


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def package_of(module: str) -> str:
    """Return the package that a module belongs to; `health` is several."""
    parts = module.split(".")
    return ".".join(parts[1:3] if parts[1] == "health" else parts[1:2])


def test_no_package_uses_one_that_uses_it() -> None:
    found: dict[str, set[str]] = {}
    for own, used in arrows().items():
        package = package_of(own)
        found.setdefault(package, set()).update({package_of(name) for name in used} - {package})
    assert {"machine", "health.fleet"} <= found["health.doctor"]
    order = list(TopologicalSorter(found).static_order())
    assert order[-2:] == ["cli", "__main__"], "everything may be used by the verbs, and they by the command"


def test_no_module_uses_one_that_uses_it() -> None:
    """A package and its modules: the package may use them; they use each other, not the package."""
    assert "lanewise.machine.topology" in arrows()["lanewise.machine.model"]
    try:
        TopologicalSorter(arrows()).prepare()
    except CycleError as cycle:
        pytest.fail(" -> ".join(cycle.args[1]))
