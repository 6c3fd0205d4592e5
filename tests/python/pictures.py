"""What holds for every picture of a topology: well-formed, all in it or counted, boxes apart."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

from lanewise.draw.model import LinkUse, Topology
from lanewise.draw.svg import topology_svg

PLAIN = {ord("\N{EN DASH}"): "-", ord("\N{MULTIPLICATION SIGN}"): "x"}
NS = "{http://www.w3.org/2000/svg}"
Element = ElementTree.Element


def parsed(picture: str) -> Element:
    return ElementTree.fromstring(picture)


def devices(root: Element) -> list[Element]:
    return [group for group in root.iter(f"{NS}g") if group.get("class") == "lw-device"]


def boxes(root: Element) -> list[tuple[float, float, float, float]]:
    found = [rect for rect in root.iter(f"{NS}rect") if (rect.get("class") or "").startswith("lw-box ")]
    return [tuple(float(rect.get(key) or "nan") for key in ("x", "y", "width", "height")) for rect in found]  # type: ignore[misc]


def words(root: Element) -> list[str]:
    return [(text.text or "").translate(PLAIN) for text in root.iter(f"{NS}text")]


def check(topology: Topology, use: dict[str, LinkUse] | None = None) -> Element:
    """Draw, and check what holds for every picture."""
    root = parsed(topology_svg(topology, use))
    drawn = sum(int(group.get("data-count") or 0) for group in devices(root))
    assert drawn == sum(node.count for node in topology.walk()), "everything is drawn or counted"
    width, height = (float(root.get(key) or "nan") for key in ("width", "height"))
    rectangles = boxes(root)
    assert len(rectangles) == len(devices(root))
    for x, y, w, h in rectangles:
        assert w > 0
        assert h > 0
        assert x >= 0
        assert y >= 0
        assert x + w <= width
        assert y + h <= height
    for (ax, ay, aw, ah), (bx, by, bw, bh) in combinations(rectangles, 2):
        assert ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay, "boxes are apart"
    assert not list(root.iter(f"{NS}script"))
    return root
