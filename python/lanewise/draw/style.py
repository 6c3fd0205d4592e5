"""Colours and strokes of pictures of topologies, light and dark.

Plain rules without variables: what turns SVG into PNG knows none. All names begin with ``lw-``, because a
picture within a page shares its rules with it. No state is told by colour alone: each has a stroke or words
of its own.
"""

from __future__ import annotations

_FONT = (
    '.lw-topology{font-family:"Liberation Sans","Helvetica Neue",Helvetica,Arial,"Noto Sans",sans-serif;'
    "font-size:10.5px}"
)
_SHAPES = """
.lw-topology .lw-title{font-size:16px;font-weight:bold}
.lw-topology .lw-head{font-size:12px;font-weight:bold}
.lw-topology .lw-badge{font-weight:bold}
.lw-topology path,.lw-topology line{fill:none;stroke-linecap:butt}
.lw-topology .lw-box{stroke-width:1.2}
.lw-topology .lw-box-empty,.lw-topology .lw-box-more{stroke-dasharray:4 3}
.lw-topology .lw-stack{stroke-width:1.2}
.lw-topology .lw-asleep{stroke-dasharray:2 3}
.lw-topology .lw-down{stroke-dasharray:9 5}
.lw-topology .lw-empty{stroke-dasharray:2 5}
.lw-topology .lw-unknown{stroke-dasharray:14 2.5}
.lw-topology .lw-part{stroke-width:1.2}
"""

_BOXES = ("host", "switch", "gpu", "network", "storage", "device", "empty", "more")
_LINKS = ("up", "below", "asleep", "down", "empty", "inside", "unknown", "wire", "part")
USES = (0.01, 0.25, 0.5, 0.75, 0.95)
"""Shares of the time in use from which a link has the next colour."""


def _colours(
    page: str,
    ink: tuple[str, str],
    fills: tuple[str, ...],
    edges: tuple[str, ...],
    links: tuple[str, ...],
    uses: tuple[str, ...],
    words: dict[str, str],
) -> str:
    """Return the rules of one theme; `words` are the colours of words about links that need a look."""
    rules = [
        f".lw-topology .lw-page{{fill:{page}}}",
        f".lw-topology text{{fill:{ink[0]}}}",
        f".lw-topology .lw-dim{{fill:{ink[1]}}}",
        f".lw-topology .lw-badge{{fill:{page}}}",
        f".lw-topology .lw-pill{{fill:{ink[1]}}}",
    ]
    for name, fill, edge in zip(_BOXES, fills, edges, strict=True):
        rules.append(f".lw-topology .lw-box-{name}{{fill:{fill};stroke:{edge}}}")
        rules.append(f".lw-topology .lw-stack-{name}{{stroke:{edge}}}")
    rules += [f".lw-topology .lw-{name}{{stroke:{link}}}" for name, link in zip(_LINKS, links, strict=True)]
    rules += [f".lw-topology .lw-use-{number}{{stroke:{use}}}" for number, use in enumerate(uses)]
    rules += [f".lw-topology .lw-say-{name}{{fill:{colour}}}" for name, colour in words.items()]
    return "\n".join(rules)


LIGHT = _colours(
    "#ffffff",
    ("#1b2733", "#566573"),
    ("#e4ebf2", "#ece5f4", "#e3f1e2", "#fdeedb", "#e0f0f4", "#f4f5f7", "#ffffff", "#ffffff"),
    ("#6f8499", "#8a74a8", "#5d9459", "#c08a3e", "#4b93a5", "#8c97a3", "#a7b1bb", "#a7b1bb"),
    ("#6f8499", "#d07708", "#2f86b0", "#c0302c", "#b4bdc6", "#b4bdc6", "#8c97a3", "#4b93a5", "#b4bdc6"),
    ("#c3ccd5", "#8fb8de", "#4a86c5", "#e0a32e", "#dd6b20", "#b91c1c"),
    {"below": "#9a5200", "down": "#b0201c", "asleep": "#1f6c92"},
)
DARK = _colours(
    "#14191f",
    ("#e8edf2", "#a2b0bd"),
    ("#243140", "#2f2740", "#1f3322", "#3a2c18", "#18333b", "#242b33", "#14191f", "#14191f"),
    ("#7f97ae", "#9a86bd", "#6cab68", "#cf9a4c", "#58a7ba", "#8b98a5", "#5d6a77", "#5d6a77"),
    ("#8fa4b8", "#f0993a", "#58b4de", "#f2645f", "#5d6a77", "#5d6a77", "#8b98a5", "#58a7ba", "#5d6a77"),
    ("#46525e", "#5c8fbd", "#6db1f2", "#ecc04d", "#f59042", "#ff6b63"),
    {"below": "#ffb85c", "down": "#ff8b85", "asleep": "#83cbee"},
)


def rules(theme: str) -> str:
    """Return the style sheet: ``light``, ``dark``, or ``auto`` for what the reader's screen prefers."""
    shapes = _FONT + _SHAPES
    if theme == "auto":
        return f"{shapes}{LIGHT}\n@media (prefers-color-scheme:dark){{\n{DARK}\n}}\n"
    return f"{shapes}{DARK if theme == 'dark' else LIGHT}\n"
