"""The reference page of the rules is current."""

from __future__ import annotations

import re
from pathlib import Path

from lanewise.health.doctor.examination import rules
from lanewise.health.doctor.files import file_rules
from lanewise.health.doctor.reference import page

FIELDS = Path(__file__).parents[3] / "docs" / "reference" / "doctor-fields.md"
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "doctor-rules.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make generate"


def test_every_rule_says_everything() -> None:
    for rule in (*rules(), *file_rules()):
        for text in (rule.id, rule.what, rule.why, rule.severity, rule.cost, rule.fix):
            assert text
        assert rule.references
        assert rule.what.endswith(".")
        assert rule.fix.endswith(".")


def test_the_page_of_fields_names_rules_that_exist() -> None:
    ids = {rule.id for rule in rules()}
    rows = [line for line in FIELDS.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    named = {
        word for row in rows for word in re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", row.split(" | ")[-1])
    }
    assert len(named) > 40
    assert named <= ids, sorted(named - ids)
