"""Reports of runs: what is in them is what the results say, whatever the names in them are."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import documents
import pytest
from fake_core import FakeCore
from markdown_it import MarkdownIt

import lanewise as package
from lanewise.comparison import compare_runs
from lanewise.files import NotWrittenError
from lanewise.report import writing
from lanewise.report.measurement_part import Measured
from lanewise.report.sources import read
from lanewise.results import RunResult, WhyResult
from lanewise.rungs import RUNGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    CommandLine = Callable[..., Result]

HOSTILE = 'a <script>alert("x")</script> & | `b` *c* _d_ [e](http://f) \n# g'


class Page(HTMLParser):
    """Tables as texts, identifiers, links, and what would be fetched or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.tags: list[str] = []
        self.headings: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.tags.append(tag)
        self.ids += [value for name, value in found.items() if name == "id" and value]
        self.targets += [
            value for name, value in found.items() if name in ("href", "src", "xlink:href") and value
        ]
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag in ("h1", "h2", "h3"):
            self.headings.append("")
        if tag in ("td", "th", "h1", "h2", "h3", "dd", "p"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and tag == self.open[-1]:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        said = data.replace("\N{NO-BREAK SPACE}", " ")
        self.text += said
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += said
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings[-1] += said

    def table(self, *headings: str) -> list[list[str]]:
        """Return the rows of the first table that begins with these headings."""
        return next(
            rows[1:]
            for rows in self.tables
            if [name.strip() for name in rows[0]][: len(headings)] == [*headings]
        )


@pytest.fixture(scope="module")
def switch() -> WhyResult:
    return package.why("scenarios/switch.toml", sensitivity=True)


@pytest.fixture(scope="module")
def html(switch: WhyResult) -> str:
    return writing.text_of([("switch", switch)], as_markdown=False)


def hostile_run() -> RunResult:
    document = documents.run_document()
    document["title"] = HOSTILE
    for flow in document["flows"]:
        flow["name"] += HOSTILE
        flow["device"] = HOSTILE
    for link in document["links"]:
        link["name"] += HOSTILE
    document["assumptions"][0]["source"] = HOSTILE
    document["limited_by"] = {
        "name": HOSTILE,
        "kind": "wire",
        "flow_class": None,
        "share": 0.5,
        "in_use": True,
        "alike": [HOSTILE],
        "places": [{"component": HOSTILE, "direction": "upstream"}] * 2,
        "of_goodput": 0.5,
        "seen_as": None,
        "sentence": HOSTILE,
        "edits": [
            {"what": HOSTILE, "settings": [{"path": HOSTILE, "before": HOSTILE, "after": HOSTILE}]},
        ],
    }
    return RunResult(document, (("sw0.latency", HOSTILE),), f"# {HOSTILE}\n```\n</pre>")


def test_a_page_needs_nothing_else_and_leads_somewhere(html: str) -> None:
    page = Page(html)
    assert page.headings[0] == "Two Gen3 x4 cards behind one switch"
    assert page.tags.count("h1") == 1
    assert "script" not in page.tags
    assert len(page.ids) == len(set(page.ids))
    assert page.targets
    assert all(target.removeprefix("#") in page.ids for target in page.targets)
    assert not re.search(r"@import|url\((?!#)", html)
    assert page.tags.count("svg") >= 7
    for heading in ("In short", "Topology", "Throughput", "Latency", "Limited by", "Efficiency ladder"):
        assert heading in page.headings
    for heading in ("Where the time went", "Shared resources", "What it rests on", "What was run"):
        assert heading in page.headings
    assert "[switch.sw0]" in page.text, "the scenario as it was written"


def test_numbers_are_those_of_json(switch: WhyResult, html: str) -> None:
    document: Any = json.loads(switch.to_json())
    page = Page(html)
    flows = {row[0]: row for row in page.table("flow", "device", "direction")}
    for flow in document["flows"]:
        row = flows[flow["name"]]
        assert row[3] == f"{flow['goodput_gb_per_s']:.3f}"
        assert row[4] == f"{flow['goodput_mib_per_s']:,.1f}"
        assert row[6] == f"{flow['operations_per_s']:,.0f}"
    latencies = page.table("flow", "of one")
    assert [row[-1] for row in latencies] == ["3,622", "453", "7,176", "448"]
    assert latencies[0][5] == f"{document['flows'][0]['latency_ns']['p50'] / 1e3:.2f}"
    links = {(row[0], row[3]): row for row in page.table("link", "mode")}
    for link in document["links"]:
        for direction in ("upstream", "downstream"):
            ladder = link[direction]["ladder"]
            assert links[link["name"], direction][4:] == [
                *(f"{ladder[rung]:.3f}" for rung in RUNGS),
                f"{100 * link[direction]['utilisation']:.1f} %",
            ]
    brings = page.table("ten times larger")
    assert [row[0] for row in brings] == [each["what"] for each in document["why"]["larger"]]
    assert brings[0][-1] == f"{document['why']['larger'][0]['gain_percent']:+.1f} %"
    assert document["limited_by"]["name"] in page.text
    assert document["fingerprint"] in page.text
    assert document["why"]["sentence"] in page.text


def test_a_page_answers_three_questions(html: str) -> None:
    text = Page(html).text
    asked = re.split(r"What does it give\?|Why not more\?|What would help\?", text)[1:]
    assert "7.210 GB/s of data in all: read0 (read) 3.623, write1 (write) 3.588" in asked[0]
    assert "the wire above card0, downstream (gen3 x4)" in asked[1]
    assert "Also in use all the time: card1 upstream" in asked[1]
    assert re.search(r"Of no use: [^.]*completion credits of sw0\.port0", asked[2])


def test_a_run_without_the_proof_says_how_to_get_it() -> None:
    text = writing.text_of([("", package.run("scenarios/switch.toml"))], as_markdown=True)
    assert "With --why" in text
    assert "None was varied; with --sensitivity" in text


def test_a_run_without_the_proof_says_what_to_try_and_that_helps() -> None:
    text = Page(writing.text_of([("", package.run("scenarios/switch.toml"))], as_markdown=False)).text
    told = re.search(r"To try the first: lanewise whatif FILE (.*)", text)
    assert told is not None
    tried = dict(setting.split("=", 1) for setting in shlex.split(told[1].split("\n")[0]))
    assert tried
    assert (package.whatif("scenarios/switch.toml", tried).goodput_ratio or 0) > 1.1


def test_latencies_are_cumulated_from_all_samples(switch: WhyResult, html: str) -> None:
    said = [unescape(text) for text in re.findall(r"<title>([^<]*samples: [^<]*)</title>", html)]
    of_read = [text for text in said if text.startswith("read0 (read): 3,622 samples")]
    assert of_read[-1].startswith("read0 (read): 3,622 samples: 100.0 % took at most 36.17 us")
    counts = switch.latencies.filter(flow="read0", counted="requests")["count"]
    shares = [f"{100 * part / 3622:.1f} %" for part in counts.cum_sum()]
    assert [re.search(r"[\d.]+ %", text)[0] for text in of_read] == shares  # type: ignore[index]


def test_what_a_run_rests_on_is_what_whatif_finds(switch: WhyResult) -> None:
    assert switch.rests_on is not None
    effects = {effect.paths[0]: effect for effect in switch.rests_on.effects}
    smaller = effects["server.completion_combine"]
    assert smaller.provenance == "published"
    changed = package.whatif("scenarios/switch.toml", {"server.completion_combine": smaller.lower.value})
    assert changed.goodput_ratio is not None
    assert smaller.lower.goodput_percent == pytest.approx(100 * (changed.goodput_ratio - 1))
    assert smaller.lower.goodput_percent < -1
    assert smaller.higher.size == 0
    # Nothing that was varied is one of them without moving anything; what does nothing is not listed.
    assert all(effect.size >= 1 for effect in effects.values())
    assert "server.memory.banks" not in effects
    assert switch.rests_on.left_out == switch.rests_on.refused == ()
    # Half of 64 B is refused, and twice as much is not; 1.188 is no percentile, and counters at 127.
    assert set(switch.rests_on.one_way) == {
        *("run.latency_percentile", "server.rcb", "server.peer.largest_packet"),
        *(f"server.slots.slot1.credits.{pool}_header" for pool in ("posted", "non_posted")),
        *(f"sw0.ports.port0.credits.{pool}_header" for pool in ("posted", "non_posted", "completion")),
    }


def test_a_search_for_what_matters_is_bounded(switch: WhyResult) -> None:
    from lanewise.experiment.dependence import rests_on

    found = rests_on("scenarios/switch.toml", switch, most_runs=4)
    assert found.runs <= 4
    assert "server.completion_combine" in found.left_out


def test_a_search_that_is_ended_leaves_nothing_out_in_silence(
    switch: WhyResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lanewise.experiment import dependence

    simulate, runs = dependence.simulate, itertools.count()

    def ended_in_its_twenty_first(*arguments: Any) -> RunResult:
        result = simulate(*arguments)
        if next(runs) < 20:
            return result
        return RunResult({**result.document, "end_reason": "Interrupted"}, result.overrides)

    monkeypatch.setattr(dependence, "simulate", ended_in_its_twenty_first)
    found = dependence.rests_on("scenarios/switch.toml", switch)
    assert not found.is_whole
    known = {path for effect in found.effects for path in effect.paths} | set(found.left_out)
    assert switch.rests_on is not None
    assert known >= {path for effect in switch.rests_on.effects for path in effect.paths}


def test_hostile_names_stay_text() -> None:
    run = hostile_run()
    for subject in (run, compare_runs(run, run, names=(HOSTILE, "b"))):
        page = Page(writing.text_of([(HOSTILE, subject)], as_markdown=False))
        assert "script" not in page.tags
        assert "http://f" not in page.targets
        assert 'alert("x")' in page.text
    for text in (
        writing.text_of([("", run)], as_markdown=True),
        writing.text_of([(HOSTILE, compare_runs(run, run, names=(HOSTILE, "b")))], as_markdown=True),
    ):
        rendered = MarkdownIt("commonmark").enable("table").render(text)
        page = Page(rendered)
        assert set(page.tags) <= {
            *("h1", "h2", "h3", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"),
            *("pre", "code", "details", "summary"),
        }
        assert page.targets == []
        assert "g" not in [heading.strip() for heading in page.headings]


def test_markdown_renders_with_the_same_tables(switch: WhyResult) -> None:
    text = writing.text_of([("", switch)], as_markdown=True)
    page = Page(MarkdownIt("commonmark").enable("table").render(text))
    html = Page(writing.text_of([("", switch)], as_markdown=False))
    assert page.headings[0] == html.headings[0]
    assert len(page.tables) == len(html.tables) > 6
    for ours, theirs in zip(page.tables, html.tables, strict=True):
        assert [[cell.strip() for cell in row] for row in ours] == [
            [cell.strip() for cell in row] for row in theirs
        ]


def test_two_runs_are_compared(tmp_path: Path) -> None:
    run = package.run("scenarios/switch.toml", out=tmp_path / "as-is")
    package.run("scenarios/switch.toml", overrides={"card0.link.force_width": "x2"}, out=tmp_path / "narrow")
    text = writing.text_of(read([tmp_path / "as-is", tmp_path / "narrow"]), as_markdown=False)
    page = Page(text)
    moved = page.table("metric", "of")
    sizes = [abs(float(row[-1]) - 1) for row in moved]
    assert moved[0][:2] == ["latency, p50", "read0 (read)"]
    assert max(sizes) == pytest.approx(1.0, abs=0.01)
    document: Any = json.loads(package.compare(tmp_path / "as-is", tmp_path / "narrow").to_json())
    totals = {row["quantity"]: row for row in document["totals"]}
    (goodput,) = [row for row in moved if row[:2] == ["goodput", "all data"]]
    rate = totals["goodput_gb_per_s"]
    assert goodput[2:] == [f"{rate['a']:.3f}", f"{rate['b']:.3f}", "GB/s", f"{rate['ratio']:.3f}"]
    assert page.table("link", "A", "B") == [["card0", "gen3 x4, MPS 256 B", "gen3 x2, MPS 256 B"]]
    assert "card0.link.force_width is as written in A, x2 in B" in page.text
    assert document["b"]["limited_by"] in page.text
    titles = re.findall(r"<title>([^<]*)</title>", text)
    assert any(said.startswith("read0 (read), A: 3,622 samples: ") for said in titles)
    assert any(said.startswith("read0 (read), B: ") for said in titles)
    assert run.title in page.headings[0]
    assert page.tags.count("details") >= 2


def test_the_kept_folder_has_the_scenario_and_its_time(tmp_path: Path) -> None:
    package.run("scenarios/switch.toml", out=tmp_path / "run")
    ((_, run),) = read([tmp_path / "run"])
    assert isinstance(run, RunResult)
    assert run.scenario_text == Path("scenarios/switch.toml").read_text(encoding="utf-8")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", run.made or "")
    (tmp_path / "run" / "scenario.toml").unlink()
    ((_, older),) = read([tmp_path / "run"])
    text = writing.text_of([("", older)], as_markdown=False)
    assert "was not kept" in text
    assert "lw-topology" in text, "links alone are drawn, too"


def test_of_more_runs_there_is_a_table_and_a_knee() -> None:
    runs = []
    for width in ("x1", "x2", "x4"):
        result = package.run("scenarios/first_rig.toml", overrides={"nvme0.link.force_width": width})
        runs.append((width, result))
    runs.append(("same", package.run("scenarios/first_rig.toml", overrides={"nvme0.link.force_width": "x4"})))
    page = Page(writing.text_of(runs, as_markdown=False))
    table = page.table("run", "GB/s")
    assert [row[0] for row in table] == [name for name, _ in runs], "labels would not tell the last two apart"
    rates = [result.flows["goodput_gb_per_s"].sum() for _, result in runs]
    assert [row[1] for row in table] == [f"{rate:.3f}" for rate in rates]
    assert table[1][3] == f"{100 * (rates[1] / rates[0] - 1):+.1f} %"
    assert f"The knee is at x4, with {rates[2]:.3f} GB/s" in page.text
    several = Page(writing.text_of(runs[:3], as_markdown=False)).table("run", "GB/s")
    assert several[0][0] == "nvme0.link.force_width=x1"


def test_alike_flows_are_one_row_and_nothing_is_lost() -> None:
    document = documents.run_document()
    (first, _), name = document["flows"], "read disks"
    document["flows"] = [{**first, "name": f"{name}{number}"} for number in range(30)]
    document["goodput_gb_per_s"] = 30 * first["goodput_gb_per_s"]
    page = Page(writing.text_of([("", RunResult(document))], as_markdown=False))
    tables = [rows for rows in page.tables if rows[0][0] == "flow" and rows[0][1] == "device"]
    together, alone = tables
    assert [row[0] for row in together[1:]] == [
        "read disks0\N{EN DASH}29 \N{MULTIPLICATION SIGN}30",
        "all data",
    ]
    assert sorted(row[0] for row in alone[1:]) == sorted(f"{name}{number}" for number in range(30))
    assert together[2][3] == f"{30 * first['goodput_gb_per_s']:.3f}"


def measured() -> dict[str, Any]:
    case = {"bdf": "3b:00.0", "verdict": "host-limited", "binding": "memory", "evidence": [HOSTILE]}
    rates = {"measured_gb_per_s": 5.5, "predicted_gb_per_s": 6.875, "ratio": 0.8}
    return {
        "tool": "fio",
        "source": "fio.json",
        "machine": HOSTILE,
        "notes": [],
        "cases": [{"name": "seq-read", **case, **rates}],
    }


def test_measurements_stand_beside_what_was_possible(tmp_path: Path) -> None:
    file = tmp_path / "judged.json"
    file.write_text(json.dumps({"format": 1, "results": [measured()]}))
    ((_, found),) = read([file])
    assert isinstance(found, Measured)
    page = Page(writing.text_of([("", found)], as_markdown=False))
    assert page.table("case", "where")[0][:6] == [
        "seq-read",
        "3b:00.0",
        "5.500",
        "6.875",
        "80 %",
        "host-limited",
    ]
    assert "script" not in page.tags
    run = package.run("scenarios/switch.toml")
    both = Page(writing.text_of([("", run), ("", found)], as_markdown=False))
    assert {"Throughput", "Measured beside possible"} <= set(both.headings)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "neither a run folder nor JSON"),
        ("[1]", "not a JSON object"),
        ('{"format": 2, "flows": [], "links": []}', "has format 2, and this version reads format 1"),
        ('{"flows": 3, "links": []}', "damaged run"),
        ('{"answer": 42}', "neither a run nor a measurement"),
        ('{"results": [{"tool": "fio", "cases": [{}]}]}', "damaged measurement"),
        ("[" * 100_000, "neither a run folder nor JSON"),
        ("[host.server]\nslots = {}\n", "is a scenario: .* 'run --report' makes its report"),
    ],
)
def test_what_is_no_run_is_one_error(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "what.json"
    file.write_text(content)
    with pytest.raises(package.InputError, match=said):
        read([file])


def test_a_damaged_or_newer_folder_is_one_error(tmp_path: Path, lanewise: CommandLine) -> None:
    for name in ("damaged", "newer"):
        package.run("scenarios/first_rig.toml", out=tmp_path / name)
    results = tmp_path / "damaged" / "results.json"
    document = json.loads(results.read_text())
    document["limited_by"] = {"sentence": "nobody knows"}
    results.write_text(json.dumps(document))
    manifest = tmp_path / "newer" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 1', '"format": 2', 1))
    for name, said in (("damaged", "damaged run"), ("newer", "has layout 2")):
        outcome = lanewise("report", tmp_path / name, "--out", tmp_path / "page.html")
        assert outcome.exit_code == 2
        assert said in outcome.stderr
        assert len(outcome.stderr.splitlines()) == 1
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["page.pdf", "folder", "file/page.html", "page"])
def test_a_place_that_cannot_be_written_is_said_before_the_run(
    core: FakeCore, lanewise: CommandLine, tmp_path: Path, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    place = tmp_path / (f"{name}.html" if name == "folder" else name)
    if name == "folder":
        place.mkdir()
    for verb in (("run", "switch"), ("run", "switch", "--why"), ("compare", "switch", "direct")):
        outcome = lanewise(*verb, "--report", place)
        assert outcome.exit_code == 2
        assert str(place) in outcome.stderr
    assert core.asked == []


def test_verbs_write_reports_and_print_the_same_as_without(lanewise: CommandLine, tmp_path: Path) -> None:
    page, text = tmp_path / "new" / "run.html", tmp_path / "run.md"
    plain = lanewise("run", "scenarios/switch.toml")
    for place in (page, text):
        outcome = lanewise("run", "scenarios/switch.toml", "--report", place)
        assert outcome.exit_code == 0
        assert outcome.stdout == plain.stdout
        assert outcome.stderr == f"report: {place}\n"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert text.read_text(encoding="utf-8").startswith("# Two Gen3 x4 cards behind one switch\n")
    kept = lanewise("run", "scenarios/switch.toml", "--out", tmp_path / "kept")
    assert kept.exit_code == 0
    outcome = lanewise("report", tmp_path / "kept", "--out", page, "--json")
    assert json.loads(outcome.stdout) == {"format": 1, "file": str(page), "runs": [str(tmp_path / "kept")]}
    narrow = ("card0.link.force_width=x2", "--report", tmp_path / "whatif.md")
    assert lanewise("whatif", "scenarios/switch.toml", *narrow).exit_code == 0
    assert "B gives 25.1 % less data than A" in (tmp_path / "whatif.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "new", "run.md", "whatif.md"]


def test_a_report_takes_the_place_of_a_file_only_where_it_is_named(
    lanewise: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --out a file of the default name stays as it is."""
    package.run("scenarios/first_rig.toml", out=tmp_path / "kept")
    monkeypatch.chdir(tmp_path)
    assert lanewise("report", "kept").stderr == "report: run-report.html\n"
    page = tmp_path / "run-report.html"
    page.write_text("of another run")
    outcome = lanewise("report", "kept")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: 'run-report.html' exists, and is left as it is; --out names")
    assert page.read_text() == "of another run"
    assert lanewise("report", "kept", "--out", "run-report.html").exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_report_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("before")
    run = RunResult(documents.run_document())

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(NotWrittenError, match="No space left"):
        package.write_report(run, out=page)
    assert page.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_in_python_there_are_runs_comparisons_and_folders(tmp_path: Path) -> None:
    run = RunResult(documents.run_document())
    other = RunResult(documents.run_document(with_switch=False))
    out = tmp_path / "page.md"
    assert package.write_report(run, other, out=out) == out
    assert "compared" in out.read_text().splitlines()[0]
    package.write_report(compare_runs(run, other, names=("a", "b")), out=out)
    assert "compared" in out.read_text().splitlines()[0]
    package.write_report(run, run, run, out=out)
    assert out.read_text().startswith("# 3 runs\n")
    with pytest.raises(package.InputError, match="nothing to report on"):
        package.write_report(out=out)
    with pytest.raises(package.InputError, match="not 3"):
        package.write_report(3, out=out)  # type: ignore[arg-type]


@pytest.mark.parametrize("end_reason", ["Stalled", "Interrupted", "TimeLimit"])
def test_a_run_that_did_not_converge_says_so(end_reason: str) -> None:
    document = documents.run_document(end_reason=end_reason)
    text = writing.text_of([("", RunResult(document))], as_markdown=True)
    assert {"Stalled": "STALLED", "Interrupted": "Interrupted", "TimeLimit": "Stopped at the time limit"}[
        end_reason
    ] in text
    if end_reason == "Stalled":
        assert "hba0 waits for posted credits of sw0.port1" in text


def test_a_run_without_anything_is_reported_on() -> None:
    document = documents.run_document()
    for name in ("flows", "links", "requesters", "buffers", "errors", "instruments", "assumptions"):
        document[name] = []
    run = RunResult(document)
    for as_markdown in (True, False):
        assert "Nothing moved." in writing.text_of([("", run)], as_markdown=as_markdown)
        writing.text_of([("", run), ("", run), ("", run)], as_markdown=as_markdown)
        writing.text_of([("", run), ("", RunResult(documents.run_document()))], as_markdown=as_markdown)
