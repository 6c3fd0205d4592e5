"""The page of a reproduction: everything on it, nothing from outside, and nothing half-written."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from textwrap import dedent
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from fake_core import FakeCore

import lanewise as package
from lanewise.files import NotWrittenError
from lanewise.report.page import render, write_report
from lanewise.report.plots import figures, overview
from lanewise.report.rigs import rigs

EXPECTED = """
    id = "TINY"
    title = "One table & its <odd> words"
    source = "A report"
    unit = "MiB/s"
    metric = "sum flows.goodput_mib_per_s"

    [[cell]]
    id = "without/64"
    published = 2400
    verdict = "P"
    role = "predicted"
    band_percent = 3
    scenario = "direct.toml"

    [[cell]]
    id = "with/64"
    published = 1600
    verdict = "P"
    role = "predicted"
    band_percent = 3
    scenario = "switch.toml"

    [[cell]]
    id = "with/512"
    published = 1600
    verdict = "N"
    role = "excluded"
    note = "equals its column's label"
    scenario = "switch.toml"

    [[cell]]
    id = "impact"
    claim = "no meaningful impact"
    unit = "1"
    verdict = "C"
    role = "predicted"
    between = [0.9, 1.1]
    ratio_of = ["with/64", "without/64"]

    [[plot]]
    title = "Throughput over size"
    kind = "lines"
    pattern = "{series}/{x}"
    x = "size (B)"

    [[oddity]]
    where = "table 1"
    what = "the text disagrees with the table"
    reading = "the table"
