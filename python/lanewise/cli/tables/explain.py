"""Every resolved parameter and where it came from, below a drawing of what is attached where.

Written as plain text: a table of Rich takes a minute for four thousand devices. Components that are alike in
everything are written once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.alike_names import stem, together
from lanewise.cli.console import stdout
from lanewise.cli.tables import style
from lanewise.cli.tables.patterns import is_like, nothing_like
from lanewise.cli.tables.remarks import remarks
from lanewise.cli.tables.topology import topology
from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from lanewise.documents import ExplainedParameter, NegotiatedLink
    from lanewise.results import ExplainResult

_STYLES = {"assumed": "yellow", "calibrated": "cyan", "published": "green", "datasheet": "green"}
_WIDEST = 120
_WIDEST_KEY, _WIDEST_VALUE, _NARROWEST_VALUE, _PROVENANCE = 30, 22, 8, 10
_MOST_UNLIKE = 0.25
"""Share of its rows in which a component may differ from one above it, and be written as the differences."""
_QUIET = "written in the scenario without a source"


@dataclass(frozen=True)
class _Component:
    """What is said of one component: the part of each path behind its name, and the rest of the row."""

    name: str
    rows: tuple[tuple[str, str, str, str], ...]
    """Key, value, provenance, source."""
    places: tuple[str, ...]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of its rows."""
        return tuple(row[0] for row in self.rows)

    @cached_property
    def without_its_name(self) -> tuple[tuple[str, ...], ...]:
        """What alike components have in common: all rows, without its own name in values."""
        own = self.name.removeprefix("workload.")
        return tuple(
            row if own not in row[1] else (row[0], row[1].replace(own, "#"), *row[2:]) for row in self.rows
        )

    def unlike(self, other: _Component) -> tuple[int, ...] | None:
        """Return where rows differ from those of another with the same keys; None when they are too many."""
        if self.keys != other.keys:
            return None
        pairs = zip(self.without_its_name, other.without_its_name, strict=True)
        differing = tuple(at for at, (own, its) in enumerate(pairs) if own != its)
        return differing if len(differing) <= len(self.rows) * _MOST_UNLIKE else None


def print_explain(result: ExplainResult, patterns: Sequence[str] = ()) -> None:
    """Print what is attached where, what was chosen, and what is claimed about hardware.

    With patterns, which are those of a shell, only what is about components whose name or path is like one of
    them; InputError when nothing is.
    """
    chosen, links = result.document["parameters"], result.document["links"]
    if patterns:
        meant = [*patterns, *_shared(patterns, links)]
        chosen = [row for row in chosen if _is_meant(row["path"], meant)]
        links = [link for link in links if _is_link_meant(link, patterns)]
        if not chosen and not links:
            rows = result.document["parameters"]
            names = {row["path"].removeprefix("workload.").split(".")[0]: None for row in rows}
            said = nothing_like("component or parameter", names, patterns)
            if any("." in each and each.split(".")[0].split("[")[0] in names for each in patterns):
                said += "; defaults that nothing reads are not printed: the scenario reference has them"
            raise InputError(said)
    console = stdout()
    if not patterns:
        title = Text(f"{result.title}\n" if result.title else "", style="bold")
        style.emit(title, *remarks(result.document))
    width = min(console.width, _WIDEST)
    lines = [
        *_drawing(links),
        *_links(links, width),
        *_section("Choices", "the run, firmware and workloads", _of_role(chosen, choices=True), width),
        *_section("Hardware", "every value with its provenance", _of_role(chosen, choices=False), width),
    ]
    if console.is_terminal:
        style.emit(*(Text.from_ansi(line) for line in lines))
    else:
        sys.stdout.write("\n".join(line.rstrip() for line in lines) + "\n")


def _drawing(links: Sequence[NegotiatedLink]) -> list[str]:
    if not links:
        return []
    return [*_titled("Topology", "what is attached where, with the link above it"), *topology(links), ""]


def _shared(patterns: Sequence[str], links: Sequence[NegotiatedLink]) -> list[str]:
    """Patterns for what a group has in common: `nic.tags` for `nic[3].tags`, where there is that device."""
    ends = {end for link in links for end in (str(link["lower"]), str(link["upper"]).partition(".")[0])}
    shared = []
    for pattern in patterns:
        device, dot, key = pattern.partition(".")
        group, bracket, _ = device.partition("[")
        if bracket and any(is_like(end, device) for end in ends):
            shared.append(f"{group}{dot}{key}")
    return shared


def _is_meant(path: str, patterns: Sequence[str]) -> bool:
    """Whether a parameter is asked for: by its whole path, or by the name of its component."""
    name = path.split(".")[1] if path.startswith("workload.") else path.split(".", maxsplit=1)[0]
    asked = (path, path.removeprefix("workload."), f"workload.{name}", name, name.partition("[")[0])
    return any(is_like(text, pattern) for text in asked for pattern in patterns)


def _is_link_meant(link: NegotiatedLink, patterns: Sequence[str]) -> bool:
    ends = (str(link["lower"]), str(link["upper"]).partition(".")[0])
    asked = [text for end in ends for text in (end, end.partition("[")[0])]
    return any(is_like(text, pattern) for text in asked for pattern in patterns)


def _titled(title: str, note: str) -> list[str]:
    return [f"{title}   {note}"]


