"""Rigs by name: each has a page, and its picture is what is drawn today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lanewise
from lanewise.examples import examples

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "rigs").glob("*.md"))
NEW = re.compile(r"^lanewise new (\w+)$", re.MULTILINE)
PICTURES = sorted((ROOT / "docs" / "img").glob("rig-*.svg"))
SECTIONS = ("Where it is from", "What is assumed", "What it reaches", "How near to measurements")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_where_its_rigs_are_from_and_what_they_reach(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == list(SECTIONS)
    rigs = NEW.findall(text)
    assert rigs, "a page says how to start from its rig"
    for rig in rigs:
        assert rig in examples(), rig
        assert f"scenarios/{rig}.toml" in text, f"{page.name} runs {rig}"


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_a_picture_is_what_is_drawn_today(picture: Path) -> None:
    rig = picture.stem.removeprefix("rig-").replace("-", "_")
    drawn = lanewise.picture(ROOT / "scenarios" / f"{rig}.toml").svg()
    assert picture.read_text(encoding="utf-8").strip() == drawn.strip(), (
        f"lanewise draw scenarios/{rig}.toml --out docs/img/{picture.name}"
    )
