"""Hand-written documentation is true of the repository: paths, functions, links, scenarios, commands."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import lanewise

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for pattern in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md")
    for page in ROOT.glob(pattern)
    if "reference" not in page.parts
)
EVERY_PAGE = sorted(
    page.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "experiments/**/*.md", "tests/**/*.md", "crates/**/*.md")
    for page in ROOT.glob(pattern)
)
"""Generated pages too, and those of the experiments."""
FOLDERS = (
    "crates",
    "python",
    "docs",
    "tests",
    "examples",
    "experiments",
    "scenarios",
    "catalog",
    "fuzz",
    ".ci",
)
CODE = re.compile(r"`([^`\n]+)`")
FUNCTION = re.compile(r"([\w./-]+\.(?:rs|py))::(\w+)")
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAMED_TOML = re.compile(r"^```toml ([\w.-]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED_TOML = re.compile(r"^\$ cat ([\w-]+\.toml)\n(.*?)(?=^\$ |^```$)", re.DOTALL | re.MULTILINE)
CELL = re.compile(r"(?<!\\)\|")
LINK = re.compile(r"\]\(([^)\s]+)\)")
LAYERS = (
    *("units", "engine", "pcie", "cxl", "observe", "fabric", "network", "workload", "scenario", "sim"),
    *("trace-formats", "wasm", "python"),
)


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def prose_of(page: str) -> str:
    return FENCE.sub("", text_of(page))


def source_files() -> dict[str, str]:
    files = [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("python/**/*.py"), *ROOT.glob("docs/**/*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


def scenarios() -> list[tuple[str, int, str]]:
    """Return page, ordinal and text of every TOML block that describes a whole rig."""
    found = []
    for page in PAGES:
        blocks = [body for language, body in FENCE.findall(text_of(page)) if language == "toml"]
        found += [(page, index, body) for index, body in enumerate(blocks) if "[host." in body]
    return found


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page: str) -> None:
    for mention in CODE.findall(prose_of(page)):
        path = mention.split("::")[0].split(":")[0]
        if path.split("/")[0] in FOLDERS and "/" in path and not set("<>{} ") & set(mention):
            assert list(ROOT.glob(path)), f"{page} mentions `{mention}`, which does not exist"


@pytest.mark.parametrize("page", PAGES)
def test_functions_exist_where_they_are_said_to_be(page: str) -> None:
    sources = source_files()
    for file, name in FUNCTION.findall(prose_of(page)):
        candidates = [path for path in sources if path == file or path.endswith("/" + file)]
        assert candidates, f"{page} mentions `{file}`, which does not exist"
        item = re.compile(rf"\b(?:fn|struct|enum|trait|type|const|mod|def|class)\s+{name}\b")
        assert any(item.search(sources[path]) for path in candidates), f"{page}: no `{name}` in `{file}`"


def places_of_changes() -> dict[str, list[str]]:
    """Return, of each row of "Where does my change go?", the files and folders that it names.

    What stands in brackets takes the place of what stands before them.
    """
    table = text_of("ARCHITECTURE.md").split("## Where does my change go?")[1].split("\n\n")[1]
    rows = [CELL.split(line.strip("|")) for line in table.splitlines()[2:]]
    is_place = re.compile(r"/|\.(rs|py|js|ts|json|toml|md)\b")
    spans = {
        change.strip(): CODE.findall(re.sub(r"\([^()]*\)", "", " ".join(cells))) for change, *cells in rows
    }
    return {change: [span for span in found if is_place.search(span)] for change, found in spans.items()}


@pytest.mark.parametrize(("change", "places"), places_of_changes().items())
def test_a_change_goes_to_five_places_at_most(change: str, places: list[str]) -> None:
    assert 1 <= len(places) <= 5, f"to {change}: {places}"


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_links_lead_somewhere(page: str) -> None:
    for target in LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        destination = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert destination.exists(), f"{page} links to {target}, which does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", destination.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{page} links to {target}, but there is no such heading"


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_tables_are_whole(page: str) -> None:
    """No row stands outside a table, as behind a paragraph in its middle; all rows have as many cells."""
    lines = text_of(page).splitlines()
    tokens = MarkdownIt("commonmark").enable("table").parse(text_of(page))
    for token in tokens:
        if token.type == "inline" and re.search(r"^\|", token.content, re.MULTILINE):
            pytest.fail(f"{page}: a row of no table in: {token.content}")
        if token.type == "table_open" and token.map is not None:
            rows = lines[slice(*token.map)]
            widths = [len(CELL.findall(row.strip().strip("|"))) for row in rows]
            assert len(set(widths)) == 1, f"{page}:{token.map[0] + 1}: rows of {sorted(set(widths))} bars"


def files_shown(page: str) -> list[tuple[str, str]]:
    """Return the files of a page that have a name: its TOML blocks, and what `cat` prints of one."""
    text = text_of(page)
    return [*NAMED_TOML.findall(text), *PRINTED_TOML.findall(text)]


@pytest.mark.parametrize(("page", "index", "text"), scenarios())
def test_scenarios_resolve(page: str, index: int, text: str, tmp_path: Path) -> None:
    for name, shown in files_shown(page):
        (tmp_path / name).write_text(shown, encoding="utf-8")
    file = tmp_path / f"{Path(page).stem}_{index}.toml"
    file.write_text(text, encoding="utf-8")
    assert lanewise.explain(file).document["parameters"]


@pytest.mark.parametrize("page", PAGES)
def test_every_toml_block_is_toml(page: str) -> None:
    for language, body in FENCE.findall(text_of(page)):
        if language == "toml":
            tomllib.loads(body)


@pytest.mark.parametrize(("direction", "latency_ns"), [("write", 376), ("read", 848)])
def test_the_two_packets_of_the_architecture_page_take_as_long_as_it_says(
    direction: str, latency_ns: float, tmp_path: Path
) -> None:
    file = tmp_path / "one_packet.toml"
    blocks = [body for language, body in FENCE.findall(text_of("ARCHITECTURE.md")) if language == "toml"]
    file.write_text(blocks[0], encoding="utf-8")
    flow = lanewise.run(file, overrides={"workload.one.direction": direction}).document["flows"][0]
    # Ordered sets and DLLPs get in the way now and then, and never make it shorter.
    assert latency_ns <= flow["latency_ns"]["mean"] <= 1.01 * latency_ns


def test_arrows_between_crates_point_up() -> None:
    for position, layer in enumerate(LAYERS):
        manifest = tomllib.loads(text_of(f"crates/{layer}/Cargo.toml"))
        used = [
            name.removeprefix("lanewise-")
            for name in manifest["dependencies"]
            if name.startswith("lanewise-")
        ]
        assert set(used) <= set(LAYERS[:position]), f"{layer} uses {used}"


def dependencies() -> set[str]:
    names: set[str] = set()
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        document: dict[str, Any] = tomllib.loads(manifest.read_text(encoding="utf-8"))
        for table in ("dependencies", "dev-dependencies", "build-dependencies"):
            names |= {name for name in document.get(table, {}) if not name.startswith("lanewise-")}
    project = tomllib.loads(text_of("pyproject.toml"))
    required = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    groups = project["dependency-groups"] | project["project"]["optional-dependencies"]
    for group in groups.values():
        required += group
    return names | {re.split(r"[<>=~\[ ]", requirement)[0] for requirement in required} - {"lanewise"}


def test_every_dependency_has_its_sentence() -> None:
    record = text_of("docs/adr/0004-dependencies.md")
    missing = {name for name in dependencies() if f"`{name}`" not in record}
    assert not missing, f"ADR 4 says nothing about {sorted(missing)}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/explanation/")])
def test_an_explanation_says_what_is_modelled_what_is_left_out_and_how_we_know(page: str) -> None:
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", prose_of(page), re.DOTALL | re.MULTILINE))
    for section in ("What is modelled", "What is left out", "How we know"):
        assert sections.get(section, "").strip(), (
            f"{page} lacks the section '{section}', or says nothing in it"
        )


def test_every_transcript_is_run() -> None:
    """A command with what it printed stands in a ``console`` block, whose output is compared."""
    for page in PAGES:
        for kind, body in FENCE.findall(text_of(page)):
            assert kind == "console" or not re.search(r"^\$ ", body, re.MULTILINE), f"{page}: {body}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if re.search("^```(console|python)", text_of(page), re.MULTILINE)]
)
def test_outputs_in_the_documentation_are_what_is_printed_today(page: str) -> None:
    command = [sys.executable, "docs/examples.py", "--check", page]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
