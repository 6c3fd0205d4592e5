"""Remarks of a table: a letter in the row, the sentence once, below."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from fake_core import FakeCore
from test_experiment import EXPECTED

from lanewise.cli.tables.style import Remarks

NOISE = """
    [[cell]]
    id = "noise {number}"
    published = 7
    verdict = "N"
    role = "excluded"
    note = "one reading of a noisy tool"
"""


def test_a_remark_has_one_letter_however_often_it_is_made() -> None:
    remarks = Remarks()
    assert [remarks.mark(text) for text in ("cold", "", "warm", "cold")] == ["a", "", "b", "a"]
    assert remarks.are_any


def test_letters_do_not_run_out() -> None:
    remarks = Remarks()
    marks = [remarks.mark(str(number)) for number in range(54)]
    assert marks[25:28] == ["z", "aa", "ab"]
    assert marks[52:] == ["ba", "bb"]


def test_a_reason_that_cells_share_is_printed_once(
    tmp_path: Path, core: FakeCore, lanewise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    before, fit, cells = EXPECTED.partition("    [[fit]]")
    assert fit
    calm = before + cells[cells.index("    [[cell]]") :].replace('fits = ["drive rate"]', "")
    calm = calm.replace('"calibrated"', '"predicted"')
    (tmp_path / "expected.toml").write_text(
        dedent(calm) + "".join(dedent(NOISE.format(number=number)) for number in range(3))
    )
    for name in ("direct.toml", "switch.toml"):
        (tmp_path / name).write_text("")
    done = lanewise("reproduce", str(tmp_path), "--no-report")
    printed = done.stdout
    assert printed, done.stderr
    assert printed.count("one reading of a noisy tool") == 1
    assert printed.count("N        a\n") == 4
    assert "\na  one reading of a noisy tool\n" in printed
