"""Where the dumps are: our own, captured under QEMU, and a folder of real machines when there is one."""

from __future__ import annotations

import os
from pathlib import Path

DUMPS = Path(__file__).with_name("dumps")
REPOSITORY = Path(__file__).parents[3]


def corpus_folder() -> Path | None:
    """Return the folder of real dumps: LANEWISE_CORPUS, or one beside the checkout."""
    named = os.environ.get("LANEWISE_CORPUS")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "corpus"
    return folder if (folder / "INDEX.md").is_file() else None


def corpus_files(*kinds: str) -> list[Path]:
    """List the dumps of some kinds, or of all; none without the folder."""
    folder = corpus_folder()
    if folder is None:
        return []
    files = (path for path in folder.glob("*/*") if path.is_file())
    return sorted(
        path for path in files if path.parent.name != "measured" and path.parent.name in (kinds or path.parts)
    )
