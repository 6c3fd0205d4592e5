"""No regular expression that reads what anybody may have written costs more than its text is long."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

import pytest
from expressions import Expression, Unknown, collect, counts_line_ends_again, growth_of_worst, slowest

from lanewise.health.doctor import loss_words
from lanewise.health.judge import unread, wrapped
from lanewise.machine import adapters, known_parts
from lanewise.machine.sources import driver_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGES = ("machine", "tools", "health", "scenario_text.py", "broken_json.py", "toml.py")


def one_of_each_shape(patterns: Iterable[str]) -> list[str]:
    """Words with gaps between them: how many there are, and whether one is at an end, decides the cost."""
    shapes = {(each.count("}?"), each.startswith("."), each.endswith(".")): each for each in sorted(patterns)}
    return list(shapes.values())


def one_of_each_form(patterns: Iterable[str]) -> list[str]:
    """What is repeated, and whether that is tied to the beginning, decides the cost."""
    forms = {(*re.findall(r"(\\?.)[*+{]", each), each.startswith("^")): each for each in sorted(patterns)}
    return list(forms.values())


PUT_TOGETHER = {
    ("adapters", "re.search(pattern, name)"): [pattern for pattern, *_ in adapters._PORTS],
    ("known", "re.search(words, text, re.IGNORECASE)"): one_of_each_form(
        words
        for table in (known_parts.DRIVES, known_parts.SWITCHES, known_parts.HOSTS, known_parts.OTHERS)
        for words in table.values()
    ),
    ("express", "Latency"): [r"Latency (?:L0s? [^,;]{1,40}, )?L1 ([^,;]+)"],
    ("wrapping", "shape"): [r"abc\[[ \t]+\d+\.\d+\][ \t]+ ?"],
    ("matching", "re.escape"): [r"\bnvme0\b"],
    ("driver_lines", "pattern_of"): one_of_each_shape(
        driver_lines.pattern_of(row.message)
        for row in {row for rows in driver_lines.table().values() for row in rows}
        if row.sign != row.message
    ),
    ("kernel_events", "re.escape"): [r"\baacraid \[?([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])"],
    ("loss_words", "re.compile(pattern)"): [pattern.pattern for pattern, _ in loss_words._OF_A_LINE],
    ("unread", "re.compile(sign"): [f"(?m){sign}" for *_, sign in unread._SIGNS],
    ("wrapped", "re.compile(s"): [stamp.pattern for stamp in wrapped._BEFORE_A_LINE],
    ("iometer", "names"): [
        r"(?P<workload>a|b) worker (?P<number>\d{1,9})(?: (?P<disk>.{1,80}))?: Total I/Os per Second"
    ],
}
"""What is put together while the program runs, with examples of it."""
QUADRATIC = 3.0
"""How much more a character may cost in a text twelve times as long: 1 is linear, 12 quadratic."""


@pytest.fixture(scope="module")
def found() -> list[Expression]:
    return collect(*PACKAGES)[0]


@pytest.fixture(scope="module")
def unknown() -> list[Unknown]:
    """What is put together while the program runs."""
    return collect(*PACKAGES)[1]


def examples(each: Unknown) -> list[str]:
    module = each.module.rpartition(".")[2]
    return [
        pattern
        for (name, words), patterns in PUT_TOGETHER.items()
        if name == module and words in each.source
        for pattern in patterns
    ]


def test_all_are_found(found: list[Expression], unknown: list[Unknown]) -> None:
    assert len(found) > 150
    assert {"machine", "tools", "health"} <= {each.module.split(".")[1] for each in found}
    untold = [each for each in unknown if not examples(each)]
    assert not untold, "say in PUT_TOGETHER what these come to"


@pytest.mark.parametrize("package", PACKAGES)
def test_each_costs_as_much_as_its_text_is_long(package: str, found: list[Expression]) -> None:
    checked = [each for each in found if each.module.split(".")[1] == package.removesuffix(".py")]
    assert checked
    slow = []
    for expression in checked:
        growth, text = slowest(expression, 1000, 12)
        if growth > QUADRATIC:
            slow.append(f"{expression}: {growth:.1f} times as much per character for {text}")
    assert not slow, "\n".join(slow)


def test_blank_lines_are_read_once(found: list[Expression]) -> None:
    """A hundred thousand of them took 38 s. Nothing is timed here."""
    assert not [str(each) for each in found if counts_line_ends_again(each)]


@pytest.mark.parametrize(
    ("pattern", "method", "bad"),
    [
        (r"^\s*\[workload", "search", True),
        (r"^\s*+\[workload", "search", True),
        (r"(?m)^\W+x", "finditer", True),
        (r"^\s*\[workload", "match", False),
        (r"^[ \t]*+\[workload", "search", False),
        (r"^\s?x", "search", False),
        (r"\A\s*x", "search", False),
    ],
)
def test_what_reads_blank_lines_again_is_told(pattern: str, method: str, bad: bool) -> None:
    assert counts_line_ends_again(Expression("here", 0, pattern, re.MULTILINE, method)) is bad


def test_those_put_together_too(unknown: list[Unknown]) -> None:
    slow = []
    for each in unknown:
        for pattern in examples(each):
            growth, text = slowest(Expression(each.module, 0, pattern, 0, "search"), 1000, 12)
            if growth > QUADRATIC:
                slow.append(f"{each.module}: {pattern!r}: {growth:.1f} for {text}")
    assert not slow, "\n".join(slow)


IN_GOOD_COMPANY = "|".join(
    ["(?P<first>one|two)", *(f"{n} times" for n in range(50)), r"BAR(?: \[mem[^\]]*\])?: x"]
)
"""Fifty good branches, and a bad one."""


@pytest.mark.parametrize(
    "pattern", [r"^\s*x", r"a*a*b", r"(\w+)\d*@", r"<!--.*?-->", r"a.*b.*c", IN_GOOD_COMPANY]
)
def test_the_measure_finds_bad_ones(pattern: str) -> None:
    growth, _ = slowest(Expression("here", 0, pattern, re.MULTILINE, "search"), 1000, 12)
    assert growth > QUADRATIC, f"growth {growth:.1f} on {sys.version}"


def test_a_machine_that_stalls_is_not_a_slow_expression() -> None:
    """Two measurements of three milliseconds where one takes microseconds, as a busy machine gave them."""
    stalls = iter((0.003, 0.003))

    def run(text: str) -> None:
        end = time.process_time() + (next(stalls, 0.0) if len(text) > 1000 else 0.0)
        while time.process_time() < end:
            pass

    growth, _ = growth_of_worst(run, [("", " \n", "")], 1000, 12)
    assert growth <= QUADRATIC