def _links(links: Sequence[NegotiatedLink], width: int) -> Iterator[str]:
    """List what decided each link; those of devices that are alike on one line."""
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for link in links:
        mps = style.DASH if link["mps_bytes"] is None else f"{link['mps_bytes']} B"
        mode, limits = f"{link['generation']} {link['width']}", _limits(link)
        words = (stem(link["name"]), mode, mps, stem(limits))
        groups.setdefault(words, []).append((link["name"], limits))
    if not groups:
        return
    rows = [
        (together([name for name, _ in own]), mode, mps, _common([limits for _, limits in own]))
        for (_, mode, mps, _), own in groups.items()
    ]
    columns = [max(len(row[at]) for row in [("link", "mode", "MPS"), *rows]) for at in range(3)]
    yield from _titled("Links", "after negotiation, and what decided it")
    for name, mode, mps, limits in rows:
        left = f"{name:{columns[0]}}  {mode:{columns[1]}}  {mps:>{columns[2]}}"
        yield from _beside(left, limits, width)
    yield ""


def _common(limits: Sequence[str]) -> str:
    """Write what decided several links, with a star for numbers in which they differ."""
    same = len(set(limits)) == 1
    return limits[0] if same else stem(limits[0]).replace("#", "*")


def _beside(left: str, words: str, width: int) -> Iterator[str]:
    """Put words behind a line, or below it where they do not fit."""
    if len(left) + 2 + len(words) <= width:
        yield f"{left}  {words}".rstrip()
        return
    yield left.rstrip()
    yield from _below(words, width)


def _below(words: str, width: int) -> Iterator[str]:
    return (f"    {line}" for line in wrap(words, max(width - 4, 20), break_long_words=False))


def _limits(link: Mapping[str, object]) -> str:
    """Name what decided speed, width and payload size of a link; what decided several is named once.

    An end is named only where it can do less than the other. What lies between the ends is named with the
    time of one way.
    """
    decided: dict[str, list[str]] = {}
    for what in ("generation", "width", "mps"):
        by = str(link.get(f"{what}_limited_by") or "")
        if by in ("", "both ends"):
            continue
        decided.setdefault(by.removesuffix(".mps_supported"), []).append("MPS" if what == "mps" else what)
    words = [f"{', '.join(what)}: {by}" for by, what in decided.items()]
    through = link.get("through")
    if isinstance(through, list) and through:
        words.append(f"{link['one_way']} one way, through {', '.join(through)}")
    return "; ".join(words)


def _of_role(rows: Iterable[ExplainedParameter], *, choices: bool) -> list[_Component]:
    """Put the rows of each component together, in the order of the file."""
    components: dict[str, list[ExplainedParameter]] = {}
    for row in rows:
        if (row["role"] == "choice") == choices:
            components.setdefault(_owner(row["path"]), []).append(row)
    return [
        _Component(
            name,
            tuple(
                (
                    row["path"].removeprefix(f"{name}."),
                    row["value"],
                    row["provenance"],
                    origin(row, with_place=False) if row["fitted_on"] else row["source"],
                )
                for row in own
            ),
            tuple(_short(row["place"]) for row in own),
        )
        for name, own in components.items()
    ]


def _owner(path: str) -> str:
    """Return the component, the slot of one or the workload that a path is about."""
    first, _, rest = path.partition(".")
    if rest.startswith(("slots.", "ports.")) and rest.count(".") > 1:
        return ".".join(path.split(".", maxsplit=3)[:3])
    return f"workload.{rest.partition('.')[0]}" if first == "workload" else first


def _section(title: str, note: str, components: Sequence[_Component], width: int) -> Iterator[str]:
    if not components:
        return
    yield from _titled(title, note)
    alike: dict[Hashable, list[_Component]] = {}
    for component in components:
        alike.setdefault(component.without_its_name, []).append(component)
    rows = [row for group in alike.values() for row in group[0].rows]
    key = min(max(len(row[0]) for row in rows), _WIDEST_KEY)
    room = width - key - _PROVENANCE - 6
    value = min(max(len(row[1]) for row in rows), _WIDEST_VALUE, max(room, _NARROWEST_VALUE))
    told: list[_Component] = []
    for group in alike.values():
        first, name = group[0], together([component.name for component in group])
        unlike = ((above, at) for above in told if (at := first.unlike(above)) is not None)
        above, chosen = next(unlike, (None, range(len(first.rows))))
        yield f"{name}, as {above.name} but for" if above else name
        if not above:
            told.append(first)
        for (path, shown, provenance, source), place in ((first.rows[at], first.places[at]) for at in chosen):
            left = f"  {path:{key}}  {shown:{value}}  {provenance:{_PROVENANCE}}"
            words = "; ".join(text for text in (source, place) if text and text not in (_QUIET, "default"))
            if len(left.rstrip()) > width:
                # A value that is too long stands below its name, as a source does.
                yield f"  {path:{key}}  {provenance}"
                yield from _below(shown, width)
                yield from _below(words, width)
                continue
            yield from _beside(left, words, width)
        yield ""


def _short(place: str | None) -> str:
    """Return a place without the folders before the name of its file."""
    return (place or "").rpartition("/")[2]


def provenance(name: str | None) -> Text:
    """Write a provenance, coloured by how much trust it deserves."""
    return Text(name or style.DASH, style=_STYLES.get(name or "", ""))


def origin(row: Mapping[str, object], *, with_place: bool) -> str:
    """Write a parameter's source, the cells it was fitted on, and the place in a file that set it."""
    fitted_on = row["fitted_on"]
    pieces = [str(row["source"] or "")]
    if isinstance(fitted_on, list) and fitted_on:
        pieces.append("fitted on " + ", ".join(map(str, fitted_on)))
    if with_place:
        pieces.append(_short(str(row["place"] or "")))
    return "; ".join(piece for piece in pieces if piece)
