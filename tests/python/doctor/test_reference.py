"""The reference page of the rules is current."""

from __future__ import annotations

from pathlib import Path

from lanewise.doctor.examination import rules
from lanewise.doctor.files import file_rules
from lanewise.doctor.reference import page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "doctor-rules.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run: python -m lanewise.doctor.reference {PAGE}"


def test_every_rule_says_everything() -> None:
    for rule in (*rules(), *file_rules()):
        for text in (rule.id, rule.what, rule.why, rule.severity, rule.cost, rule.fix):
            assert text
        assert rule.references
        assert rule.what.endswith(".")
        assert rule.fix.endswith(".")
