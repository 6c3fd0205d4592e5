"""Builds the documentation site from the pages of the repository.

    .venv/bin/python docs/site/build.py --out target/site --lab target/lab/lanewise-lab.html

The folder is whole or not there: it is put in place when everything in it leads somewhere, and every page has
what its source has.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import alike
import lab
from links import problems
from pages import write_pages
from places import ROOT, Entry, SiteError, menu, pages
from python_reference import write_reference

HERE = Path(__file__).resolve().parent


def build(out: Path, built_lab: Path | None) -> None:
    """Build the site into a folder, with the lab if there is one. Raises `SiteError` with what is wrong."""
    work = out.parent / f"{out.name}-work"
    shutil.rmtree(work, ignore_errors=True)
    written = work / "pages"
    write_pages(written, has_lab=built_lab is not None)
    reference = write_reference(written)
    (written / "assets").mkdir()
    for name in ("site.css", "iframe-worker.js", "page.js"):
        shutil.copyfile(HERE / name, written / "assets" / name)
    config = (HERE / "zensical.toml").read_text(encoding="utf-8")
    entries = _with_reference(menu(), reference)
    (work / "zensical.toml").write_text(
        config.replace("[project]\n", f"[project]\nnav = {_toml(entries)}\n", 1), encoding="utf-8"
    )
    command = [
        str(Path(sys.executable).with_name("zensical")),
        "build",
        "--strict",
        "--config-file",
        str(work / "zensical.toml"),
    ]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SiteError(done.stdout + done.stderr)
    site = work / "site"
    # Its links are from the top of a server, and where the site will lie is not known.
    (site / "404.html").unlink()
    if built_lab is not None:
        (site / lab.PAGE).parent.mkdir()
        shutil.copyfile(built_lab, site / lab.PAGE)
    wrong = problems(site)
    for page, place in pages().items():
        there = (site / place).with_suffix(".html")
        source = (ROOT / page).read_text(encoding="utf-8")
        said = (
            alike.differences(source, there.read_text(encoding="utf-8"))
            if there.is_file()
            else ["there is no page of it"]
        )
        wrong += [f"{page}: {each}" for each in said]
    if wrong:
        raise SiteError("\n".join(wrong))
    shutil.rmtree(out, ignore_errors=True)
    site.rename(out)
    shutil.rmtree(work)


def _with_reference(entries: list[Entry], reference: dict[str, str]) -> list[Entry]:
    """Return the menu with the generated pages below the page that introduces them."""

    def grown(entry: Any) -> Any:
        match entry:
            case str():
                return entry
            case dict():
                name, below = next(iter(entry.items()))
                if below == "reference/python.md":
                    return {name: [below, *({title: place} for place, title in reference.items())]}
                return {name: below if isinstance(below, str) else [grown(each) for each in below]}

    return [grown(entry) for entry in entries]


def _toml(entry: Entry | list[Entry]) -> str:
    if isinstance(entry, list):
        return f"[{', '.join(_toml(each) for each in entry)}]"
    if isinstance(entry, str):
        return json.dumps(entry, ensure_ascii=False)
    return (
        "{ "
        + ", ".join(
            f"{json.dumps(name, ensure_ascii=False)} = {_toml(below)}" for name, below in entry.items()
        )
        + " }"
    )


def main() -> int:
    """Build, or say what keeps it from being built."""
    parser = argparse.ArgumentParser(description="Builds the documentation site.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lab", type=Path, help="the lab as one file; left out where there is none")
    arguments = parser.parse_args()
    try:
        build(arguments.out.resolve(), arguments.lab if arguments.lab and arguments.lab.is_file() else None)
    except SiteError as error:
        print(f"The site is not built:\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
