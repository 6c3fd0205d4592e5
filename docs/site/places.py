"""Where each page of the repository is on the site, and in which order.

Pages of ``docs`` keep their path; those beside it that they link to get one. ``docs/index.md`` has the order:
each of its sections is a part of the site, and a page of ``docs`` that it leaves out is a mistake.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[2]
INDEX = "docs/index.md"
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")
HEADING = re.compile(r"^(##+) (.*)$")

OUTSIDE = {
    "README.md": "project/overview.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "experiments/README.md": "experiments/index.md",
}
"""Pages beside ``docs``, and where they are on the site."""

FILES = "files"
"""Folder of the site with files of the repository that pages link to."""

Entry: TypeAlias = "str | dict[str, str | list[Entry]]"
"""Of the menu: a page, a page with a name, or a name with what is below it."""


class SiteError(Exception):
    """Something in the pages keeps the site from being built; the text lists it, a line each."""


def place_of(path: str) -> str | None:
    """Return where a page of the repository is on the site; None for what is no page of it."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    parts = path.split("/")
    if parts[0] == "experiments" and len(parts) == 3 and parts[2] == "README.md":
        return f"experiments/{parts[1]}.md"
    if parts[0] == "docs" and path.endswith(".md"):
        return "/".join(parts[1:]).replace("README.md", "index.md")
    return None


def pages() -> dict[str, str]:
    """Return every page of the repository that is on the site, and where."""
    patterns = ("docs/**/*.md", "experiments/*/README.md")
    found = [path.relative_to(ROOT).as_posix() for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return {path: place for path in (*found, *OUTSIDE) if (place := place_of(path))}


def target_of(page: str, link: str) -> str:
    """Return the path in the repository that a link of a page leads to; of a folder, its page.

    Raises `SiteError` when there is nothing.
    """
    path = os.path.normpath(Path(page).parent / link)
    if (ROOT / path).is_dir() and (ROOT / path / "README.md").is_file():
        return f"{path}/README.md"
    if path.startswith("..") or not (ROOT / path).is_file():
        raise SiteError(f"{page}: {link} leads to no file")
    return path


def title_of(page: str) -> str:
    """Return the heading of a page, without its marks."""
    first = (ROOT / page).read_text(encoding="utf-8").splitlines()[0]
    return first.removeprefix("# ").replace("`", "")


def menu() -> list[Entry]:
    """Return the menu. Raises `SiteError` for pages of ``docs`` that no section of the front page lists."""
    sections: list[tuple[str, list[Entry]]] = []
    into: list[Entry] = []
    listed: set[str] = set()
    for line in (ROOT / INDEX).read_text(encoding="utf-8").splitlines():
        if heading := HEADING.match(line):
            into = []
            if heading[1] == "##":
                sections.append((heading[2], into))
            else:
                sections[-1][1].append({heading[2]: into})
        for link in LINK.findall(line) if sections else []:
            path = link.partition("#")[0]
            if ELSEWHERE.match(link) or not path.endswith(".md"):
                continue
            page = target_of(INDEX, path)
            if page not in listed:
                into.append(_entry(page))
                listed.add(page)
    below = {page for page in pages() if page.startswith(("docs/adr/", "experiments/"))}
    left_out = sorted(set(pages()) - listed - below - {INDEX, "README.md"})
    if left_out:
        raise SiteError("\n".join(f"{INDEX} does not list {page}" for page in left_out))
    home: list[Entry] = [{"Documentation": "index.md"}, {"What it does": OUTSIDE["README.md"]}]
    return [{"Home": home}, *({name: entries} for name, entries in sections)]


def _entry(page: str) -> Entry:
    """Return a page of the menu, with the pages of its folder where it is the list of them."""
    place = place_of(page)
    assert place is not None
    if page in ("docs/adr/README.md", "experiments/README.md"):
        folder = page.removesuffix("README.md")
        each = [path for path in pages() if path.startswith(folder) and path != page]
        return {title_of(page): [place, *({title_of(path): pages()[path]} for path in each)]}
    return {title_of(page): place}
