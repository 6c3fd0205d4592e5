"""Fleet files as text: which line things stand on, what is refused, and all mistakes at once."""

from __future__ import annotations

import contextlib
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.errors import InputError
from lanewise.health.fleet.problem import CODES, FleetFileError
from lanewise.health.fleet.reading import parse_fleet_file, read_fleet_file
from lanewise.health.fleet.toml_lines import line_at, lines_of
from lanewise.health.fleet.values import link_mode, link_text, size_text
from lanewise.machine.model import Address, LinkMode
from lanewise.toml import inline

TEXT = '''\
format = 1  # the only one
unlisted = "report"

[host]
iommu = "on"

[[count]]
count = 2
what = """two
lines # no comment"""
id = ["10de:*", '8086:56c0']  # ] }
link = "gen5 x16"
places = [
    { slot = "2", "at" = "3b:00.0" },  # a comment, with { and ]

    { path = "15:01.0/00.0", numa_node = 1, resizable_bars = { bar1 = "128 GiB" } },
]

[[waiver]]
rule = "link-width"
at = "3b:00.0"
reason = "x8 riser"
until = 2027-01-31
[[waiver]]
rule = "link-speed"
id = "*:*"
reason = "a"
'''


def test_every_place_has_its_line() -> None:
    lines = lines_of(TEXT)
    assert tomllib.loads(TEXT)
    assert {
        ("format",): 1,
        ("host",): 4,
        ("host", "iommu"): 5,
        ("count", 0): 7,
        ("count", 0, "what"): 9,
        ("count", 0, "id"): 11,
        ("count", 0, "places", 0, "at"): 14,
        ("count", 0, "places", 1): 16,
        ("count", 0, "places", 1, "resizable_bars", "bar1"): 16,
        ("waiver", 1, "rule"): 25,
    }.items() <= lines.items()
    assert line_at(lines, ("waiver", 1, "until")) == 24
    assert line_at(lines, ("nothing",)) == 1


values = st.recursive(
    st.booleans() | st.integers() | st.text(st.characters(blacklist_categories=("Cs", "Cc"))),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.from_regex(r"\A[a-z]{1,3}\Z"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.from_regex(r"\A[a-z]{1,4}\Z"), values, max_size=5))
def test_whatever_a_value_is_the_next_key_is_found(table: dict[str, Any]) -> None:
    text = "\n".join(f"{key} = {inline(value)}" for key, value in table.items())
    assert tomllib.loads(text) == table
    lines = lines_of(text)
    assert [lines[key,] for key in table] == list(range(1, len(table) + 1))


def test_a_file_is_read_as_it_is_meant() -> None:
    file = parse_fleet_file(TEXT, "fleet.toml")
    (entry,) = file.counts
    assert (entry.count, entry.who.ids, entry.wanted.link) == (2, ("10de:*", "8086:56c0"), LinkMode(32.0, 16))
    assert entry.wanted.lines == {"link": 12, "count": 8}
    assert entry.spots[0].slot == "2"
    assert entry.spots[0].at == Address.parse("3b:00.0")
    assert entry.spots[1].wanted.settings == {"numa_node": 1, "resizable_bars": (("bar1", 128 << 30),)}
    assert file.report_unlisted
    assert file.waivers[0].until == date(2027, 1, 31)
    assert [waiver.line for waiver in file.waivers] == [19, 24]
    assert file.host.settings == {"iommu": "on"}


def problems(text: str, **options: Any) -> list[tuple[str, int]]:
    with pytest.raises(FleetFileError) as caught:
        parse_fleet_file(text, "fleet.toml", **options)
    return [(problem.code, problem.line) for problem in caught.value.problems]


WRONG = """\
format = 1
unlistd = "report"
unlisted = "maybe"
[host]
iommu = "yes"
[[count]]
count = -1
link = "32 GT/s x17"
mps = 256
places = [{ slot = 1 }, { slot = 1, at = "3b:00" }]
[[count]]
id = "10de"
colour = "green"
[[waiver]]
rule = "link-widht"
reason = " "
until = "soon"
"""


def test_all_mistakes_are_said_at_once_with_their_lines() -> None:
    assert problems(WRONG, rules=["link-width"]) == [
        ("unknown-key", 2),
        ("bad-value", 3),
        ("bad-value", 5),
        ("missing-key", 6),
        ("bad-value", 7),
        ("bad-value", 8),
        ("wrong-type", 9),
        ("bad-value", 10),
        ("too-many-places", 10),
        ("missing-key", 11),
        ("bad-value", 12),
        ("unknown-key", 13),
        ("missing-key", 14),
        ("unknown-rule", 15),
        ("bad-value", 16),
        ("bad-value", 17),
    ]


def test_a_mistake_is_shown_with_its_line_what_is_allowed_and_a_hint() -> None:
    with pytest.raises(InputError) as caught:
        parse_fleet_file(WRONG, "fleet.toml", rules=["link-width"])
    said = str(caught.value)
    assert "'fleet.toml' cannot be used: 16 problems" in said
    assert '8 | link = "32 GT/s x17"' in said
    assert "x1, x2, x4, x8, x16, x32" in said
    assert "did you mean `unlisted`?" in said
    assert "did you mean `link-width`?" in said
    assert "--> fleet.toml:15" in said


