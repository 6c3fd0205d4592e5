"""`lanewise._core` of a page: what reading, checking and predicting machines asks of the core.

The page puts this file into the place of ``_core.py``, and gives a module ``lanewise_simulator`` whose `ask`
takes a verb and a request and returns an answer, both JSON: those of `lanewise._core.Door`. Leaves out what
pages do themselves (sessions, traces) and what takes files (``run`` of a path, jobs of fio).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from lanewise_simulator import ask  # type: ignore[import-not-found]  # the page makes it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.documents import Mistake

_WRONG_INPUT = 2
"""Status of an answer that is about the input; 3 is ours."""


class InputError(Exception):
    """Wrong input; the text says what was found, what is allowed, and what to do about it."""


class ScenarioError(InputError):
    """A scenario cannot be used. ``str()`` is the report for a person, with lines and hints."""

    diagnostics: list[Mistake]


def run(
    path: str, overrides: Sequence[tuple[str, str]] = (), progress: None = None, source: str | None = None
) -> str:
    """Simulate the scenario `source`; messages call it `path`. Raises ScenarioError."""
    del progress
    return _of_scenario("run", path, overrides, source)


def explain(path: str, overrides: Sequence[tuple[str, str]] = (), source: str | None = None) -> str:
    """Resolve the scenario `source` without running it; messages call it `path`. Raises ScenarioError."""
    return _of_scenario("explain", path, overrides, source)


def parts() -> str:
    """List the catalog."""
    return _text("parts", None)


def scenario_schema() -> str:
    """Return the JSON Schema of scenario files."""
    return _text("scenario_schema", None)


def ladder(*, generation: int, lanes: int, payload_bytes: int, header_dwords: int, ecrc: bool) -> str:
    """Return the rungs of a link that sends memory writes back to back; ValueError for one that none is."""
    link: dict[str, object] = {
        "generation": generation,
        "lanes": lanes,
        "payload_bytes": payload_bytes,
        "header_dwords": header_dwords,
        "ecrc": ecrc,
    }
    return _rates("ladder", link)


def frames_carried(frame_bytes: int) -> float:
    """Return the part of a wire's bytes that Ethernet frames of one size are; ValueError where none is."""
    return _carried({"kind": "frames", "frame_bytes": frame_bytes})


def writes_carried(size_bytes: int, *, mtu_bytes: int, infiniband: bool) -> float:
    """Return the part of a wire's bytes that is payload of RDMA writes; ValueError for odd sizes."""
    kind = "infiniband_writes" if infiniband else "roce_writes"
    return _carried({"kind": kind, "size_bytes": size_bytes, "mtu_bytes": mtu_bytes})


def _carried(packets: dict[str, object]) -> float:
    return float(json.loads(_rates("wire", packets))["fraction"])


def _rates(verb: str, request: dict[str, object]) -> str:
    """Return an answer of the rate model; ValueError for what it refuses."""
    try:
        return _text(verb, request)
    except InputError as error:
        raise ValueError(str(error)) from None


def _of_scenario(verb: str, path: str, overrides: Sequence[tuple[str, str]], source: str | None) -> str:
    if source is None:
        raise InputError(f"'{path}' is a file, and a page has no files")
    return _text(verb, {"scenario": source, "path": path, "overrides": list(overrides)})


def _text(verb: str, request: object) -> str:
    """Return an answer; raise what it says is wrong."""
    answer = cast("str", ask(verb, "" if request is None else json.dumps(request)))
    if not answer.startswith('{"format":1,"status":'):
        return answer
    document = json.loads(answer)
    said = "\n".join(each["message"] for each in document["errors"])
    if document["status"] != _WRONG_INPUT:
        raise RuntimeError(said)
    if "report" not in document:
        raise InputError(said)
    error = ScenarioError(document["report"])
    error.diagnostics = document["errors"]
    raise error


VERSION: str = json.loads(_text("version", None))["lanewise_version"]
