"""Writes THIRD-PARTY-LICENSES.txt: what is compiled into the core, by whom, under which terms.

    python .ci/third_party_licenses.py           write it
    python .ci/third_party_licenses.py --check   exit status 1 when it is not what would be written now

Cargo says which crates are in the core on any platform; their texts are in the sources that cargo has
fetched. Of licences to choose from, the first of `ACCEPTED` is taken; a crate under none of them stops the
script.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "THIRD-PARTY-LICENSES.txt"
CORE = "lanewise-python"
ACCEPTED = {
    "MIT": ("LICENSE-MIT", "LICENSE.txt", "LICENSE.md", "LICENSE"),
    "Apache-2.0": ("LICENSE-APACHE", "LICENSE"),
    "Zlib": ("LICENSE",),
    "Unicode-3.0": ("LICENSE-UNICODE",),
}
"""Licences that allow what we do, and the files that may hold their text."""

OPENING = """Licences of others' work in Lanewise

The compiled core of Lanewise (lanewise/_core) contains the crates below, and the Rust standard library.
Where a crate may be taken under one of several licences, Lanewise takes it under the one whose text stands
here. The list of PCI IDs has its licence in pci.ids.LICENSE. Packages that Lanewise needs beside it are
installed from their own distributions, with their own licences.

Made by .ci/third_party_licenses.py from Cargo.lock.
"""
STANDARD_LIBRARY = (
    "Rust standard library, and the crates in it (addr2line, adler2, cfg-if, gimli, hashbrown, libc, memchr, "
    "miniz_oxide, object, rustc-demangle)"
)


def main() -> int:
    """Write the file, or compare it."""
    text = written()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if not FILE.is_file() or FILE.read_text(encoding="utf-8") != text:
        print(f"{FILE.name} is stale: run 'make generate'", file=sys.stderr)
        return 1
    return 0


def written() -> str:
    """Return the whole file: crates with the same text share it."""
    entries = [
        (text, f"{crate['name']} {crate['version']}", crate["license"])
        for crate in crates()
        for text in texts(crate)
    ]
    own = (ROOT / "LICENSE").read_text(encoding="utf-8")
    mit = re.sub(r"Copyright \(c\).*", "Copyright (c) The Rust Project Contributors", own)
    entries.append((mit.strip(), STANDARD_LIBRARY, "MIT OR Apache-2.0"))
    parts = [OPENING]
    groups = [(text, list(group)) for text, group in groupby(sorted(entries), key=lambda entry: entry[0])]
    for text, group in sorted(groups, key=lambda each: each[1][0][1].lower()):
        names = "\n".join(f"{name} ({license_})" for _, name, license_ in group)
        parts.append(f"{'-' * 80}\n{names}\n\n{text}\n")
    return "\n".join(parts)


def crates() -> list[dict[str, Any]]:
    """Return the crates of others that are compiled into the core, or into what makes its code."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    needed = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    open_ = [id_ for id_, package in packages.items() if package["name"] == CORE]
    found: set[str] = set()
    while open_:
        id_ = open_.pop()
        if id_ not in found:
            found.add(id_)
            open_ += [
                dependency["pkg"]
                for dependency in needed[id_]
                if any(kind["kind"] is None for kind in dependency["dep_kinds"])
            ]
    others = [packages[id_] for id_ in found if packages[id_]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(crate: dict[str, Any]) -> list[str]:
    """Return the texts of the licences that a crate is taken under: one of each choice in its expression."""
    found = []
    for choice in re.split(r"\bAND\b", crate["license"].replace("/", " OR ")):
        names = re.findall(r"[\w.-]+", choice.replace(" OR ", " "))
        taken = next((name for name in ACCEPTED if name in names), None)
        if taken is None:
            raise SystemExit(f"{crate['name']} is under {crate['license']}, of which none is in ACCEPTED")
        folder = Path(crate["manifest_path"]).parent
        files = [folder / name for name in ACCEPTED[taken] if (folder / name).is_file()]
        if not files:
            raise SystemExit(f"{crate['name']} is under {taken}, and its sources have no text of that")
        found.append(_plain(files[0].read_text(encoding="utf-8")))
    return found


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


if __name__ == "__main__":
    sys.exit(main())
