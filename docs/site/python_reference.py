"""The Python reference, from the docstrings of the package: pages of functions and of what they return.

Read without importing it (griffe), so nothing needs to be built. Public is what ``lanewise`` has by name, and
the classes that it returns. A name in backticks that has an entry becomes a link to it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import griffe
from places import ROOT, SiteError
from pymdownx.slugs import slugify

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "reference/python"
FUNCTIONS = (
    (
        "runs",
        "Runs of scenarios",
        ("run", "why", "explain", "compare", "whatif", "run_sizes", "run_fio", "copy_matrix", "Session"),
    ),
    ("traces", "Traces, pictures, reports", ("trace", "write_trace", "picture", "write_report")),
    ("sweeps", "Sweeps", ("sweep", "search", "load_study", "query_study")),
    (
        "machines",
        "Machines",
        ("scan", "diagnose", "baseline", "predict", "predict_peers", "judge", "measure"),
    ),
    ("experiments", "Experiments, parts, speed", ("reproduce", "calibrate", "sensitivity", "parts", "bench")),
    ("errors", "Errors", ("InputError", "ScenarioError")),
)
"""Pages: file, title, and the public names on it, in this order."""
RETURNED = (
    (
        "results",
        "Results of runs",
        (
            "lanewise.results",
            "lanewise.rests_on",
            "lanewise.comparison",
            "lanewise.side_by_side",
            "lanewise.session",
            "lanewise.trace_files",
        ),
    ),
    (
        "machine-results",
        "Machines, findings, predictions",
        ("lanewise.machine", "lanewise.health", "lanewise.tools"),
    ),
    (
        "experiment-results",
        "Results of experiments",
        ("lanewise.experiment", "lanewise.calibration", "lanewise.runs", "lanewise.study"),
    ),
    ("drawings", "Drawings", ("lanewise.picture_api", "lanewise.draw")),
)
"""Pages of what functions return: file, title, and the modules whose classes are on it."""
ELSEWHERE = (
    "lanewise.documents",
    "lanewise.scenario",
    "lanewise._core",
    "lanewise.health.doctor.rig",
    "lanewise.experiment.formula",
)
"""Shapes of JSON and scenarios have pages of their own; the others are for those who change Lanewise."""
DEEPEST = 2
"""So many steps from a function is a class that has an entry; one of a machine's model, however far."""
SPAN = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)(\([^`]*\))?`(?!`)")
Page: TypeAlias = tuple[str, str]
"""Its file and its title."""
EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
DOUBLE = re.compile(r"``([^`]+)``")


def write_reference(to: Path) -> dict[str, str]:
    """Write the pages below a folder; returns the title of each by its place on the site.

    Raises `SiteError` when something public has no docstring.
    """
    package = griffe.load("lanewise", search_paths=[str(ROOT / "python")], resolve_aliases=False)
    homes = public_names()
    entries = {name: package[f"{home}.{name}".removeprefix("lanewise.")] for name, home in homes.items()}
    by_page = _pages(entries, _returned(package, entries))
    wrong = []
    for (file, title), objects in by_page.items():
        places = _places(file, by_page)
        out = [f"# {title}", ""]
        for each in objects:
            wrong += [f"{path} has no docstring" for path in undocumented(each)]
            out += _entry(each, places, is_public=each.name in entries)
        path = to / FOLDER / f"{file}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(out), encoding="utf-8")
    if wrong:
        raise SiteError("\n".join(wrong))
    return {f"{FOLDER}/{file}.md": title for file, title in by_page}


def _pages(
    entries: dict[str, griffe.Object], classes: list[griffe.Object]
) -> dict[Page, list[griffe.Object]]:
    """Return what is on each page, by its file and title; what no page names is on one for the rest."""
    functions = {(file, title): [entries[name] for name in names] for file, title, names in FUNCTIONS}
    returned = {
        (file, title): [
            each
            for module in modules
            for each in sorted(classes, key=_order)
            if each.path.startswith(f"{module}.")
        ]
        for file, title, modules in RETURNED
    }
    for page, pages, everything in (
        (("more", "More functions"), functions, list(entries.values())),
        (("more-results", "More results"), returned, classes),
    ):
        placed = {each.path for objects in pages.values() for each in objects}
        rest = [each for each in everything if each.path not in placed]
        if rest:
            pages[page] = rest
    return functions | returned


def _places(page: str, by_page: dict[Page, list[griffe.Object]]) -> dict[str, str]:
    """Return where names lead that a page mentions; one that several classes have, within its page only."""
    found: dict[str, str] = {}
    several: set[str] = set()
    for (file, _), objects in by_page.items():
        for each in objects:
            if each.name in found:
                several.add(each.name)
            if file == page or each.name not in found:
                found[each.name] = f"{'' if file == page else f'{file}.md'}#{anchor_of(each.name)}"
    found = {name: place for name, place in found.items() if name not in several or place.startswith("#")}
    return found | {f"lanewise.{name}": place for name, place in found.items()}


def public_names() -> dict[str, str]:
    """Return each name of ``lanewise.__all__`` with the module that it comes from, but for the version."""
    found: dict[str, str] = {}
    text = (ROOT / "python/lanewise/__init__.py").read_text(encoding="utf-8")
    for home, name in re.findall(r"^    from (lanewise\S*) import (\w+) as \2$", text, re.MULTILINE):
        found[name] = home
    return found


def anchor_of(name: str) -> str:
    """Return what the heading of an entry is called in addresses."""
    return str(slugify(case="lower")(name, "-"))


def undocumented(each: griffe.Object) -> Iterator[str]:
    """Find public members of an entry that say nothing of themselves."""
    if each.docstring is None:
        yield each.path
    for member in _members(each):
        if member.docstring is None and member.is_function:
            yield member.path


def _returned(package: griffe.Module, entries: dict[str, griffe.Object]) -> list[griffe.Object]:
    """Return the classes that functions return, and what these consist of."""
    found: dict[str, griffe.Object] = {}
    waiting = [(each, 0) for each in entries.values()]
    seen = {each.path for each in entries.values()}
    while waiting:
        each, depth = waiting.pop(0)
        for path in _named_by(each):
            if not path.startswith("lanewise.") or path in seen or path.startswith(ELSEWHERE):
                continue
            seen.add(path)
            try:
                target = package[path.removeprefix("lanewise.")]
                target = target.final_target if target.is_alias else target
            except (KeyError, griffe.AliasResolutionError):
                continue
            is_of_machine = target.path.startswith("lanewise.machine.")
            if target.path in found or not target.is_class or (depth >= DEEPEST and not is_of_machine):
                continue
            found[target.path] = target
            waiting.append((target, depth + 1))
    return [each for each in found.values() if each.path not in {entry.path for entry in entries.values()}]


def _named_by(each: griffe.Object) -> Iterator[str]:
    parts = [each] if each.is_function else list(_members(each))
    for part in parts:
        annotations = [part.annotation] if part.is_attribute else [part.returns]
        for annotation in annotations:
            if isinstance(annotation, griffe.Expr):
                yield from (
                    name.canonical_path for name in annotation.iterate() if isinstance(name, griffe.ExprName)
                )
    if each.is_class:
        yield from (base.canonical_path for base in each.bases if isinstance(base, griffe.ExprName))


def _members(each: griffe.Object) -> list[griffe.Object]:
    if not each.is_class:
        return []
    return [
        member for name, member in each.members.items() if not name.startswith("_") and not member.is_alias
    ]


def _order(each: griffe.Object) -> tuple[str, int]:
    return str(each.filepath), each.lineno or 0


def _entry(each: griffe.Object, places: dict[str, str], *, is_public: bool) -> list[str]:
    out = [f"## {each.name}", "", "``` python", *_signature(each, is_public=is_public), "```", ""]
    out += _said(each, places)
    if not each.is_class:
        return out
    attributes = [member for member in _members(each) if not member.is_function]
    if attributes:
        out += ["| name | type, or value | what it is |", "|---|---|---|"]
        for member in attributes:
            said = " ".join(_words(member.docstring.value if member.docstring else "", places).split())
            kind = str(member.annotation or member.value or "")
            out.append(
                f"| `{member.name}` | {f'`{kind}`' if kind else ''} | {said.replace('|', chr(92) + '|')} |"
            )
        out.append("")
    for member in _members(each):
        if member.is_function:
            out += [
                f"### {each.name}.{member.name}",
                "",
                "``` python",
                *_signature(member, is_public=False),
                "```",
                "",
            ]
            out += _said(member, places)
    return out


def _signature(each: griffe.Object, *, is_public: bool) -> list[str]:
    if each.is_class:
        module = "lanewise" if is_public else each.path.rpartition(".")[0]
        bases = ", ".join(str(base) for base in each.bases)
        made = []
        if is_public and "__init__" in each.members:
            made = _called(each.name, list(each.members["__init__"].parameters)[1:], None)
        return (
            made
            or [f"class {each.name}({bases})" if bases else f"class {each.name}", f"# {module}"][
                : 1 if is_public else 2
            ]
        )
    parameters = [one for one in each.parameters if one.name not in ("self", "cls")]
    return _called(f"lanewise.{each.name}" if is_public else each.name, parameters, each.returns)


def _called(name: str, parameters: list[griffe.Parameter], returns: object) -> list[str]:
    """Return a call with a line for each parameter, or one line where that is short."""
    words = []
    keyword = griffe.ParameterKind.keyword_only
    for at, one in enumerate(parameters):
        before = parameters[at - 1].kind if at else None
        if one.kind is keyword and before not in (keyword, griffe.ParameterKind.var_positional):
            words.append("*")
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(
            one.kind, ""
        )
        hint = f": {one.annotation}" if one.annotation is not None else ""
        default = f" = {one.default}" if one.default is not None and not stars else ""
        words.append(f"{stars}{one.name}{hint}{default}")
    arrow = f" -> {returns}" if returns is not None else ""
    line = f"{name}({', '.join(words)}){arrow}"
    if len(line) <= 80:
        return [line]
    return [f"{name}(", *(f"    {word}," for word in words), f"){arrow}"]


def _said(each: griffe.Object, places: dict[str, str]) -> list[str]:
    """Return a docstring as Markdown: text, and examples as sessions."""
    if each.docstring is None:
        return []
    out, at, text = [], 0, each.docstring.value
    for example in EXAMPLE.finditer(text):
        out += [
            _words(text[at : example.start()], places).strip(),
            "",
            "``` pycon",
            example[0],
            "```",
            "",
        ]
        at = example.end()
    return [*out, _words(text[at:], places).strip(), ""]


def _words(text: str, places: dict[str, str]) -> str:
    """Return running text with its names as links."""

    def link(match: re.Match[str]) -> str:
        place = places.get(match[1])
        return match[0] if place is None else f"[{match[0]}]({place})"

    return SPAN.sub(link, DOUBLE.sub(r"`\1`", text))


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
