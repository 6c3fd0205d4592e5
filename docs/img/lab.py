# /// script
# dependencies = ["pillow"]
# ///
"""Puts the pictures of the lab together that `web/pictures/lab.ts` has taken: `make pictures` does both.

    .venv/bin/python docs/img/lab.py FOLDER    writes docs/img/lab.webp, which moves, and docs/img/lab.png

Browsers and pages of repositories show WebP, and a GIF is several times as large. Needs Pillow, which nothing
else here does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
MOST_BYTES = 500_000
"""What `.ci/no-large-files` allows."""


def main(folder: Path) -> None:
    """Write both pictures. Exits with a message when the one that moves is too large."""
    frames = json.loads((folder / "frames.json").read_text(encoding="utf-8"))
    pictures = [Image.open(folder / frame["file"]).convert("RGB") for frame in frames]
    moving = HERE / "lab.webp"
    # The best quality that fits: how much a page shows differs from version to version.
    for quality in (75, 65, 55, 45):
        pictures[0].save(
            moving,
            save_all=True,
            append_images=pictures[1:],
            duration=[frame["ms"] for frame in frames],
            loop=0,
            quality=quality,
            method=5,
            # A whole picture now and then: differences alone leave shadows where a picture has become empty.
            kmin=9,
            kmax=17,
        )
        if moving.stat().st_size <= MOST_BYTES:
            break
    still = HERE / "lab.png"
    # A page has few colours: a palette is a third of the size, and looks the same.
    Image.open(folder / "still.png").convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        still, optimize=True
    )
    for path in (moving, still):
        print(f"{path.relative_to(HERE.parents[1])}: {path.stat().st_size / 1e3:.0f} kB")
    if moving.stat().st_size > MOST_BYTES:
        sys.exit(
            f"{moving} has more than {MOST_BYTES / 1e3:.0f} kB: take fewer pictures in web/pictures/lab.ts"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
