"""A study in a file: TOML with the scenario, the axes, and all that options of `lanewise sweep` say."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from lanewise.errors import InputError
from lanewise.study.search import Search
from lanewise.study.study import Study, make_study

if TYPE_CHECKING:
    from lanewise.runs.simulator import Scenario
    from lanewise.study.axes import Axis

_OF_SEARCH = ("maximize", "minimize", "subject_to", "trials", "search_seed", "batch")
_KEYS = {"scenario", "over", "seeds", "sample", "metrics", "set", *_OF_SEARCH}


def study_asked(
    scenario: Scenario,
    *,
    over: Sequence[str | Axis],
    seeds: int | Sequence[int] | None,
    sample: str | None,
    metrics: Sequence[str],
    overrides: Sequence[tuple[str, str]],
    search: Search | None = None,
) -> Study:
    """Return the study of a study file, or that of a scenario with what else is asked.

    No seeds are None, or none of several. InputError for a study file that is wrong, and where something is
    asked besides: it says all of it.
    """
    given = None if seeds is None or (not isinstance(seeds, int) and not seeds) else seeds
    if not isinstance(scenario, Mapping) and "\n" not in str(scenario) and os.path.isfile(scenario):
        study = study_of_file(Path(scenario))
        if study is not None:
            if over or given is not None or sample or metrics or overrides or search:
                raise InputError(f"'{scenario}' is a study file, which says all of it: change it there")
            return study
    return make_study(
        scenario,
        over=over,
        seeds=() if given is None else given,
        sample=sample,
        search=search,
        metrics=metrics,
        overrides=overrides,
    )


def study_of_file(path: Path) -> Study | None:
    """Read a study file; None for a TOML file that is none, as a scenario. InputError for a wrong one."""
    from lanewise.inputs import MOST_SCENARIO_BYTES, read_input

    try:
        document = tomllib.loads(read_input(str(path), MOST_SCENARIO_BYTES).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None  # The core says what is wrong with a scenario.
    if "over" not in document and not isinstance(document.get("scenario"), str):
        return None
    unknown = sorted(set(document) - _KEYS)
    if unknown:
        raise InputError(f"'{path}': unknown key '{unknown[0]}'; a study has {', '.join(sorted(_KEYS))}")
    scenario = document.get("scenario")
    if not isinstance(scenario, str):
        raise InputError(f"'{path}' names no scenario: write scenario = \"FILE\"")
    overrides = document.get("set", {})
    if not isinstance(overrides, Mapping):
        raise InputError(f"'{path}': 'set' is a table of paths and values")
    from lanewise.toml import override

    return make_study(
        path.parent / scenario,
        over=_listed(path, document, "over"),
        seeds=_seeds(path, document.get("seeds", [])),
        sample=_text(path, document, "sample"),
        search=_search(path, document),
        metrics=_listed(path, document, "metrics"),
        overrides=tuple((str(key), override(value)) for key, value in overrides.items()),
    )


def _search(path: Path, document: Mapping[str, object]) -> Search | None:
    return Search.of_given(
        _listed(path, document, "maximize"),
        _listed(path, document, "minimize"),
        _listed(path, document, "subject_to"),
        _number(path, document, "trials"),
        _number(path, document, "search_seed"),
        _number(path, document, "batch"),
    )


def _is_whole(found: object) -> TypeGuard[int]:
    return type(found) is int  # True is none.


def _text(path: Path, document: Mapping[str, object], key: str) -> str | None:
    found = document.get(key)
    if found is not None and not isinstance(found, str):
        raise InputError(f"'{path}': '{key}' is a text, like \"lhs:100\"")
    return found


def _listed(path: Path, document: Mapping[str, object], key: str) -> list[str]:
    found = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InputError(f"'{path}': '{key}' is a list of texts")
    return found


def _number(path: Path, document: Mapping[str, object], key: str) -> int | None:
    found = document.get(key)
    if found is not None and not _is_whole(found):
        raise InputError(f"'{path}': '{key}' is a whole number")
    return found


def _seeds(path: Path, found: object) -> int | Sequence[int]:
    if _is_whole(found):
        return found
    if not isinstance(found, list) or not all(map(_is_whole, found)):
        raise InputError(f"'{path}': 'seeds' is how many, or a list of whole numbers")
    return found