"""


@pytest.fixture
def reproduction(tmp_path: Path, core: FakeCore) -> Any:
    (tmp_path / "expected.toml").write_text(dedent(EXPECTED))
    (tmp_path / "README.md").write_text(
        "# TINY: a page\n\nHow it **was** measured.\n\n## Readings\n\n| a | b |\n|--|--|\n| 1 | 2 |\n"
    )
    for name in ("direct.toml", "switch.toml"):
        (tmp_path / name).write_text("")
    return package.reproduce(tmp_path)


class _Balance(HTMLParser):
    """Counts tags that are opened and not closed."""

    VOID = ("meta", "br", "hr", "img", "link", "input", "wbr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_says_all_of_it(reproduction: Any) -> None:
    text = render(reproduction)
    for said in (
        "One table &amp; its &lt;odd&gt; words",
        "no meaningful impact",
        "equals its column&#39;s label",
        "the text disagrees with the table",
        "0 of 1</strong>",
        "How it <strong>was</strong> measured.",
        "<h4>Readings</h4>",
        "Throughput over size",
        "assumed",
    ):
        assert said in text, said


def test_every_wide_table_scrolls_by_itself(reproduction: Any) -> None:
    """A table that is wider than the page does not make the whole page scroll sideways."""
    tables = re.findall(r'(.*)<table(?: class="stack[^"]*")?>', render(reproduction))
    assert any("scroll" in before for before in tables)
    assert all(before.endswith('<div class="scroll">') for before in tables)


def test_the_overview_has_errors_in_percent_and_in_points(reproduction: Any) -> None:
    """An experiment whose cells are good does not hide in the overview that its changes are not."""
    only = reproduction.experiments[0]
    change = replace(
        only.cells[0], cell="change", published=10.0, simulated=-2.34, band_percent=None, band_points=3.0
    )
    both = replace(only, cells=(*only.cells, change))
    text = render(replace(reproduction, experiments=(both, only)))
    overview = text[text.index("<h3>Experiments") : text.index("<section")]
    assert re.search(r">[\d.]+ %<br>12\.34 points<", overview)


def test_the_page_is_well_formed_and_needs_nothing_else(reproduction: Any) -> None:
    text = render(reproduction)
    parser = _Balance()
    parser.feed(text)
    assert parser.open == []
    assert re.findall(r"<script.*?>", text) == ["<script>"], "one, and it is on the page"
    assert "default-src 'none'" in text, "a browser would refuse to load anything"
    outside = re.findall(r'(?:src|href)="(?!#)[^"]*"|url\(|@import', text.replace("xlink:href", ""))
    assert outside == []


def test_charts_are_what_their_schema_allows(reproduction: Any) -> None:
    """A page is drawn without that check; figures by themselves are checked, and look the same."""
    only = reproduction.experiments[0]
    bars = replace(only, definition=replace(only.definition, plots=()))
    both = replace(reproduction, experiments=(only, bars))
    alone = [*figures(only), *figures(bars), overview(both.experiments)]
    page = render(both)
    assert len(alone) >= 3
    assert all(figure is not None and figure.svg in page for figure in alone)


def test_figures_are_drawn_in_colours_of_the_page(reproduction: Any) -> None:
    drawings = re.findall(r"<svg.*?</svg>", render(reproduction), re.DOTALL)
    drawings = [drawing for drawing in drawings if "lw-topology" not in drawing]
    assert drawings
    for drawing in drawings:
        ET.fromstring(drawing)
        assert "var(--series-1)" in drawing
        assert "published 2,400, simulated" in drawing


def test_each_arrangement_is_drawn_with_its_ladder(reproduction: Any) -> None:
    text = render(reproduction)
    pictures = [svg for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL) if "lw-topology" in svg]
    assert len(pictures) == 2, "one for each scenario"
    for picture in pictures:
        root = ET.fromstring(picture)
        assert any("GB/s" in (element.text or "") for element in root.iter())
        assert "<style" not in picture
    assert text.count(".lw-topology .lw-head{") == 1, "the page has their styles once"
    ladders = re.findall(r'<dl class="ladder".*?</dl>', text, re.DOTALL)
    assert len(ladders) == 2
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%", ladders[0])]
    assert widths[0] == 100.0
    assert widths == sorted(widths, reverse=True)


def test_an_arrangement_says_what_its_run_changed_and_not_how_that_is_known(reproduction: Any) -> None:
    only = reproduction.experiments[0]
    fitted = '{ value = "1.5 us", provenance = "calibrated", source = "x" }'
    job = replace(
        only.jobs[0], overrides=(("nic.reach", fitted), ("nic.tags", 7), ("nic.odd", "{ no = toml"))
    )
    (rig, *_) = rigs(replace(only, jobs=(job, *only.jobs[1:])))
    assert rig.changed == "nic.reach = 1.5 us, nic.tags = 7, nic.odd = { no = toml"


def test_a_scenario_that_is_gone_is_drawn_from_its_run(reproduction: Any, monkeypatch: Any) -> None:
    def gone(*_: object) -> str:
        raise package.InputError("gone")

    monkeypatch.setattr("lanewise._core.explain", gone)
    assert all("lw-topology" in rig.svg for rig in rigs(reproduction.experiments[0]))


def test_rows_of_narrow_pages_name_their_columns(reproduction: Any) -> None:
    for table in re.findall(r'<table class="stack[^"]*">.*?</table>', render(reproduction), re.DOTALL):
        head, body = table.split("<tbody>")
        names = [re.sub("<.*?>", "", name) for name in re.findall(r"<th[^>]*>(.*?)</th>", head)]
        for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL):
            labels = re.findall(r'<td[^>]*?data-label="([^"]*)"', row)
            assert labels == [name for name in names if name]


def test_every_link_within_the_page_leads_somewhere(reproduction: Any) -> None:
    text = render(reproduction)
    anchors = set(re.findall(r'\bid="([^"]+)"', text))
    script = text[text.index("<script>") :]
    text = text.removesuffix(script)
    assert {*re.findall(r'href="#([^"]+)"', text), *re.findall(r'data-of="([^"]+)"', text)} <= anchors
    assert set(re.findall(r'getElementById\("([^"]+)"\)', script)) <= anchors


def test_large_sizes_are_labelled_in_binary_units(tmp_path: Path, core: FakeCore) -> None:
    text = dedent(EXPECTED).replace("with/512", "with/131072")
    (tmp_path / "expected.toml").write_text(text)
    for name in ("direct.toml", "switch.toml"):
        (tmp_path / name).write_text("")
    page = render(package.reproduce(tmp_path))
    assert ">128 KiB<" in page
    assert ">64 B<" in page
    assert ">size<" in page


def test_a_figure_without_anything_published_does_not_explain_its_marks(
    reproduction: Any, tmp_path: Path
) -> None:
    said = "Dashed with rings: published."
    assert said in render(reproduction)
    text = dedent(EXPECTED).replace('pattern = "{series}/{x}"', 'pattern = "value/{x}"')
    values = [f'[[value]]\nid = "value/{size}"\nscenario = "switch.toml"\n' for size in (64, 512)]
    (tmp_path / "expected.toml").write_text("\n".join([text, *values]))
    page = render(package.reproduce(tmp_path))
    assert "Throughput over size" in page
    assert said not in page


def test_a_report_is_whole_or_not_there(
    reproduction: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out" / "report.html"
    write_report(reproduction, target)
    before = target.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(NotWrittenError, match="No space"):
        write_report(reproduction, target)
    assert target.read_bytes() == before
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]


def test_all_experiments_get_a_report_unless_told_not_to(
    tmp_path: Path, core: FakeCore, lanewise: Any, monkeypatch: pytest.MonkeyPatch, reproduction: Any
) -> None:
    monkeypatch.setattr("lanewise.api._experiments", lambda: {"TINY": tmp_path})
    monkeypatch.chdir(tmp_path)
    result = lanewise("reproduce")
    assert "report: lanewise-report.html" in result.stderr
    assert (tmp_path / "lanewise-report.html").is_file()
    (tmp_path / "lanewise-report.html").unlink()
    lanewise("reproduce", "--no-report")
    lanewise("reproduce", "TINY")
    assert not (tmp_path / "lanewise-report.html").exists()
    lanewise("reproduce", "TINY", "--report", "here.html")
    assert (tmp_path / "here.html").is_file()
