"""The functions of the package: examples in their docstrings run, and what they raise is one family."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import lanewise
from lanewise import api, machine_api, session

ROOT = Path(__file__).parents[2]
DUMP = ROOT / "tests/python/machine/dumps/qemu.vvv"
FUNCTIONS = [name for name in lanewise.__all__ if inspect.isfunction(getattr(lanewise, name))]


@pytest.mark.parametrize("module", [lanewise, api, machine_api, session], ids=lambda module: module.__name__)
def test_examples_in_docstrings_are_true(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert inspect.ismodule(module)
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_says_what_it_raises_or_takes_nothing(name: str) -> None:
    function = getattr(lanewise, name)
    says = inspect.getdoc(function) or ""
    assert re.search(r"Raises\s+`lanewise\.", says) or not inspect.signature(function).parameters


def test_public_names_are_all_there_and_nothing_else_is_listed() -> None:
    assert dir(lanewise) == sorted(lanewise.__all__)
    with pytest.raises(AttributeError, match="no attribute 'sweep_everything'"):
        _ = lanewise.sweep_everything


def test_every_error_of_the_package_is_an_input_error() -> None:
    """An except clause for `lanewise.InputError` catches whatever wrong input can raise."""
    found = set()
    for path in (ROOT / "python/lanewise").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT / "python").with_suffix("").parts).removesuffix(".__init__")
        # The core of a page finds its simulator in a page alone.
        if module == "lanewise.page.core" or module.endswith("__main__"):
            continue
        if "Error(" in path.read_text(encoding="utf-8"):
            members = inspect.getmembers(importlib.import_module(module), inspect.isclass)
            found |= {
                each for _, each in members if issubclass(each, Exception) and "lanewise" in each.__module__
            }
    assert lanewise.ScenarioError in found
    assert len(found) > 5
    assert {each.__name__ for each in found if not issubclass(each, lanewise.InputError)} == set()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"overrides": {"run.seed": None}}, r"the override of 'run.seed' is None, of type NoneType; a path"),
        ({"overrides": {3: "x"}}, r"the override of 3 is 'x'"),
        ({"overrides": "run.seed=7"}, r"overrides are a mapping, or pairs"),
        ({"overrides": None}, r"overrides are a mapping, or pairs"),
        ({"overrides": ["ab"]}, r"an override is a pair .* found 'ab'"),
        ({"overrides": [("a.b", "1", "2")]}, r"an override is a pair"),
        ({"overrides": {"run.seed": "\udcff"}}, r"is not in UTF-8"),
        ({"time_limit": [None]}, r"the override of 'run.time_limit' is \[None\]"),
    ],
)
def test_overrides_of_the_wrong_type_are_told_which_they_are(options: dict[str, Any], says: str) -> None:
    with pytest.raises(lanewise.InputError, match=says):
        lanewise.run("nosuch.toml", **options)


def test_a_scenario_is_a_path_text_or_a_dictionary() -> None:
    for wrong in (None, 3, []):
        with pytest.raises(TypeError):
            lanewise.explain(wrong)  # type: ignore[arg-type]
    for wrong in (b"rig.toml", "rig\udcff.toml"):
        with pytest.raises(lanewise.InputError):
            lanewise.explain(wrong)  # type: ignore[arg-type]


def test_a_benchmark_is_done_at_least_once() -> None:
    with pytest.raises(lanewise.InputError, match="at least once"):
        lanewise.bench("chain", repeat=0)


def test_a_machine_is_scanned_once_for_several_questions() -> None:
    machine = lanewise.scan(DUMP)
    assert machine.function_table.height == len(machine)
    assert machine.link_table.height == len(machine.links)
    assert machine.link_table["now_width"].to_list() == [link.now.width for link in machine.links]
    diagnosis = lanewise.diagnose(machine, cost=False)
    assert diagnosis.table["title"].to_list() == [finding.title for finding in diagnosis.findings]
    prediction = lanewise.predict(machine, devices=["01:00.0"])
    assert prediction.table["binding"].to_list() == [row.binding for row in prediction.rows]


def test_a_change_is_kept_with_the_prediction() -> None:
    prediction = lanewise.predict(DUMP, what_if=["01:00.0 -> gen4 x4"], devices=["01:00.0"])
    assert prediction.changes == ("01:00.0 -> gen4 x4",)
    assert {row.link for row in prediction.rows} == {"gen4 x4"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"what_if": ["01:00.0 -> gen9"]}, "is not a setting"),
        ({"devices": ["7f:00.0"]}, "no function 7f:00.0"),
        ({"devices": ["here"]}, "'here' is not an address"),
    ],
)
def test_wrong_questions_are_refused(wrong: dict[str, list[str]], says: str) -> None:
    with pytest.raises(lanewise.InputError, match=says):
        lanewise.predict(DUMP, **wrong)


def test_a_result_of_a_device_that_the_machine_does_not_have_is_refused() -> None:
    output = ROOT / "tests/python/captured/fio-3.33-two-jobs.json"
    with pytest.raises(lanewise.InputError, match=r"no function 7f:00\.0"):
        lanewise.judge(output, DUMP, device="7f:00.0")
