"""The lab in the browser, as one file of HTML that needs neither a server nor a network.

`make lab` builds it into ``target/lab`` of a checkout; a wheel that was built with it has it in
``lanewise/data/lab``. Python, which reads machines in the page, lies in a folder beside it, packed, with its
checksums.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from lanewise.data import MissingDataError, checkout
from lanewise.files import refuse_folder, write_whole

FILE = "lanewise-lab.html"
PYTHON = "pyodide"
"""Folder with Python: Pyodide, and the part of this package that reads machines."""
_FIRST_PART = '<script type="application/octet-stream" id="lanewise-wasm">'
"""What else the file carries begins here."""


def folder() -> Path | None:
    """Return the folder of the lab: as one file, and as a page with its parts. None when it was not built."""
    root = checkout()
    places = [root / "target" / "lab"] if root is not None else []
    places.append(Path(__file__).resolve().parent / "data" / "lab")
    return next((place for place in places if (place / FILE).is_file()), None)


def page() -> Path:
    """Return the file of the lab. Raises `MissingDataError` when it was not built."""
    place = folder()
    if place is not None:
        return place / FILE
    root = checkout()
    if root is not None:
        raise MissingDataError(f"the lab is not built yet: 'make lab' in '{root}' builds it")
    raise MissingDataError("this installation of Lanewise has no lab: 'make lab' in a checkout builds it")


def page_with_diagnosis() -> bytes:
    """Return the file of the lab with Python inside, in base64: some 10 MB.

    Raises `MissingDataError` when the lab was not built, or was built without Python.
    """
    file = page()
    folder = file.parent / PYTHON
    if not (folder / "contents.json").is_file():
        raise MissingDataError(
            f"there is no diagnosis beside '{file}': 'make lab' in a checkout builds the lab with it"
        )
    contents = json.loads((folder / "contents.json").read_text(encoding="utf-8"))
    kind = '<script type="application/octet-stream"'
    elements = "".join(
        f'{kind} data-python="{each["name"]}">{_base64(folder, each)}</script>\n' for each in contents
    )
    # Licences go where the software goes.
    licences = (folder / "LICENSES.txt").read_text(encoding="utf-8").replace("-->", "-- >")
    whole = file.read_text(encoding="utf-8").replace(_FIRST_PART, elements + _FIRST_PART, 1)
    return f"{whole}\n<!--\n{licences}\n-->\n".encode()


def _base64(folder: Path, packed: dict[str, str]) -> str:
    content = (folder / packed["file"]).read_bytes()
    checksum = base64.b64encode(hashlib.sha256(content).digest()).decode()
    if packed["integrity"] != f"sha256-{checksum}":
        raise MissingDataError(
            f"'{folder / packed['file']}' is not what was built: 'make lab' in a checkout builds it again"
        )
    return base64.b64encode(content).decode()


def write_page(to: str | Path, *, diagnosis: bool = False) -> Path:
    """Write the lab to a file, or replace it, and return which; with `diagnosis`, it reads machines, too.

    Raises `MissingDataError` when it was not built, and `NotWrittenError` when the file cannot be written.
    """
    target = Path(to)
    refuse_folder(target)
    return write_whole(target, page_with_diagnosis() if diagnosis else page().read_bytes())
