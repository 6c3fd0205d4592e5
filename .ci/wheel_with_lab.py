"""Puts the built lab into a wheel, as ``lanewise/data/lab``.

    python .ci/wheel_with_lab.py FOLDER WHEEL

FOLDER is what ``make lab`` builds. The wheel is rewritten in place: its files stay, and its list of files
(``RECORD``; PyPA specification "Recording installed projects") gets those of the lab. A page is not compiled,
so no build of the core depends on it, and an installation in a checkout never has an old one.
"""

from __future__ import annotations

import csv
import hashlib
import io
import sys
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path

PLACE = "lanewise/data/lab/"
NEEDED = ("lanewise-lab.html", "index.html", "THIRD-PARTY-LICENSES-PAGE.txt")
"""One file for `lanewise lab`, the page for `lanewise serve`, and what has to go where the page goes."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every file: the same lab gives the same wheel. An archive knows no earlier one."""


def put(folder: Path, wheel: Path) -> None:
    """Add the files of a folder to a wheel. Exits with a message when a needed one is missing."""
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        sys.exit(f"'{folder}' is no lab: it has no {', '.join(missing)}; 'make lab' builds one")
    files = {f"{PLACE}{file.relative_to(folder).as_posix()}": file for file in sorted(folder.rglob("*"))}
    lab = {name: file.read_bytes() for name, file in files.items() if file.is_file()}
    beside = wheel.with_name(f"{wheel.name}.part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as new:
        (record,) = (name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        rows = [row for row in csv.reader(io.StringIO(old.read(record).decode())) if not _is_of_lab(row[0])]
        for info in old.infolist():
            if info.filename != record and not _is_of_lab(info.filename):
                new.writestr(info, old.read(info), compresslevel=9)
        for name, content in lab.items():
            new.writestr(_described(name), content, compresslevel=9)
            digest = urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            rows.insert(-1, [name, f"sha256={digest}", str(len(content))])
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        # Last, as the specification of wheels recommends for all of `.dist-info`.
        new.writestr(_described(record), text.getvalue().encode(), compresslevel=9)
    beside.replace(wheel)


def _is_of_lab(name: str) -> bool:
    return name.startswith(PLACE)


def _described(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o100644 << 16
    return info


if __name__ == "__main__":
    put(Path(sys.argv[1]), Path(sys.argv[2]))
