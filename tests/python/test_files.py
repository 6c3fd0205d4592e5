"""Files that are written in one step, and what is written to but no file."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

import lanewise
from lanewise.files import NotWrittenError, whole_file, write_whole


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


CALLS = {
    "exists": (Path, "exists"),
    "realpath": (os.path, "realpath"),
    "mkdir": (Path, "mkdir"),
    "write": (Path, "write_bytes"),
    "rename": (os, "replace"),
}


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("unlink_fails", [False, True])
def test_whichever_call_fails_the_old_file_is_whole_and_the_reason_is_told(
    call: str, error: int, unlink_fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"old")
    owner, name = CALLS[call]
    calls = 0

    def fail(*arguments: object, **_options: object) -> None:
        nonlocal calls
        calls += 1
        if call == "write":  # Half of it is on the disk before it is full.
            with open(str(arguments[0]), "wb") as half:
                half.write(b"n")
        raise OSError(error, os.strerror(error), "somewhere")

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        if unlink_fails:
            patch.setattr(Path, "unlink", fail)
        with pytest.raises(NotWrittenError, match=os.strerror(error)):
            write_whole(path, b"new")
    assert calls >= 1
    assert path.read_bytes() == b"old"
    left = [entry.name for entry in tmp_path.iterdir() if entry != path]
    assert left == [] or (unlink_fails and call in ("write", "rename"))


def test_an_error_about_another_file_is_not_put_down_to_the_one_that_is_written(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"old")
    with pytest.raises(FileNotFoundError) as of_another, whole_file(path):
        (tmp_path / "missing.toml").read_bytes()
    assert of_another.value.filename == str(tmp_path / "missing.toml")
    with pytest.raises(NotWrittenError, match=r"page\.html.*No space"), whole_file(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_temporary_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a trace lie there until the table is made."""
    there = Path.open

    def full(self: Path, mode: str = "r") -> object:
        return there(Path("/dev/full") if self.name == "rows.jsonl" else self, mode)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(NotWrittenError, match=r"rows cannot be written to .*No space.*TMPDIR"):
        lanewise.write_trace("scenarios/switch.toml", tmp_path / "trace.parquet", span="1 us", form="parquet")
    assert not list(tmp_path.iterdir())
