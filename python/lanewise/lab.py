"""The lab in the browser, as one file of HTML that needs neither a server nor a network.

`make lab` builds it into ``target/lab`` of a checkout; a wheel that was built with it has it in
``lanewise/data/lab``.
"""

from __future__ import annotations

from pathlib import Path

from lanewise.data import MissingDataError, checkout
from lanewise.files import refuse_folder, write_whole

FILE = "lanewise-lab.html"


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


def write_page(to: str | Path) -> Path:
    """Write the lab to a file, or replace it, and return which.

    Raises `MissingDataError` when it was not built, and `NotWrittenError` when the file cannot be written.
    """
    target = Path(to)
    refuse_folder(target)
    return write_whole(target, page().read_bytes())
