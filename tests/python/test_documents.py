"""Every shipped scenario's documents are what the schema says; Python's types are those of the schema."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import pytest
from test_output_schema import SCHEMA, check

import lanewise
from lanewise import _core, documents

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))
SHORT = [("run.event_limit", "40000")]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_what_the_core_says_of_a_shipped_scenario_is_as_the_schema_says(scenario: Path) -> None:
    check("explain", json.loads(_core.explain(str(scenario))))
    check("run", json.loads(_core.run(str(scenario), SHORT)))


@pytest.mark.parametrize("scenario", SCENARIOS[::4], ids=lambda path: path.stem)
def test_the_state_of_a_session_is_as_the_schema_says(scenario: Path) -> None:
    session = lanewise.Session(scenario, overrides=dict(SHORT))
    session.step("20 us")
    check("state", session.state().document)
    check("run", session.results().document)


def test_every_definition_has_its_type_in_python() -> None:
    for name, schema in SCHEMA["$defs"].items():
        made = getattr(documents, "".join(word.capitalize() for word in name.split("_")))
        if "properties" in schema:
            keys = typing.get_type_hints(made, vars(documents))
            assert list(keys) == list(schema["properties"]), name
            assert _required(made) == set(schema.get("required", ())), name


def _required(made: Any) -> set[str]:
    """Return keys that are always there: with annotations as texts, Python itself does not tell."""
    if not made.__total__:
        return set()
    hints = typing.get_type_hints(made, vars(documents), include_extras=True)
    return {key for key, hint in hints.items() if typing.get_origin(hint) is not typing.NotRequired}
