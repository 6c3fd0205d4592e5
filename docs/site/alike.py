"""Whether a page of the site says all that its source says: words, headings, lists, tables, blocks of code.

Sources are CommonMark with tables, as people read them in a checkout; the generator of the site reads another
dialect, in which a list without an empty line before it is no list. So both are rendered, and compared.
"""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from itertools import takewhile

from markdown_it import MarkdownIt

COUNTED = ("h1", "h2", "h3", "h4", "li", "tr", "td", "pre", "img", "em", "strong", "code", "blockquote")
ADDED = {"nav", "button"}
"""Elements that the site adds."""
ADDED_CLASSES = {"headerlink", "lab", "in-lab", "filename"}
WITHOUT_END = {"img", "br", "hr", "input", "link", "meta", "col", "wbr"}
SHOWN = 60
"""Characters of a difference."""


class _Said(HTMLParser):
    """What the part of a page says that is within an element, or all of it."""

    def __init__(self, text: str, within: str | None) -> None:
        super().__init__()
        self.within, self.open, self.skipped = within, 0, 0
        self.counts: Counter[str] = Counter()
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count it, unless the site added it."""
        classes = set((dict(attrs).get("class") or "").split())
        if self.skipped or tag in ADDED or classes & ADDED_CLASSES:
            self.skipped += tag not in WITHOUT_END
        elif self.open or not self.within:
            self.counts[tag] += 1
        self.open += tag == self.within

    def handle_endtag(self, tag: str) -> None:
        """Leave it."""
        self.open -= tag == self.within
        self.skipped -= bool(self.skipped)

    def handle_data(self, data: str) -> None:
        """Keep its words."""
        if (self.open or not self.within) and not self.skipped:
            self.words += data.split()


def differences(source: str, built: str) -> list[str]:
    """Return what differs between a page's source and what was built of it, a line each."""
    written = _Said(MarkdownIt("commonmark").enable("table").render(source), None)
    shown = _Said(built, "article")
    found = [
        f"{written.counts[tag]} <{tag}> became {shown.counts[tag]}"
        for tag in COUNTED
        if written.counts[tag] != shown.counts[tag]
    ]
    before, after = "".join(written.words), "".join(shown.words)
    if before != after:
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
        start = max(0, same - SHOWN // 2)
        found.append(f"{before[start : start + SHOWN]!r} became {after[start : start + SHOWN]!r}")
    return found
