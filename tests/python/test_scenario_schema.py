"""The JSON Schema for editors agrees with the reader: no spelling that is read is underlined."""

from __future__ import annotations

import itertools
import json
import tomllib
from typing import Any

import jsonschema
import pytest

from lanewise import _core

RIG = """\
[host.server]
slots = {{ slot1 = {slot} }}
{host}
[endpoint.card]
attach = "server.slot1"
generation = {generation}
width = {width}
{card}
"""
PLAIN = {"slot": '"gen4 x16"', "host": "", "generation": '"gen4"', "width": '"x4"', "card": ""}

NUMBERS = ("8", "08", "+8", "-8", "0.5", ".5", "8.", "1_000", "_8", "8e2", "8E+2", "1.2.3", "")
UNITS = {
    "time": ("ps", "ns", "us", "µs", "μs", "ms", "s", "NS", "min", ""),
    "bytes": ("B", "KB", "kB", "KiB", "MiB", "Gb", "b", "kiB", "KIB", ""),
    "rate": ("B/s", "MB/s", "GiB/s", "Gb/s", "gb/s", "Gbps", ""),
    "fraction": ("%", " %", "", "per cent"),
}
BARE = (
    "8",
    "4",
    "16",
    "0",
    "-1",
    "+4",
    "0x10",
    "1_0",
    "8.0",
    ".5",
    "0.25",
    "1e-3",
    "true",
    "false",
    "[]",
    "[1]",
    "{}",
)
GENERATIONS = ("gen4", "Gen4", "GEN4", "gen 4", " gen4 ", "gen04", "gen+4", "gen9", "gen4.0", "4", "pcie4")
WIDTHS = ("x4", "X4", " x4 ", "x04", "x+4", "x3", "x 4", "4", "4x")

QUANTITIES = {
    "host server.memory_latency": "time",
    "host server.memory_bandwidth": "rate",
    "endpoint card.retry_buffer": "bytes",
    "endpoint card.mps_supported": "bytes",
    "endpoint card.link.bit_error_rate_upstream": "fraction",
}
WORDS = {
    "endpoint card.generation": GENERATIONS,
    "endpoint card.width": WIDTHS,
    "endpoint card.link.force_width": (*WIDTHS, "none", "None"),
    "endpoint card.tags": ("auto", "8"),
    "endpoint card.ecrc": ("true", "on"),
    "endpoint card.tag_width": ("auto", "8 bits", "8"),
    "endpoint card.credits.posted_header": ("infinite", "auto", "64"),
    "host server.errors.poisoned": (),
    "host server.shared_outbound_queue": ("none", "8"),
    "host server.slots.slot1": [f"{a}{b}{c}" for a in GENERATIONS for b in (" ", "") for c in WIDTHS],
}


def spellings(path: str) -> list[str]:
    """TOML values that somebody may write for a parameter, right and wrong ones."""
    if path in QUANTITIES:
        pairs = itertools.product(NUMBERS, ("", " "), UNITS[QUANTITIES[path]])
        texts = ["".join(pair) for pair in pairs]
    else:
        texts = list(WORDS[path])
    plain = [json.dumps(text, ensure_ascii=False) for text in texts] + list(BARE)
    with_provenance = [f'{{ value = {value}, provenance = "assumed", source = "me" }}' for value in plain[:3]]
    return [*plain, *with_provenance]


def scenario(path: str, value: str) -> str:
    kind, _, dotted = path.partition(" ")
    keys = dotted.split(".")[1:]
    if keys == ["slots", "slot1"]:
        return RIG.format(**PLAIN | {"slot": value})
    if keys[0] in ("generation", "width"):
        return RIG.format(**PLAIN | {keys[0]: value})
    return RIG.format(**PLAIN | {"host" if kind == "host" else "card": f"{'.'.join(keys)} = {value}"})


def reader_accepts(text: str) -> bool:
    try:
        _core.explain("rig.toml", source=text)
    except _core.ScenarioError:
        return False
    return True


@pytest.fixture(scope="module")
def validator() -> Any:
    return jsonschema.Draft202012Validator(json.loads(_core.scenario_schema()))


@pytest.mark.parametrize("path", [*QUANTITIES, *WORDS])
def test_every_spelling_that_is_read_is_in_the_schema(path: str, validator: Any) -> None:
    accepted = 0
    for value in spellings(path):
        text = scenario(path, value)
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        if reader_accepts(text):
            accepted += 1
            errors = [error.message for error in validator.iter_errors(document)]
            assert not errors, f"{path} = {value}: {errors}"
    assert accepted >= 2, "the spellings do not try what they are for"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("endpoint card.width", '"x3"'),
        ("endpoint card.width", "3"),
        ("endpoint card.generation", "8"),
        ("endpoint card.generation", '"PCIe 4.0"'),
        ("host server.memory_latency", "150"),
        ("host server.memory_latency", '"150 MB"'),
        ("host server.memory_bandwidth", '"8 Gbps"'),
        ("endpoint card.retry_buffer", '"4 kib"'),
        ("endpoint card.ecrc", '"yes"'),
        ("endpoint card.tags", '"8"'),
        ("host server.slots.slot1", '"x4 gen4"'),
    ],
)
def test_what_the_reader_refuses_for_its_form_the_schema_refuses(
    path: str, value: str, validator: Any
) -> None:
    text = scenario(path, value)
    assert not reader_accepts(text)
    assert not validator.is_valid(tomllib.loads(text))