@given(st.data())
def test_whatever_is_in_a_file_it_is_read_or_refused(data: st.DataObject) -> None:
    """Lines of files that are right and wrong, in any order, with anything in some of the values."""
    lines = [*TEXT.splitlines(), *WRONG.splitlines()]
    taken = data.draw(st.lists(st.sampled_from(lines), max_size=25))
    value = data.draw(values)
    text = "\n".join(
        f"{line.split('=')[0]}= {inline(value)}" if "=" in line and data.draw(st.booleans()) else line
        for line in taken
    )
    for format_ in ("", "format = 1\n"):
        with contextlib.suppress(FleetFileError):
            parse_fleet_file(format_ + text, "fleet.toml", rules=["link-width"])


def test_two_devices_in_one_place() -> None:
    text = (
        'format = 1\n[[count]]\nid = "10de:*"\ncount = 2\nplaces = [\n{ slot = "1" },\n{ slot = "1" },\n]\n'
    )
    assert problems(text) == [("duplicate-place", 7)]


def test_a_file_of_mistakes_is_shown_in_part() -> None:
    with pytest.raises(FleetFileError) as caught:
        parse_fleet_file("format = 1\n" + "".join(f"x{n} = 1\n" for n in range(60)), "fleet.toml")
    assert len(caught.value.problems) == 60
    assert str(caught.value).count("error[") == 50
    assert str(caught.value).endswith("and 10 more")


def test_a_misspelt_key_is_one_mistake() -> None:
    assert problems('format = 1\n[[count]]\nid = "10de:*"\ncounts = 2\n') == [("unknown-key", 4)]


def test_what_is_no_toml_names_the_line() -> None:
    assert problems("format = 1\n[[count]\n") == [("syntax-error", 2)]
    assert problems("format = 1\nx = [" + "[" * 100_000) == [("syntax-error", 2)]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('[[waiver]]\nrule = "x"\n', "write it as first line"),
        ('[host.server]\npart = "x"\n', "'fleet.toml' is a scenario: 'lanewise run"),
        ("format = 2\n", "update Lanewise"),
        ('format = "1"\n', "write `format = 1`"),
        ("format = true\n", "write `format = 1`"),
    ],
)
def test_an_unknown_format_is_refused_and_nothing_else_is_judged(text: str, hint: str) -> None:
    with pytest.raises(FleetFileError, match="format") as caught:
        parse_fleet_file(text + "what = is\n" if "=" not in text else text, "fleet.toml")
    (problem,) = caught.value.problems
    assert problem.code == "unknown-format"
    assert hint in problem.hint


def test_a_file_of_waivers_expects_nothing() -> None:
    text = 'format = 1\n[[count]]\nid = "10de:*"\ncount = 8\n'
    assert problems(text, only_waivers=True) == [("not-here", 2)]


def test_every_code_is_triggered_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [code for code in CODES if f'"{code}"' not in source] == []


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("32 GT/s x16", LinkMode(32.0, 16)),
        ("gen4 x8", LinkMode(16.0, 8)),
        ("8GT/s, x4", LinkMode(8.0, 4)),
        ("x4", LinkMode(None, 4)),
        ("2.5 GT/s", LinkMode(2.5, None)),
    ],
)
def test_links_are_read_in_the_forms_people_write(text: str, mode: LinkMode) -> None:
    assert link_mode(text) == mode
    assert link_mode(link_text(mode)) == mode


@pytest.mark.parametrize("text", ["", "gen8", "gen0 x1", "7 GT/s", "x3", "fast"])
def test_links_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        link_mode(text)


def test_sizes_have_the_largest_whole_unit() -> None:
    assert [size_text(n) for n in (0, 128, 4096, 128 << 30, 1536)] == [
        "0 B",
        "128 B",
        "4 KiB",
        "128 GiB",
        "1536 B",
    ]


def test_a_file_that_is_not_there_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_fleet_file(tmp_path / "none.toml")


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "fleet-files.md"


def test_the_reference_has_every_key_and_its_example_is_read() -> None:
    from lanewise.health.fleet import reading
    from lanewise.health.fleet.inventory import CLASSES
    from lanewise.health.fleet.settings import HOST_SETTINGS

    page = PAGE.read_text(encoding="utf-8")
    keys = {*reading._TOP, *reading._COUNT, *reading._PLACE, *reading._WAIVER, *HOST_SETTINGS, *CODES}
    assert [key for key in keys if f"`{key}`" not in page and f"[{key}]" not in page] == []
    assert [word for word in CLASSES if f'`"{word}"`' not in page] == []
    example = page.split("```toml\n")[1].split("```")[0]
    assert parse_fleet_file(example, "fleet.toml", rules=["link-width"]).expects
