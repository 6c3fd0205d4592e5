"""From Python a scenario is a path, text or a dictionary; overrides are numbers; results show themselves."""

from __future__ import annotations

import tomllib
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lanewise
from lanewise import notebook, toml
from lanewise.plotting import MOST_BARS
from lanewise.units import without_unit

ROOT = Path(__file__).resolve().parents[2]
RIG = ROOT / "scenarios" / "switch.toml"
SHORT = {"run.time_limit": "40 us"}


@pytest.fixture(scope="module")
def plain() -> Any:
    return lanewise.run(RIG, overrides=SHORT)


@pytest.fixture(scope="module")
def fewer_tags() -> Any:
    return lanewise.run(RIG, overrides={**SHORT, "card0.tags": 8})


def test_path_text_and_dictionary_are_the_same_scenario(plain: Any) -> None:
    text = RIG.read_text(encoding="utf-8")
    for scenario in (str(RIG), text, tomllib.loads(text)):
        assert lanewise.run(scenario, overrides=SHORT).fingerprint == plain.fingerprint


@pytest.mark.parametrize("verb", [lanewise.explain, lanewise.why])
def test_other_verbs_take_a_dictionary_too(verb: Any) -> None:
    document = tomllib.loads(RIG.read_text(encoding="utf-8"))
    assert verb(document, overrides=SHORT).document["title"] == document["title"]


def test_mistakes_in_a_dictionary_say_where_in_its_text() -> None:
    with pytest.raises(lanewise.ScenarioError, match=r"--> <dictionary>:\d+"):
        lanewise.run({"title": "x", "host": {"server": {"slots": {"slot1": "gen9 x4"}}}})
    with pytest.raises(lanewise.ScenarioError, match=r"--> <text>:2"):
        lanewise.explain('title = "x"\n[hots.server]\n')


@pytest.mark.parametrize("value", [None, {1, 2}, b"x", object()])
def test_what_a_scenario_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(lanewise.InputError, match=r"a scenario has no|null has no meaning"):
        lanewise.explain({"title": value})
    with pytest.raises(lanewise.InputError, match=r"the override of 'card0\.tags' is"):
        lanewise.explain(RIG, overrides={"card0.tags": value})


@pytest.mark.parametrize("verb", [lanewise.explain, lanewise.run, lanewise.why])
def test_a_text_that_is_not_in_utf_8_is_refused(verb: Any) -> None:
    for scenario in ({"title": "\ud800"}, {"\udcff": {}}, "title = '\ud800'\n"):
        with pytest.raises(lanewise.InputError, match="not in UTF-8"):
            verb(scenario)


@pytest.mark.parametrize("path", sorted(ROOT.glob("scenarios/*.toml")) + sorted(ROOT.glob("catalog/*.toml")))
def test_what_is_written_is_read_back(path: Path) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    assert tomllib.loads(toml.document(document)) == document


def test_strange_keys_and_values_are_read_back() -> None:
    document = {
        "a b": '\x7f\n"\\é',
        "t": {"x.y": {"deep": {"er": [1.5e-9, True]}}, "n": -3},
        "e": {},
        "l": [],
    }
    assert tomllib.loads(toml.document(document)) == document


@pytest.mark.parametrize(("given", "says"), [(8, "8"), (8.0, "8"), (True, None), ("8", "8")])
def test_overrides_are_numbers_and_truths(given: object, says: str | None) -> None:
    path = "card0.relaxed_ordering" if says is None else "card0.tags"
    if isinstance(given, float):
        with pytest.raises(lanewise.ScenarioError):
            lanewise.explain(RIG, overrides={path: given})
        return
    rows = lanewise.explain(RIG, overrides={path: given}).parameters
    (value,) = rows.filter(path=path)["value"].to_list()
    assert value == (says or "true")


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    assert [toml.override(numpy.int64(8)), toml.override(numpy.float32(0.5))] == ["8", "0.5"]


