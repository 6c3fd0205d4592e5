"""Changes of the protocol code that no test needs to see are listed as the code is today."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTED = runpy.run_path(str(ROOT / ".ci" / "mutants.py"))["explained"]()


@pytest.mark.parametrize(("file", "function", "change"), sorted(LISTED))
def test_a_listed_line_is_in_its_file(file: str, function: str, change: str) -> None:
    """A row about a line that was changed since explains nothing, and `make mutants` fails for the line."""
    source = (ROOT / file).read_text(encoding="utf-8")
    line = re.sub(r"⟦(.*?) → .*?⟧", r"\1", change)
    assert line != change or change.startswith("→ ")
    assert change.startswith("→ ") or line in {text.strip() for text in source.splitlines()}
    assert re.search(rf"\bfn {function.rsplit('::', 1)[-1]}\b", source)
