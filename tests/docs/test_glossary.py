"""The glossary has an entry for each term that the tables of a run use, and one only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lanewise

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs/reference/glossary.md"
ENTRY = re.compile(r"^### (?P<term>[^\n]+)\n\n(?P<text>.+?)(?=\n#|\Z)", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"[.:]\s")


def entries() -> dict[str, str]:
    return {
        match["term"].lower(): match["text"].strip() for match in ENTRY.finditer(GLOSSARY.read_text("utf-8"))
    }


@pytest.fixture(scope="module")
def run() -> lanewise.RunResult:
    return lanewise.run(ROOT / "scenarios/switch.toml")


def words(name: str) -> str:
    return name.removesuffix("_gb_per_s").replace("_", " ")


def test_each_rung_of_the_ladder_has_an_entry(run: lanewise.RunResult) -> None:
    rungs = run.document["links"][0]["upstream"]["ladder"]
    assert rungs
    assert {words(rung) for rung in rungs} | {"in use", "mode", "mps"} <= set(entries())


def test_each_share_of_a_link_has_an_entry(run: lanewise.RunResult) -> None:
    shares = run.document["links"][0]["upstream"]["time_attribution"]
    assert shares
    assert {words(share) for share in shares} <= set(entries())


def test_each_state_of_a_requester_has_an_entry(run: lanewise.RunResult) -> None:
    states = run.document["requesters"][0]["time_attribution"]
    assert states
    assert {words(state) for state in states} <= set(entries())


def test_no_term_stands_twice() -> None:
    headings = re.findall(r"^#+ (.+)$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    slugs = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    assert len(slugs) == len(set(slugs))


@pytest.mark.parametrize("term", entries())
def test_entries_are_short(term: str) -> None:
    definition = re.split(r"\*(?:Seen|Spec)\*:", entries()[term])[0]
    assert 1 <= len(_SENTENCE.findall(definition + " ")) <= 5, definition
