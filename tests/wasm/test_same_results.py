"""The same scenario through Python and through the module in Node gives the same results, bit for bit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from in_node import ROOT, node

import lanewise

SHIPPED = sorted(ROOT.glob("scenarios/*.toml"))
NO_SCENARIOS = ("expected.toml", "fitted.toml", "misses.toml", "sensitivity.toml")
PUBLISHED = [path for path in sorted(ROOT.glob("experiments/*/*.toml")) if path.name not in NO_SCENARIOS]
EVENTS_OF_PUBLISHED = "300000"
BLOCK = re.compile(r"^```toml ?\S*\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


def on_pages() -> Iterator[tuple[str, str]]:
    """Yield the blocks of pages that are scenarios of their own, under the page's name and their number."""
    for page in sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "ARCHITECTURE.md"]):
        for number, block in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8"))):
            # A module in a page reads no files, so no parts that are in one.
            if (
                "[[workload]]" in block["body"]
                and "[host." in block["body"]
                and '.toml"' not in block["body"]
            ):
                yield f"{page.name}:{number}", block["body"]


def requests() -> list[tuple[str, str, dict[str, Any]]]:
    limit = [("run.event_limit", EVENTS_OF_PUBLISHED)]
    return [
        *(("run", path.read_text(encoding="utf-8"), {"path": path.name}) for path in SHIPPED),
        *(
            ("run", path.read_text(encoding="utf-8"), {"path": path.name, "overrides": limit})
            for path in PUBLISHED
        ),
        *(("run", text, {"path": name}) for name, text in on_pages()),
    ]


def native(verb: str, scenario: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what the command line prints for a request."""
    call = {"run": lanewise.run, "explain": lanewise.explain}[verb]
    try:
        result = call(scenario, overrides=options.get("overrides", ()))
    except lanewise.ScenarioError as error:
        return {"format": 1, "status": 2, "errors": error.diagnostics}
    document: dict[str, Any] = json.loads(result.to_json())
    if "scenario_path" in document:
        document["scenario_path"] = options["path"]
    return document


def test_what_is_shipped_runs_in_node_as_in_python() -> None:
    asked = requests()
    with ThreadPoolExecutor(1) as beside:
        in_node = beside.submit(node().answers, asked)
        in_python = [native(*request) for request in asked]
        answers = in_node.result()
    assert len(SHIPPED) >= 20
    assert len(PUBLISHED) >= 20
    fingerprints = set()
    for (_, _, options), answer, expected in zip(asked, answers, in_python, strict=True):
        name = options["path"]
        assert answer.get("fingerprint") == expected.get("fingerprint"), name
        called = json.loads(json.dumps(answer).replace(f'"{name}:', '"<text>:'))
        assert called == expected, name
        fingerprints.add(answer["fingerprint"])
    assert len(fingerprints) >= 50


@pytest.mark.parametrize("path", [ROOT / "scenarios/switch.toml", ROOT / "scenarios/storage.toml"])
def test_what_is_explained_is_the_same(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (answer,) = node().answers([("explain", text, {"path": "<text>"})])
    assert answer == json.loads(lanewise.explain(text).to_json())


def test_mistakes_are_the_same() -> None:
    text = "titel = 'x'\n[host.a]\nslots = 5\n[[workload]]\nkind = 'dma'\n"
    (ran, checked) = node().answers([("run", text, {}), ("check", text, {})])
    with pytest.raises(lanewise.ScenarioError) as raised:
        lanewise.run(text)
    assert ran["errors"] == checked["errors"] == raised.value.diagnostics
    assert ran["report"] == checked["report"] == str(raised.value)
    assert ran["status"] == 2
