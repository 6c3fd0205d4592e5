"""Puts the part of the Python package that reads and checks machines into a zip, for the lab in the browser.

What that part is, follows from its imports: from `lanewise.page.examine` on, those inside functions too. The
same sources give the same bytes. Usage: ``python_for_page.py FILE``
"""

from __future__ import annotations

import ast
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "python"
START = ("lanewise.page.examine", "lanewise.page.core")
PACKAGES = ("lanewise.health.doctor.rules", "lanewise.machine.sources")
"""Their modules are found by looking into them, or by their names as texts."""
WITH_DATA = ("machine", "health", "draw")
"""Folders whose files that are no modules go with them: lists of names, and their licence."""
NOT_IN_PAGES = frozenset({"lanewise._core", "lanewise.health.measure", "lanewise.health.judge"})
"""The core is another one there, and no page runs benchmarks."""
OTHER_CORE = {"lanewise/page/core.py": "lanewise/_core.py"}
_EPOCH = (1980, 1, 1, 0, 0, 0)


def modules() -> dict[str, Path]:
    """Return the modules that a page needs, by name."""
    found: dict[str, Path] = {}
    waiting = [*START, *(name for package in PACKAGES for name in _inside(package))]
    while waiting:
        name = waiting.pop()
        path = _path(name)
        if path is None or name in found or any(name.startswith(each) for each in NOT_IN_PAGES):
            continue
        found[name] = path
        package, _, _ = name.rpartition(".")
        waiting += [package, *_imported(ast.parse(path.read_bytes()))]
    return found


def _inside(package: str) -> list[str]:
    path = _path(package)
    assert path is not None, f"there is no package {package}"
    return [f"{package}.{each.stem}" for each in path.parent.glob("*.py") if each.stem != "__init__"]


def _path(name: str) -> Path | None:
    base = ROOT.joinpath(*name.split("."))
    places = (base.with_suffix(".py"), base / "__init__.py")
    return next((place for place in places if name and place.is_file()), None)


def _imported(tree: ast.AST) -> list[str]:
    """Return what may be imported when the module runs: modules, and names that may be modules."""
    found: list[str] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            found += _imported(node)
    return [name for name in found if name.split(".")[0] == "lanewise"]


def data() -> list[Path]:
    """Return the files that modules read."""
    every = [path for name in WITH_DATA for path in (ROOT / "lanewise" / name).rglob("*") if path.is_file()]
    return [path for path in every if path.suffix not in (".py", ".pyc", ".pyi")]


def main() -> None:
    """Write the file."""
    files = {path.relative_to(ROOT).as_posix(): path for path in modules().values()}
    files |= {path.relative_to(ROOT).as_posix(): path for path in data()}
    with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in sorted(files.items()):
            info = zipfile.ZipInfo(OTHER_CORE.get(name, name), _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())


if __name__ == "__main__":
    main()
