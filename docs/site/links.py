"""Whether everything in a built site leads somewhere: pages, anchors, images, styles, rigs for the lab.

    python docs/site/links.py FOLDER      lists what does not, and has status 1 if there is anything

Addresses with a scheme are for people to follow, and are not asked for; but nothing that a browser loads by
itself may have one.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import lab

LOADED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "link": ("href", "imagesrcset"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "input": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
"""What a browser fetches by itself (HTML Living Standard, 'Attributes'; SVG 2 for the last two)."""
LISTS = {"srcset", "imagesrcset"}
"""Attributes that hold several addresses, each with a width or a density behind it."""
FOLLOWED = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}
"""Relations to what a browser does not fetch. A link with any other word, or with none, counts as fetched."""
URL_IN_STYLE = re.compile(r"""(?:url\(\s*|@import\s+)["']?(?!data:)([^"')\s]+)""", re.IGNORECASE)


def candidates(srcset: str) -> list[str]:
    """Return the addresses of a `srcset`: each ends at a space, or at a comma behind it (HTML, 4.8.4.2.2)."""
    found = []
    while rest := srcset.lstrip(", \t\n\r\f"):
        address, *behind = rest.split(maxsplit=1)
        found.append(address.rstrip(","))
        srcset = "".join(behind)
        if not address.endswith(","):
            srcset = srcset.partition(",")[2]
    return found


class Page(HTMLParser):
    """What a page has of anchors and links."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str, bool]] = []
        self._is_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what it leads to."""
        has = {name: value or "" for name, value in attrs}
        self._is_style = tag == "style"
        self.anchors |= {has[name] for name in ("id", "name") if name in has and tag != "meta"}
        if tag == "a" and "href" in has:
            self.links.append((tag, has["href"], False))
        related = set(has.get("rel", "").lower().split())
        is_loaded = tag != "link" or not related or not related <= FOLLOWED
        for name in (*LOADED.get(tag, ()), "data-src"):
            addresses = candidates(has[name]) if name in LISTS and name in has else [has.get(name)]
            self.links += [(tag, address, is_loaded) for address in addresses if address is not None]
        self._keep_style(tag, has.get("style", ""))

    def handle_data(self, data: str) -> None:
        """Keep what a style in the page loads."""
        if self._is_style:
            self._keep_style("style", data)

    def handle_endtag(self, tag: str) -> None:
        """Leave a style."""
        self._is_style = False

    def _keep_style(self, tag: str, text: str) -> None:
        self.links += [(tag, url, True) for url in URL_IN_STYLE.findall(text)]


@cache
def page(path: Path) -> Page:
    """Read a page once."""
    return Page(path.read_text(encoding="utf-8"))


def problems(folder: Path) -> list[str]:
    """Return a line for each thing of a site that leads nowhere, in order."""
    found: list[str] = []
    page.cache_clear()
    for path in sorted(folder.rglob("*.html")):
        if path.relative_to(folder).as_posix() == lab.PAGE:
            continue
        found += [f"{path.relative_to(folder)}: {what}" for what in _of_page(folder, path)]
    for path in sorted(folder.rglob("*.css")):
        for url in URL_IN_STYLE.findall(path.read_text(encoding="utf-8")):
            if urlsplit(url).scheme or not (path.parent / unquote(urlsplit(url).path)).is_file():
                found.append(f"{path.relative_to(folder)}: {url} is no file of the site")
    return found


def _of_page(folder: Path, path: Path) -> list[str]:
    found = []
    for tag, address, is_loaded in page(path).links:
        parts = urlsplit(address)
        if parts.scheme == "data":
            continue
        if parts.scheme or parts.netloc:
            if is_loaded:
                found.append(f"<{tag}> loads {address} from the network")
            continue
        if parts.path.startswith("/"):
            found.append(f"<{tag}> {address} works at the top of a server only")
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        if not target.is_relative_to(folder.resolve()) or not target.is_file():
            found.append(f"<{tag}> {address} leads to no file")
        elif parts.fragment and target.relative_to(folder.resolve()).as_posix() == lab.PAGE:
            found += _rig(parts.fragment)
        elif (
            parts.fragment
            and target.suffix == ".html"
            and unquote(parts.fragment) not in page(target).anchors
        ):
            found.append(f"<{tag}> {address}: that page has no such anchor")
    return found


def _rig(fragment: str) -> list[str]:
    try:
        text = lab.opened(fragment)["text"]
    except ValueError as error:
        return [f"a link into the lab is damaged: {error}"]
    return [] if lab.is_rig(text) else ["a link into the lab has no rig"]


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]))
    print("\n".join(wrong))
    sys.exit(bool(wrong))
