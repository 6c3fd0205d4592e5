"""The verb `lab`: the page is opened or written where it was built, and missed in one sentence elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import webbrowser
from typing import TYPE_CHECKING

import pytest

import lanewise.lab

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    CommandLine = Callable[..., Result]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in which the lab was built."""
    folder = tmp_path / "checkout" / "target" / "lab"
    folder.mkdir(parents=True)
    (folder / lanewise.lab.FILE).write_text("<!doctype html><title>Lanewise lab</title>")
    monkeypatch.setattr(lanewise.lab, "checkout", lambda: tmp_path / "checkout")
    return folder / lanewise.lab.FILE


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser was told to open."""
    addresses: list[str] = []

    def opened(address: str) -> bool:
        addresses.append(address)
        return len(addresses) == 1

    monkeypatch.setattr(webbrowser, "open", opened)
    return addresses


def test_the_lab_opens_in_the_browser(lanewise: CommandLine, built: Path, asked: list[str]) -> None:
    done = lanewise("lab")
    assert (done.exit_code, asked) == (0, [built.as_uri()])
    assert done.stdout.startswith(f"{built}: ")
    assert "no browser" in lanewise("lab").stderr


def test_the_lab_is_one_file_anywhere(
    lanewise: CommandLine, built: Path, asked: list[str], tmp_path: Path
) -> None:
    done = lanewise("lab", "--out", tmp_path / "mine.html", "--json")
    assert done.exit_code == 0
    assert (tmp_path / "mine.html").read_bytes() == built.read_bytes()
    said = json.loads(done.stdout)
    assert (said["file"], said["bytes"]) == (str(tmp_path / "mine.html"), built.stat().st_size)
    assert (said["opened"], asked) == (False, [])
    assert lanewise("lab", "--out", tmp_path).exit_code == 2


def test_a_lab_with_diagnosis_has_python_inside(
    lanewise: CommandLine, built: Path, asked: list[str], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.html"
    assert lanewise("lab", "--with-diagnosis").exit_code == 2
    assert "no diagnosis beside" in lanewise("lab", "--with-diagnosis", "--out", mine).stderr
    head, module = "<!doctype html>", '<script type="application/octet-stream" id="lanewise-wasm">AA</script>'
    built.write_text(head + module)
    folder = built.parent / "pyodide"
    folder.mkdir()
    (folder / "lanewise.zip.packed").write_bytes(b"packed")
    integrity = f"sha256-{base64.b64encode(hashlib.sha256(b'packed').digest()).decode()}"
    packed = {"name": "lanewise.zip", "file": "lanewise.zip.packed", "bytes": 6, "integrity": integrity}
    (folder / "contents.json").write_text(json.dumps([packed]))
    (folder / "LICENSES.txt").write_text("Python --> PSF")
    done = lanewise("lab", "--with-diagnosis", "--out", mine, "--json")
    assert (done.exit_code, asked) == (0, [])
    part = '<script type="application/octet-stream" data-python="lanewise.zip">cGFja2Vk</script>\n'
    whole = f"{head}{part}{module}\n<!--\nPython -- > PSF\n-->\n"
    assert mine.read_text() == whole
    assert json.loads(done.stdout)["bytes"] == mine.stat().st_size
    (folder / "lanewise.zip.packed").write_bytes(b"packet")
    refused = lanewise("lab", "--with-diagnosis", "--out", mine)
    assert refused.exit_code == 2
    assert "not what was built" in refused.stderr
    assert mine.read_text() == whole


@pytest.mark.parametrize("checkout", [True, False])
def test_a_lab_that_was_not_built_is_one_error_that_says_how(
    lanewise: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: bool
) -> None:
    monkeypatch.setattr("lanewise.lab.checkout", lambda: tmp_path if checkout else None)
    monkeypatch.setattr("lanewise.lab.__file__", str(tmp_path / "lab.py"))
    done = lanewise("lab", "--out", tmp_path / "mine.html")
    assert done.exit_code == 2
    assert "'make lab'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "mine.html").exists()