def test_sides_of_a_comparison_are_named_by_what_differs(plain: Any, fewer_tags: Any) -> None:
    title = plain.title
    assert lanewise.compare(plain, fewer_tags).names == (title, f"{title} with card0.tags=8")
    assert lanewise.compare(fewer_tags, fewer_tags).names == (title, title)
    assert lanewise.compare(RIG, fewer_tags, overrides_a=SHORT).names == (str(RIG), title)


def test_a_finished_run_is_changed_by_nothing(tmp_path: Path, plain: Any) -> None:
    lanewise.run(RIG, overrides=SHORT, out=tmp_path / "run")
    sides: list[tuple[Any, Any]] = [(RIG, plain), (plain, RIG), (tmp_path / "run", RIG), (plain, plain)]
    for a, b in sides:
        with pytest.raises(lanewise.InputError, match=r"is a finished run(.|\n)*--set-a or --set-b"):
            lanewise.compare(a, b, overrides=SHORT)


def test_a_run_folder_remembers_its_overrides(tmp_path: Path, plain: Any) -> None:
    lanewise.run(RIG, overrides={**SHORT, "card0.tags": 8}, out=tmp_path / "run")
    from lanewise.runs.folder import load_run

    loaded = load_run(tmp_path / "run")
    assert loaded.overrides == (("run.time_limit", "40 us"), ("card0.tags", "8"))
    assert lanewise.compare(plain, loaded).names[1].endswith("with card0.tags=8")


