"""A topology as SVG: boxes for devices, lines for links, words for how they came up and what goes over them.

The text is well-formed XML whatever the names in it are. It has no identifiers, so that several pictures can
be in one page, and needs nothing from elsewhere. Every group of devices is a ``<g>`` with ``data-name`` (of
the first) and ``data-count`` (how many it stands for in the whole picture).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from xml.etree.ElementTree import Element, SubElement, tostring

from lanewise.draw.folding import Folding
from lanewise.draw.layout import DETAIL, HEAD, LABEL, PADDING, layout, port, shown
from lanewise.draw.model import Sort, State
from lanewise.draw.style import USES, rules
from lanewise.draw.wording import clean, fitted, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lanewise.draw.layout import Box, Layout
    from lanewise.draw.model import Link, LinkUse, Node, Topology

Theme = Literal["auto", "light", "dark"]

_MARGIN, _TITLE, _LINE, _CORNER = 14.0, 30.0, 17.0, 4.0
_TITLE_SIZE = 16.0
_LEAST_WIDTH = 420.0
"""So that the legend of a single card is a few lines and no tower."""
_THICK = {1: 1.5, 2: 2.0, 4: 2.6, 8: 3.6, 12: 4.4, 16: 5.2, 32: 7.0}
"""Strokes of links by their lanes."""
_SAME_USE = 0.02
"""Links of one box differ in use by no more than this part of the time."""
_MOST_NAMES = 40
_LEGEND = {
    State.UP: "as fast and wide as both ends can",
    State.BELOW: "below what both ends can",
    State.ASLEEP: "idle or switched off",
    State.DOWN: "down",
    State.EMPTY: "free",
    State.INSIDE: "inside a chip, or a tunnel",
    State.UNKNOWN: "not known what its ends can",
    State.WIRE: "no PCI Express",
}
_SAID = {State.BELOW, State.DOWN, State.ASLEEP}
"""States whose words have their colour."""


def topology_svg(
    topology: Topology,
    use: Mapping[str, LinkUse] | None = None,
    *,
    theme: Theme = "auto",
    embedded: bool = False,
    styled: bool = True,
) -> str:
    """Draw a topology; return the text of an SVG file.

    `topology` is what `scenario.of_scenario(explained, written)` makes of the document of `lanewise.explain`,
    `scenario.of_run(document)` of that of a run alone, and `machine.of_machine` of a scanned machine. With
    `use`, by the name of links (`scenario.use_of(document)` of a run), every link has two lines, coloured by
    the share of the time that each direction was in use, and the goodput of both: ``←`` upstream, ``→``
    downstream, GB/s, with "each" for links drawn as one. `theme` is ``auto`` for what the reader's screen
    prefers. `embedded` leaves out the title line and the background, for a page that has both; the name for
    screen readers stays. Without `styled` it has no style sheet: a page of many pictures has `style.rules`
    once. Lengths are CSS pixels; a page should give the picture ``max-width: 100%``.

    Neighbours that are alike, with their links and all below them, are one box with how many they are; with
    `use`, only those whose links are in use alike. At most `layout.MOST_ROWS` leaves are drawn, the others
    counted.

    >>> import lanewise
    >>> from lanewise.draw.scenario import of_scenario
    >>> picture = topology_svg(of_scenario(lanewise.explain("scenarios/switch.toml").document))
    >>> picture.count('class="lw-box ')
    6
    """
    used = use or {}

    def alike(one: Node, other: Node) -> bool:
        uses = [used.get(node.link.name) if node.link else None for node in (one, other)]
        first, second = uses
        if first is None or second is None:
            return first is second
        ways = ((first.upstream, second.upstream), (first.downstream, second.downstream))
        return all(abs(one - other) <= _SAME_USE for one, other in ways)

    def labels(group: Sequence[Node]) -> tuple[str, str]:
        return _labels(group, used)

    placed = layout(topology, Folding(topology.tops, alike if used else None), labels)
    return _Picture(topology, placed, used, theme if styled else None, embedded=embedded).text()


class _Picture:
    def __init__(
        self,
        topology: Topology,
        placed: Layout,
        use: Mapping[str, LinkUse],
        theme: Theme | None,
        *,
        embedded: bool,
    ) -> None:
        self.topology, self.placed, self.use = topology, placed, use
        self.theme, self.embedded = theme, embedded
        self.top = _MARGIN + (0.0 if embedded else _TITLE)
        self.w = max(placed.w, _LEAST_WIDTH) + 2 * _MARGIN + 4

    def text(self) -> str:
        """Return the whole file."""
        root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "lw-topology", "role": "img"})
        title = clean(self.topology.title)
        SubElement(root, "title").text = title
        SubElement(root, "desc").text = self._summary()
        if self.theme is not None:
            SubElement(root, "style").text = rules(self.theme)
        if not self.embedded:
            SubElement(root, "rect", {"class": "lw-page", "width": "100%", "height": "100%"})
            _text(
                root,
                _MARGIN,
                _MARGIN + 16,
                fitted(title, self.w - 2 * _MARGIN, _TITLE_SIZE, bold=True),
                "lw-title",
                size=_TITLE_SIZE,
                bold=True,
            )
        links, boxes = SubElement(root, "g"), SubElement(root, "g")
        for box in self.placed.boxes:
            if box.above is not None:
                self._link(links, box, box.above)
        for box in self.placed.boxes:
            self._box(boxes, box)
        y = self._legend(root, self.top + self.placed.h + 12)
        y = self._notes(root, y) + _MARGIN
        root.set("viewBox", f"0 0 {self.w:.0f} {y:.0f}")
        root.set("width", f"{self.w:.0f}")
        root.set("height", f"{y:.0f}")
        return tostring(root, encoding="unicode") + "\n"

    def _summary(self) -> str:
        """Say in a sentence what there is, for those who cannot see it."""
        counts: dict[str, int] = {}
        states: dict[State, int] = {}
        for box in self.placed.boxes:
            sort, link = box.node.sort, box.node.link
            counts[sort.value] = counts.get(sort.value, 0) + box.total
            if link is not None and sort is not Sort.EMPTY:
                states[link.state] = states.get(link.state, 0) + box.total
        words = [
            f"{count} {_PLURALS[sort] if count != 1 else _NAMES[sort]}" for sort, count in counts.items()
        ]
        words += [
            f"{states[state]} links {_LEGEND[state]}"
            for state in (State.BELOW, State.DOWN)
            if state in states
        ]
        return ", ".join(words)

    def _box(self, parent: Element, box: Box) -> None:
        node, x, y = box.node, box.x + _MARGIN, box.y + self.top
        names = [each.name for each in box.group if each.name]
        group = SubElement(parent, "g", {"class": "lw-device", "data-count": str(box.total)})
        if names:
            group.set("data-name", clean(names[0]))
        SubElement(group, "title").text = "\n".join(_about(box, names))
        if len(box.group) * node.count > 1 and node.sort is not Sort.MORE:
            way = (
                f"M{x + 4:.1f} {y + box.h + 3:.1f}H{x + box.w + 3:.1f}V{y + 4:.1f}"
                f"M{x + 7:.1f} {y + box.h + 5.6:.1f}H{x + box.w + 5.6:.1f}V{y + 7:.1f}"
            )
            SubElement(group, "path", {"class": f"lw-stack lw-stack-{node.sort.value}", "d": way})
        SubElement(group, "rect", _rectangle(x, y, box.w, box.h, f"lw-box lw-box-{node.sort.value}"))
        middle = y + box.h / 2
        head = shown(box.head, box, HEAD, bold=True)
        first = middle - 3 if box.detail else middle + 4
        dim = " lw-dim" if node.sort in (Sort.EMPTY, Sort.MORE) else ""
        _text(group, x + PADDING, first, head, "lw-head" + dim, size=HEAD, bold=True)
        if box.badge:
            self._badge(group, x + PADDING + width(head, HEAD, bold=True) + 5, first, box.badge)
        if box.detail:
            _text(group, x + PADDING, middle + 11, shown(box.detail, box, DETAIL), "lw-dim", size=DETAIL)
        for below in box.below:
            if below.slot:
                place = self.top + below.middle + 3.5
                _text(group, x + box.w - 5, place, port(below), "lw-dim", anchor="end")

    @staticmethod
    def _badge(group: Element, x: float, y: float, words: str) -> None:
        wide = width(words, LABEL, bold=True) + 8
        SubElement(group, "rect", _rectangle(x, y - 10.5, wide, 13.5, "lw-pill"))
        _text(group, x + 4, y - 0.3, words, "lw-badge", bold=True)

    def _link(self, parent: Element, box: Box, above: Box) -> None:
        left, right = above.x + above.w + _MARGIN, box.x + _MARGIN
        y, link = self.top + box.middle, box.node.link
        if link is None:
            _line(parent, left, right, y, "lw-part", None)
            return
        group = SubElement(parent, "g", {"class": "lw-link", "data-link": clean(link.name)})
        uses = [self.use[each.link.name] for each in box.group if each.link and each.link.name in self.use]
        SubElement(group, "title").text = "\n".join(_about_link(link, uses))
        if uses:
            ways = (max(each.upstream for each in uses), max(each.downstream for each in uses))
            for way, offset in zip(ways, (-2.4, 2.4), strict=True):
                _line(group, left, right, y + offset, f"lw-use-{_step(way)}", 3.0)
        else:
            _line(group, left, right, y, f"lw-{link.state.value}", _thick(link))
        style = f"lw-say-{link.state.value}" if link.state in _SAID else ""
        over, under = box.labels
        middle = (left + right) / 2
        if over:
            _text(group, middle, y - 6, over, style, anchor="middle")
        if under:
            _text(group, middle, y + 14, under, "lw-dim" if uses else style or "lw-dim", anchor="middle")

    def _legend(self, root: Element, y: float) -> float:
        """Draw what strokes mean, of those that occur; return where it ends."""
        drawn = [box.node.link for box in self.placed.boxes if box.node.link is not None and box.above]
        entries: list[tuple[str, float, str]] = []
        if self.use:
            bounds = (0.0, *USES, 1.0)
            ways = [way for each in self.use.values() for way in (each.upstream, each.downstream)]
            for step in sorted(set(map(_step, ways))):
                low, high = (f"{100 * bound:.0f}" for bound in bounds[step : step + 2])
                words = f"{low}\N{EN DASH}{high} %" if step else f"up to {high} %"
                entries.append((f"lw-use-{step}", 3.0, words if entries else f"in use {words} of the time"))
        else:
            states = [state for state in _LEGEND if any(link.state is state for link in drawn)]
            if states not in ([], [State.UP]):
                entries += [(f"lw-{state.value}", 3.0, _LEGEND[state]) for state in states]
            lanes = sorted({link.lanes for link in drawn if link.lanes and link.state is State.UP})
            if len(lanes) > 1:
                entries += [("lw-up", _THICK.get(count, 5.0), f"x{count}") for count in lanes]
        x, begin = _MARGIN, y
        for style, thick, words in entries:
            needed = 26 + 6 + width(words, LABEL) + 16
            if x > _MARGIN and x + needed > self.w - _MARGIN:
                x, y = _MARGIN, y + _LINE
            _line(root, x, x + 26, y + 8, style, thick)
            _text(root, x + 32, y + 11.5, words, "lw-dim")
            x += needed
        return y + _LINE if entries else begin

    def _notes(self, root: Element, y: float) -> float:
        for note in self.topology.notes:
            for line in wrapped(clean(note), self.w - 2 * _MARGIN, LABEL):
                _text(root, _MARGIN, y + 11.5, line, "lw-dim")
                y += _LINE - 2
        return y


_NAMES = {
    "host": "host",
    "switch": "switch",
    "gpu": "GPU",
    "network": "network adapter",
    "storage": "drive or storage adapter",
    "device": "other device",
    "empty": "free slot or port",
    "more": "device that is counted and not drawn",
}
_PLURALS = {
    "host": "hosts",
    "switch": "switches",
    "gpu": "GPUs",
    "network": "network adapters",
    "storage": "drives or storage adapters",
    "device": "other devices",
    "empty": "free slots or ports",
    "more": "devices that are counted and not drawn",
}


def _labels(group: Sequence[Node], use: Mapping[str, LinkUse]) -> tuple[str, str]:
    """Return the words above and under a link: how it came up, and what goes over it or what it could be."""
    link = group[0].link
    if link is None:
        return "", ""
    uses = [use[each.link.name] for each in group if each.link and each.link.name in use]
    mode = clean(link.mode)
    could = clean(link.could)
    if link.state in (State.DOWN, State.ASLEEP, State.INSIDE) and not uses:
        words = {State.DOWN: "down", State.ASLEEP: "idle", State.INSIDE: "inside"}[link.state]
        return (mode or words), (f"{words}, can {could}" if could else words if mode else "")
    if link.state is State.EMPTY:
        return "", ""
    if not uses:
        return mode, f"can {could}" if could else ""
    ways = [
        _rates([each.upstream_gb_per_s for each in uses]),
        _rates([each.downstream_gb_per_s for each in uses]),
    ]
    each = " each" if len(group) > 1 else ""
    over = f"{mode}, can {could}" if could else mode
    left, right = "\N{LEFTWARDS ARROW}", "\N{RIGHTWARDS ARROW}"
    return over, f"{left} {ways[0]}  {right} {ways[1]} GB/s{each}"


def _rates(rates: Sequence[float]) -> str:
    """Write a rate, or the lowest and highest of several, with three digits."""
    low, high = (f"{rate:.2f}" if rate < 100 else f"{rate:.0f}" for rate in (min(rates), max(rates)))
    return low if low == high else f"{low}\N{EN DASH}{high}"


def _about(box: Box, names: Sequence[str]) -> Iterator[str]:
    """Yield the lines that are shown where somebody points at a box."""
    node = box.node
    yield clean(", ".join(dict.fromkeys(filter(None, (node.head, node.name, node.detail)))))
    yield from (clean(line) for line in node.about)
    if len(names) > 1:
        rest = len(names) - _MOST_NAMES
        yield clean(f"{len(names)} alike: {', '.join(names[:_MOST_NAMES])[:300]}") + (
            f" and {rest} more" if rest > 0 else ""
        )
    if box.total > len(box.group) * node.count and node.sort is not Sort.MORE:
        yield f"{box.total:,} in all"


def _about_link(link: Link, uses: Sequence[LinkUse]) -> Iterator[str]:
    """Yield the lines that are shown where somebody points at a link."""
    yield clean(f"{link.name}: {link.mode}".rstrip(": "))
    could = f" ({clean(link.could)})" if link.could else ""
    yield _LEGEND[link.state] + could
    if link.why:
        yield clean(link.why)
    ways: tuple[tuple[str, Callable[[LinkUse], float], Callable[[LinkUse], float]], ...] = (
        ("upstream", lambda each: each.upstream_gb_per_s, lambda each: each.upstream),
        ("downstream", lambda each: each.downstream_gb_per_s, lambda each: each.downstream),
    )
    for way, rate, share in ways if uses else ():
        rates = _rates([rate(each) for each in uses])
        yield f"{way}: {rates} GB/s, in use {max(map(share, uses)):.1%} of the time"


def _step(share: float) -> int:
    return sum(share >= least for least in USES)


def _thick(link: Link) -> float:
    if link.state in (State.EMPTY, State.INSIDE, State.WIRE):
        return 1.6
    return _THICK.get(link.lanes or 0, 2.0)


def _rectangle(x: float, y: float, w: float, h: float, style: str) -> dict[str, str]:
    sizes = {"x": x, "y": y, "width": w, "height": h, "rx": _CORNER}
    return {"class": style} | {name: f"{value:.1f}" for name, value in sizes.items()}


def _line(parent: Element, left: float, right: float, y: float, style: str, thick: float | None) -> None:
    ends = {"x1": f"{left:.1f}", "x2": f"{right:.1f}", "y1": f"{y:.1f}", "y2": f"{y:.1f}"}
    width_of = {} if thick is None else {"stroke-width": f"{thick:g}"}
    SubElement(parent, "line", {"class": style} | ends | width_of)


def _text(
    parent: Element,
    x: float,
    y: float,
    words: str,
    style: str,
    *,
    size: float = LABEL,
    bold: bool = False,
    anchor: str = "",
) -> None:
    """Add a text; a font of other measures is fitted to the width that was reckoned with."""
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    if style:
        place["class"] = style
    if anchor:
        place["text-anchor"] = anchor
    if words:
        wide = width(words, size, bold=bold)
        place |= {"textLength": f"{wide:.1f}", "lengthAdjust": "spacingAndGlyphs"}
    SubElement(parent, "text", place).text = words
