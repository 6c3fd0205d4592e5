"""Files that are written in one step, and what is written to but no file."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from lanewise.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_stays_a_link_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    page = tmp_path / "elsewhere" / "page.html"
    for target in (page, tmp_path / "elsewhere" / "new.html"):
        page.write_text("old")
        link = tmp_path / f"to-{target.name}"
        link.symlink_to(target)
        write_whole(link, "new")
        assert link.is_symlink()
        assert target.read_text() == "new"
    assert sorted(path.name for path in tmp_path.rglob("*.html")) == [
        "new.html",
        "page.html",
        "to-new.html",
        "to-page.html",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "page")
    assert os.read(reader, 10) == b"page"
    os.close(reader)
    assert pipe.is_fifo()
