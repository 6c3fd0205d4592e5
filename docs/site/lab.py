"""The lab on the site: frames that show it at a rig, and links that open it there.

A page asks for a frame with a comment, ``<!-- lab FILE -->``; FILE is a rig that the page shows in a ``toml``
block of that name, or a file of the repository. With ``closed`` behind it the frame waits until the reader
opens it. Every rig that a page shows in full gets a link. Without a lab there are no links, and in place of
frames stands how to build it.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import zlib
from pathlib import Path

from places import ROOT, SiteError

PAGE = "lab/lanewise-lab.html"
"""Where the lab is on the site."""

FRAME = re.compile(r"^<!-- lab (?P<file>\S+)(?P<closed> closed)? -->$", re.MULTILINE)
IN_PAGES = re.compile(r"^```toml (?P<name>\S+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
LONGEST = 12_000
"""Characters of a link, as in web/src/state/share.ts."""

NOT_BUILT = """\
<div class="lab admonition note" markdown="1">
The lab is not in this build of the site. `make site` puts it in where Rust can compile for WebAssembly
(`rustup target add wasm32-unknown-unknown`); `make lab` and `lanewise lab` open it by itself.
</div>
"""


def link_of(text: str, name: str) -> str | None:
    """Return the part of an address that opens the lab at a scenario; None where it would be too long.

    The form is that of web/src/state/share.ts: a version, and a gzip of JSON in base64url.
    """
    packed = gzip.compress(json.dumps({"text": text, "name": name}).encode(), mtime=0)
    link = f"#lab=1.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"
    return link if len(link) <= LONGEST else None


def opened(fragment: str) -> dict[str, str]:
    """Return what such a part holds. Raises ValueError when it is damaged."""
    version, _, packed = fragment.removeprefix("#").removeprefix("lab=").partition(".")
    if version != "1":
        raise ValueError(f"version {version!r}")
    try:
        state = json.loads(gzip.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))))
        return {"text": state["text"], "name": state["name"]}
    except (OSError, EOFError, zlib.error, KeyError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def is_rig(toml: str) -> bool:
    """Whether a block of TOML is a whole scenario."""
    return bool(
        re.search(r"^\[host\.", toml, re.MULTILINE) and re.search(r"^\[\[workload", toml, re.MULTILINE)
    )


def rigs_of(text: str) -> dict[str, str]:
    """Return the named blocks of TOML of a page."""
    return {match["name"]: match["body"] for match in IN_PAGES.finditer(text)}


def with_frames(page: str, text: str, rigs: dict[str, str], up: str, *, is_built: bool) -> str:
    """Return a page with a frame for each that it asks for; `up` leads from the page to the top of the site.

    Raises `SiteError` for a frame of a rig that is nowhere, or too long for a link.
    """
    shown = 0

    def frame(match: re.Match[str]) -> str:
        nonlocal shown
        name, shown = match["file"], shown + 1
        rig = rigs.get(name) or _file(page, name)
        link = link_of(rig, Path(name).name)
        if link is None:
            raise SiteError(f"{page}: {name} is too long for a link into the lab")
        if not is_built:
            return NOT_BUILT if shown == 1 else ""
        return _frame(up + PAGE + link, Path(name).name, rig, is_closed=bool(match["closed"]))

    return FRAME.sub(frame, text)


def _file(page: str, name: str) -> str:
    if not (ROOT / name).is_file():
        raise SiteError(f"{page}: the lab is to show {name}, which neither the page nor the repository has")
    return (ROOT / name).read_text(encoding="utf-8")


def _frame(address: str, name: str, rig: str, *, is_closed: bool) -> str:
    found = re.search(r'^title = "(.*)"', rig, re.MULTILINE)
    title = html.escape(found[1] if found else name)
    source = "data-src" if is_closed else "src"  # page.js
    more = f'title="The lab: {title}" loading="lazy" allow="clipboard-write"'
    frame = f'<iframe {source}="{address}" {more}></iframe>'
    whole = f'<a href="{address}" target="_blank">Open in a window of its own</a>'
    if is_closed:
        return f'<details class="lab"><summary>Open the lab here</summary>{frame}<p>{whole}</p></details>\n'
    said = f"The lab with <code>{html.escape(name)}</code>: change it, and run it."
    return f'<div class="lab">{frame}<p>{said} {whole}</p></div>\n'
