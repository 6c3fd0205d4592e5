"""Pages of the repository as pages of the site.

The generator of the site reads another dialect of Markdown than the repository's (CommonMark with tables),
and its pages lie elsewhere. Links are changed to where things are on the site; a file of the repository that
a page links to is put on the site, too, as a page that shows it. Whether a built page has all that its source
has is for `alike` to check.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import lab
from places import ELSEWHERE, FILES, LINK, ROOT, SiteError, pages, place_of, target_of

FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,})(?P<info>[^`\n]*)$")
CODE_SPAN = re.compile(r"(`+)(?:(?!\1).)+?\1(?!`)", re.DOTALL)
ITEM = re.compile(r"^(?P<indent> *)(?:[-*+]|\d{1,9}[.)])(?P<space> +)(?=\S)")
TAG = re.compile(r"<(?!!--|https?:)")
"""What could begin a tag: pages have none."""
MOST_SHOWN = 40_000
"""Bytes of a file that is shown in a page; a larger one is there as it is."""
IMAGES = {".svg", ".png", ".webp", ".gif"}
KINDS = {
    ".toml": "toml",
    ".json": "json",
    ".yml": "yaml",
    ".yaml": "yaml",
    ".sh": "sh",
    ".py": "python",
    ".rs": "rust",
}


def write_pages(to: Path, *, has_lab: bool) -> None:
    """Write every page and what it shows into a folder. Raises `SiteError` with all that is wrong."""
    wrong: list[str] = []
    files: set[str] = set()
    for page, place in pages().items():
        try:
            _write(to / place, page_text(page, place, files, has_lab=has_lab))
        except SiteError as error:
            wrong.append(str(error))
    for image in (ROOT / "docs/img").iterdir():
        if image.suffix in IMAGES:
            _copy(image, to / "img" / image.name)
    for file in sorted(files):
        data = (ROOT / file).read_bytes()
        if len(data) <= MOST_SHOWN:
            _write(to / FILES / f"{file}.md", _shown(file, data.decode()))
        else:
            _copy(ROOT / file, to / FILES / file)
    if wrong:
        raise SiteError("\n".join(wrong))


def page_text(page: str, place: str, files: set[str], *, has_lab: bool) -> str:
    """Return the text of a page for the site; adds to `files` those of the repository that it links to."""
    text = (ROOT / page).read_text(encoding="utf-8")
    up = "../" * place.count("/")
    out: list[str] = []
    prose: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        fence = FENCE.match(line)
        if fence is None:
            prose.append(line)
            continue
        out += _prose(page, place, prose, files)
        prose = []
        body = []
        for inner in lines:
            if inner.strip() == fence["marks"]:
                break
            body.append(inner)
        out += _fenced(fence, body, up if has_lab else None)
    result = "\n".join([*out, *_prose(page, place, prose, files)]) + "\n"
    framed = lab.with_frames(page, result, lab.rigs_of(text), up, is_built=has_lab)
    # The lab has room for its text beside its picture where there is no list of headings.
    return f"---\nhide: [toc]\n---\n{framed}" if framed != result else framed


def _fenced(fence: re.Match[str], body: list[str], up: str | None) -> list[str]:
    """Return a block of code; a rig has a link into the lab below it where `up` says how to get there."""
    kind, _, name = fence["info"].strip().partition(" ")
    info = f'{kind} title="{name}"' if name else kind or "text"
    block = [f"{fence['indent']}{fence['marks']} {info}", *body, f"{fence['indent']}{fence['marks']}"]
    rig = "\n".join(body) + "\n"
    if up is not None and kind == "toml" and not fence["indent"] and lab.is_rig(rig):
        link = lab.link_of(rig, name.rpartition("/")[2] or "rig.toml")
        if link is not None:
            block += [
                "",
                f'<p class="in-lab"><a href="{up}{lab.PAGE}{link}" target="_blank">Open in the lab</a></p>',
                "",
            ]
    return block


def _prose(page: str, place: str, lines: list[str], files: set[str]) -> list[str]:
    """Return lines between blocks of code, with links and lists as the site needs them."""
    text = "\n".join(_lists(lines))
    pieces, at = [], 0
    for span in CODE_SPAN.finditer(text):
        # Within code in a table, a bar needs no mark there.
        pieces += [_relinked(page, place, text[at : span.start()], files), span[0].replace("\\|", "|")]
        at = span.end()
    return [*"".join([*pieces, _relinked(page, place, text[at:], files)]).split("\n")] if lines else []


def _relinked(page: str, place: str, text: str, files: set[str]) -> str:
    def link(match: re.Match[str]) -> str:
        path, mark, anchor = match[1].partition("#")
        if ELSEWHERE.match(match[1]) or not path:
            return match[0]
        target = target_of(page, path)
        there = place_of(target)
        if there is None and target.startswith("docs/img/"):
            there = target.removeprefix("docs/")
        if there is None:
            files.add(target)
            is_shown = (ROOT / target).stat().st_size <= MOST_SHOWN
            there = f"{FILES}/{target}.md" if is_shown else f"{FILES}/{target}"
        return f"]({os.path.relpath(there, Path(place).parent)}{mark}{anchor})"

    return TAG.sub("&lt;", LINK.sub(link, text))


def _lists(lines: list[str]) -> list[str]:
    """Return lines in which a list begins after an empty line, and one within another is indented by four."""
    out: list[str] = []
    levels: list[
        tuple[int, int]
    ] = []  # of each list that is open: where its marks are, and where its text is
    before = ""
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        item = ITEM.match(line)
        if not line.strip():
            out.append(line)
        elif item:
            while levels and indent < levels[-1][1]:
                levels.pop()
            if not levels and before.strip() and not ITEM.match(before) and not before.startswith(" "):
                out.append("")
            out.append(" " * 4 * len(levels) + line.strip())
            levels.append((indent, item.end()))
        else:
            if indent == 0 and not before.strip():
                levels = []
            out.append(" " * 4 * len(levels) + line.strip() if levels and indent else line)
        before = line
    return out


def _shown(file: str, text: str) -> str:
    kind = KINDS.get(Path(file).suffix, "dockerfile" if Path(file).name == "Dockerfile" else "text")
    marks = "`" * max(3, *(len(found) + 1 for found in re.findall(r"`{3,}", text)), 3)
    return f"# {Path(file).name}\n\n`{file}` of the repository.\n\n{marks} {kind}\n{text.rstrip()}\n{marks}\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)
