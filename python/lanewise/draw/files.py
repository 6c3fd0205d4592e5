"""Pictures as files: SVG as it is, PNG with the extra ``report``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.extras import need
from lanewise.files import refuse_folder, write_whole

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = (".svg", ".png")
_SIZE = re.compile(r' width="(\d+)" height="(\d+)"')
_SHARP = 2.0
"""Pixels of a PNG for each of CSS, so that it is sharp in print."""
_MOST_PIXELS = 40e6
"""Of a whole PNG, which is 160 MB of memory: larger pictures are less sharp."""


def check_place(path: Path) -> None:
    """Raise InputError where no picture can be written, before one is drawn: suffix, folder, packages."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"a picture is a file that ends with {' or '.join(SUFFIXES)}; found '{path}'")
    if suffix == ".png":
        need("report", "a picture as PNG")
    refuse_folder(path)


def save(svg: str, path: Path) -> Path:
    """Write a picture, whole or not at all; a PNG is light, as it does not know on what it is seen."""
    check_place(path)
    return write_whole(path, svg if path.suffix.lower() == ".svg" else png(svg))


def png(svg: str) -> bytes:
    """Return a picture as PNG, twice as large as on a page, or so large that it stays below 40 megapixels."""
    import vl_convert

    found = _SIZE.search(svg)
    pixels = int(found[1]) * int(found[2]) if found else 1
    sharp = min(_SHARP, (_MOST_PIXELS / max(pixels, 1)) ** 0.5)
    return bytes(vl_convert.svg_to_png(svg, scale=sharp))