class _Cells(HTMLParser):
    """Collects texts of cells, and checks that tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def texts_of(html: str) -> list[str]:
    parser = _Cells()
    parser.feed(html)
    assert parser.open == []
    return parser.texts


def test_every_result_shows_itself_in_a_notebook(plain: Any, fewer_tags: Any) -> None:
    server = ROOT / "examples" / "gpu-server.txt"
    laptop = ROOT / "examples" / "laptop.txt"
    shown = {
        "goodput, GB/s": plain,
        "goodput after, GB/s": lanewise.why(RIG, overrides=SHORT),
        "provenance": lanewise.explain(RIG),
        "part": lanewise.parts(),
        f"b: {plain.title} with card0.tags=8": lanewise.compare(plain, fewer_tags),
        "severity": lanewise.diagnose(server, cost=False),
        "ceiling, GB/s": lanewise.predict(laptop, together=False),
        "as good as it gets": lanewise.judge(ROOT / "examples" / "laptop-fio.json", laptop),
        "24 links of": lanewise.scan(server),
        "published": lanewise.reproduce("IDT-S1"),
    }
    for words, result in shown.items():
        texts = texts_of(result._repr_html_())
        assert any(text.startswith(words) for text in texts), (words, texts)
    proof = shown["goodput after, GB/s"]
    assert proof.verdict in texts_of(proof._repr_html_())
    assert "With run.time_limit = 40 us, card0.tags = 8" in texts_of(fewer_tags._repr_html_())


def test_texts_are_escaped_and_long_tables_cut() -> None:
    table = pl.DataFrame({"name": ["<script>"] * 25, "latency_ns_p99": [1234567.0] * 25, "n": [None] * 25})
    html = notebook.html("<b>", ["a & b"], [("t", table), ("none", table.clear())])
    assert "<script>" not in html
    texts = texts_of(html)
    assert texts.count("<script>") == notebook.MOST_ROWS
    assert {"latency p99, ns", "1,234,567", "and 5 more; the attribute has them all", "a & b"} <= set(texts)
    assert "none" not in texts


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("goodput_gb_per_s", "goodput"),
        ("latency_ns_p99", "latency_p99"),
        ("utilisation", "utilisation"),
        ("operations_per_s", "operations_per_s"),
        ("flow", "flow"),
    ],
)
def test_headings_name_the_quantity(column: str, words: str) -> None:
    assert without_unit(column) == words


def rows_of(chart: Any) -> list[dict[str, Any]]:
    """Return what a chart draws; Altair puts it beside the drawing, under a name of its own."""
    (rows,) = chart.to_dict()["datasets"].values()
    return list(rows)


def test_pictures_have_the_numbers_of_the_tables(plain: Any, fewer_tags: Any) -> None:
    goodput = [row["value"] for row in rows_of(plain.plot("goodput"))]
    assert goodput == sorted(plain.flows["goodput_gb_per_s"], reverse=True)
    shares: dict[str, float] = {}
    for row in rows_of(plain.plot()):
        shares[row["line"]] = shares.get(row["line"], 0) + row["share"]
    assert set(shares) == {f"{link} {way}" for link, way in plain.links.select("link", "direction").rows()}
    assert all(total == pytest.approx(1) for total in shares.values())
    assert rows_of(plain.plot("ladder"))[0]["value"] == 4.0
    both = lanewise.compare(plain, fewer_tags)
    assert len(rows_of(both.plot())) == 2 * both.flows.height
    with pytest.raises(lanewise.InputError, match="there are 'goodput', 'time' and 'ladder'"):
        plain.plot("noise")


def test_a_picture_of_several_sides_has_the_ratios_that_are_farthest_from_the_first(tmp_path: Path) -> None:
    def output(name: str, factor: float) -> Path:
        """Write an output in which every second size is faster by a factor, the larger ones by more."""
        sizes = [2**place for place in range(30)]
        faster = [1 + factor * place if place % 2 else 1 for place in range(30)]
        lines = [f"{size} {100 * each:.2f}" for size, each in zip(sizes, faster, strict=True)]
        path = tmp_path / name
        path.write_text("\n".join(["# OSU MPI Bandwidth Test v5.3", "# Size  Bandwidth (MB/s)", *lines]))
        return path

    first, *others = (output(f"{name}.txt", factor) for name, factor in [("a", 0), ("b", 0.1), ("c", 0.2)])
    sides = lanewise.compare(first, *others)
    drawn = next(
        rows for rows in sides.plot().to_dict()["datasets"].values() if any("ratio" in row for row in rows)
    )
    ratios = {(row["line"], row["side"][0]): row["ratio"] for row in drawn}
    assert len(drawn) == 2 * MOST_BARS
    assert ratios["Bandwidth 536870912 B (send)", "C"] == pytest.approx(1 + 0.2 * 29)
    assert {f"Bandwidth {2**place} B (send)" for place in range(1, 30, 2)} <= {line for line, _ in ratios}
    sides.plot().save(tmp_path / "sides.svg")
    other = tmp_path / "other.txt"
    other.write_text(first.read_text().replace("100.00", "0.00"))
    with pytest.raises(lanewise.InputError, match="no row is compared with the first side"):
        lanewise.compare(other, first).plot()


def test_pictures_can_be_saved(plain: Any, tmp_path: Path) -> None:
    plain.plot().save(tmp_path / "time.svg")
    assert "payload" in (tmp_path / "time.svg").read_text(encoding="utf-8")
    prediction = lanewise.predict(ROOT / "examples" / "laptop.txt", together=False)
    prediction.plot().save(tmp_path / "prediction.png")
    assert (tmp_path / "prediction.png").read_bytes().startswith(b"\x89PNG")
    assert rows_of(lanewise.why(RIG, overrides=SHORT).plot())[0]["gain"] > 0


def test_a_picture_without_altair_says_what_to_type(plain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = metadata.distribution

    def all_but_altair(name: str) -> metadata.Distribution:
        if name == "altair":
            raise metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "distribution", all_but_altair)
    with pytest.raises(lanewise.InputError, match=r"(?s)a picture needs altair .*pip install 'altair"):
        plain.plot()


def test_the_limit_of_a_scenario_is_the_cores() -> None:
    from lanewise.inputs import MOST_SCENARIO_BYTES

    text = (Path(__file__).parents[2] / "scenarios" / "switch.toml").read_text(encoding="utf-8")
    filled = text + "#" * (MOST_SCENARIO_BYTES - len(text.encode()))
    assert lanewise.explain(filled).document["title"] == lanewise.explain(text).document["title"]
    with pytest.raises(lanewise.ScenarioError, match="4 MiB"):
        lanewise.explain(filled + "#")
