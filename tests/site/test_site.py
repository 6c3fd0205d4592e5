"""The documentation site: what is built, and that what would be wrong with it is found.

`make test-site` builds it into ``target/site-tested`` before.
"""

from __future__ import annotations

import base64
import gzip
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import alike
import build
import lab
import links
import pages
import places
import pytest
import python_reference

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "target/site-tested"
RIG = '[host.h]\nslots = { a = "gen3 x8" }\n[[workload]]\nkind = "dma"\n'

SITE = {
    "index.html": '<a href="sub/a.html#here">a</a> <a href="#top">up</a> <h1 id="top">T</h1> <a href="https://example.org">out</a>'
    '<script src="s.js"></script> <img src="i.svg"> <link rel="stylesheet" href="s.css">',
    "sub/a.html": '<h2 id="here">Here</h2> <a href="../index.html">home</a> <a href="..">home</a>',
    "s.js": "",
    "i.svg": "<svg/>",
    "s.css": 'body { background: url("i.svg") }',
    lab.PAGE: "<p>the lab</p>",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_sound_site_has_no_problems(tmp_path: Path) -> None:
    opened = f'<iframe src="{lab.PAGE}{lab.link_of(RIG, "rig.toml")}"></iframe>'
    assert links.problems(written(tmp_path, SITE | {"lab.html": opened})) == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("index.html", '<a href="sub/b.html">', "sub/b.html leads to no file"),
        ("index.html", '<a href="sub/a.html#there">', "no such anchor"),
        ("index.html", '<a href="#nowhere">', "no such anchor"),
        ("index.html", '<img src="j.svg">', "j.svg leads to no file"),
        ("index.html", '<iframe data-src="lab/other.html"></iframe>', "other.html leads to no file"),
        ("index.html", '<script src="t.js"></script>', "t.js leads to no file"),
        ("index.html", '<link rel="stylesheet" href="t.css">', "t.css leads to no file"),
        ("index.html", '<script src="https://example.org/x.js"></script>', "from the network"),
        ("index.html", '<link rel="stylesheet" href="//example.org/x.css">', "from the network"),
        ("index.html", '<a href="/sub/a.html">', "at the top of a server only"),
        ("sub/a.html", '<a href="../../outside.html">', "leads to no file"),
        ("index.html", '<img src="i.svg" srcset="i.svg 1x, j.svg 2x">', "j.svg leads to no file"),
        ("index.html", '<source srcset="https://example.org/i.svg">', "from the network"),
        ("index.html", '<p style="background: url(j.svg)">', "j.svg leads to no file"),
        ("index.html", '<style>@import "t.css";</style>', "t.css leads to no file"),
        ("index.html", "<style>p { background: URL('//example.org/i.svg') }</style>", "from the network"),
        ("index.html", '<video src="i.svg" poster="j.svg"></video>', "j.svg leads to no file"),
        ("index.html", '<audio src="https://example.org/a.ogg"></audio>', "from the network"),
        ("index.html", '<object data="https://example.org/i.svg"></object>', "from the network"),
        ("index.html", '<embed src="https://example.org/i.svg">', "from the network"),
        ("index.html", '<link rel="icon" href="https://example.org/i.svg">', "from the network"),
        ("index.html", '<link rel="Alternate stylesheet" href="https://example.org/s">', "from the network"),
        ("index.html", '<link rel="preload" imagesrcset="j.svg 1x">', "j.svg leads to no file"),
        ("index.html", f'<a href="{lab.PAGE}#lab=1.H4sIAAAA">', "damaged"),
        ("index.html", f'<a href="{lab.PAGE}{lab.link_of("title = 1", "x.toml")}">', "has no rig"),
        ("s.css", "a { background: url(k.png) }", "k.png is no file"),
        ("s.css", '@import "https://example.org/font.css";', "font.css is no file"),
    ],
)
def test_what_leads_nowhere_is_found(tmp_path: Path, file: str, text: str, said: str) -> None:
    """Each kind of broken link alone is one problem, and names its page."""
    found = links.problems(written(tmp_path / "site", SITE | {file: text}))
    found = [each for each in found if said in each]
    assert len(found) == 1
    assert found[0].startswith(file)


@pytest.mark.parametrize(
    ("source", "built", "said"),
    [
        ("Text\n- a\n- b\n", "<p>Text\n- a\n- b</p>", "2 <li> became 0"),
        ("| a |\n|---|\n| b |\n", "<p>| a | |---| | b |</p>", "2 <tr> became 0"),
        ("One word too many", "<p>One word too</p>", "'Onewordtoomany' became 'Onewordtoo'"),
        ("less <b than", "<p>less </p>", "became 'less'"),
        ("```\nx\n```\n", "<p>``` x ```</p>", "1 <pre> became 0"),
    ],
)
def test_a_page_that_lost_something_is_found(source: str, built: str, said: str) -> None:
    assert any(
        said in each for each in alike.differences(source, f"<nav>menu</nav><article>{built}</article>")
    )


def test_what_the_site_adds_is_no_difference() -> None:
    frame = '<div class="lab"><p>Lab <img src="x"> <b>b</b></p></div>'
    added = f'<h1>T<a class="headerlink" href="#t">¶</a></h1> {frame} <p>x</p>'
    assert alike.differences("# T\n\nx", f"<p>around</p><article>{added}</article>") == []


def test_a_page_that_the_front_page_does_not_list_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "ROOT", tmp_path)
    tree = {name: f"# {name}\n" for name in (*places.OUTSIDE, "docs/a.md", "docs/sub/b.md")}
    listed = "".join(f"[x](../{name})\n" for name in places.OUTSIDE)
    written(
        tmp_path,
        tree | {"docs/index.md": f"# T\n\n## Part\n\n### Inner\n\n- [b](sub/b.md)\n\n## All\n\n{listed}"},
    )
    with pytest.raises(places.SiteError, match=r"docs/index\.md does not list docs/a\.md"):
        places.menu()
    written(
        tmp_path,
        {"docs/index.md": f"# T\n\n## Part\n\n[a](a.md)\n\n### Inner\n\n[b](sub/b.md)\n\n## All\n\n{listed}"},
    )
    assert places.menu()[1] == {"Part": [{"docs/a.md": "a.md"}, {"Inner": [{"docs/sub/b.md": "sub/b.md"}]}]}


def test_a_link_that_leads_to_no_file_keeps_the_site_from_being_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (places, pages):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    written(tmp_path, {"docs/index.md": "# T\n\n[gone](gone.md) and `[not](a link)`"})
    with pytest.raises(places.SiteError, match=r"docs/index\.md: gone\.md leads to no file"):
        pages.page_text("docs/index.md", "index.md", set(), has_lab=False)


def test_a_site_that_cannot_be_built_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Path, *, has_lab: bool) -> None:
        raise places.SiteError(f"something is wrong, {has_lab}")

    monkeypatch.setattr(build, "write_pages", broken)
    site = written(tmp_path / "site", {"index.html": "before"})
    with pytest.raises(places.SiteError, match="something is wrong, False"):
        build.build(site, None)
    assert (site / "index.html").read_text() == "before"


def test_lists_are_as_python_markdown_needs_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty line before a list, and four spaces before one within another."""
    for module in (places, pages):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    written(
        tmp_path,
        {"docs/a.md": "Text:\n- one\n  more of it\n  - inner\n- two\n\nAfter `a | b` <x\n\n| `a \\| b` |\n"},
    )
    text = pages.page_text("docs/a.md", "a.md", set(), has_lab=False)
    assert "Text:\n\n- one\n    more of it\n    - inner\n- two\n\nAfter `a | b` &lt;x\n\n| `a | b` |" in text


def test_what_a_browser_does_not_fetch_may_be_elsewhere(tmp_path: Path) -> None:
    """Addresses of pages, text that looks like a style, and pictures that are in the page."""
    text = (
        '<link rel="canonical" href="https://example.org/"> <link rel="alternate next" href="https://example.org/">'
        '<p>url(https://example.org/x)</p> <img srcset="data:image/gif;base64,R0lGOD,/ 1x,i.svg 2x, i.svg">'
    )
    assert links.problems(written(tmp_path, SITE | {"index.html": SITE["index.html"] + text})) == []


def damaged() -> list[str]:
    """Links into the lab that hold nothing: no base64, no gzip, half of one, one with damage, no rig."""
    whole = lab.link_of(RIG, "rig.toml")
    assert whole is not None
    packed = base64.urlsafe_b64decode(whole.removeprefix("#lab=1.") + "==")
    bent = packed[:10] + b"\xff\xff" + packed[12:]
    held = [b"", b"plain", packed[:-20], bent, *map(gzip.compress, (b"{", b"[]", b'"x"', b"{}"))]
    return [
        "#lab=2.AAAA",
        "#lab=1.A",
        *(f"#lab=1.{base64.urlsafe_b64encode(each).decode()}" for each in held),
    ]


@pytest.mark.parametrize("link", damaged())
def test_a_damaged_link_into_the_lab_is_found(tmp_path: Path, link: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        lab.opened(link)
    page = f'<a href="{lab.PAGE}{link}">'
    (found,) = links.problems(written(tmp_path, SITE | {"lab.html": page}))
    assert found.startswith("lab.html: a link into the lab is damaged")


def test_a_link_into_the_lab_holds_the_rig() -> None:
    link = lab.link_of(RIG, "rig.toml")
    assert link is not None
    assert lab.opened(link) == {"text": RIG, "name": "rig.toml"}
    assert lab.link_of(RIG + "".join(f"# {n * n * 7919}\n" for n in range(5000)), "long.toml") is None


def asked_of_make(*words: str) -> str:
    """Return what a check of the Makefile would be remembered by: its label, its files and its command."""
    command = ["make", "--silent", "ONCE=echo", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_another_lab_is_another_check(tmp_path: Path) -> None:
    """Git does not know the lab, so the command holds what it is."""
    said = [asked_of_make("site-test", f"LAB_TESTED={tmp_path}")]
    for text in ("one", "other", "one"):
        written(tmp_path, {"lanewise-lab.html": text})
        said.append(asked_of_make("site-test", f"LAB_TESTED={tmp_path}"))
    assert said[1] == said[3]
    assert len(set(said)) == 3


def test_the_check_is_done_again_when_a_file_of_the_site_changes() -> None:
    """Those that pages link to are shown on the site, wherever in the repository they lie."""
    files = set(places.pages())
    for page, place in places.pages().items():
        pages.page_text(page, place, files, has_lab=True)
    words = set(asked_of_make("site-test").split(" sh -c ")[0].split())
    words |= {path.name for word in words if "*" in word for path in ROOT.glob(word)}
    assert {"Cargo.toml", "Cargo.lock", "LICENSE", "catalog", "crates"} <= words
    assert {
        file for file in files if file not in words and not words & {p.as_posix() for p in Path(file).parents}
    } == set()


# --- the site as it is --------------------------------------------------------------------------------------


def text_of(page: str) -> str:
    return (BUILT / page).read_text(encoding="utf-8")


def test_everything_in_the_site_leads_somewhere() -> None:
    assert links.problems(BUILT) == []


def test_a_page_that_is_taken_away_is_missed(tmp_path: Path) -> None:
    """The check reads this site, and not only made-up ones."""
    site = tmp_path / "site"
    shutil.copytree(BUILT, site)
    (site / "reference/glossary.html").unlink()
    assert len(links.problems(site)) > 50


def test_no_page_has_an_address_of_a_repository() -> None:
    """But those that its own pages name."""
    own = {
        urlsplit(link).netloc
        for page in places.pages()
        for link in re.findall(r"https?://[^\s)>`\"']+", (ROOT / page).read_text())
    }
    for path in BUILT.rglob("*.html"):
        if path.relative_to(BUILT).as_posix() != lab.PAGE:
            out = {urlsplit(address).netloc for _, address, _ in links.page(path).links} - {""}
            assert out <= own | {"zensical.org"}, path


def test_every_public_name_is_in_the_reference() -> None:
    import lanewise

    text = "".join(text_of(f"reference/python/{file}.html") for file, _, _ in python_reference.FUNCTIONS)
    public = set(lanewise.__all__) - {"__version__"}
    assert public == set(python_reference.public_names())
    assert {name for name in public if f'id="{python_reference.anchor_of(name)}"' not in text} == set()


def test_every_parameter_of_a_public_function_is_explained() -> None:
    import inspect

    import lanewise

    missing = [
        f"{name}: {parameter}"
        for name in python_reference.public_names()
        if inspect.isfunction(getattr(lanewise, name))
        for parameter in inspect.signature(getattr(lanewise, name)).parameters
        if f"`{parameter}`" not in (getattr(lanewise, name).__doc__ or "")
    ]
    assert missing == []


def test_every_lesson_of_the_lab_is_on_the_page_of_lessons() -> None:
    lessons = (ROOT / "web/src/lessons/lessons.ts").read_text(encoding="utf-8")
    page = (ROOT / "docs/tutorials/lessons.md").read_text(encoding="utf-8")
    found = re.findall(r'file: "(.*)",\n\s*title: "(.*)",\n\s*question: "(.*)",', lessons)
    assert len(found) == lessons.count('question: "') >= 6
    for number, (file, title, question) in enumerate(found, 1):
        assert f"## {number}. {title}\n\n{question}\n\n<!-- lab web/src/lessons/{file}" in page


def has_lab() -> bool:
    return (BUILT / lab.PAGE).is_file()


def frames_of(page: str) -> list[dict[str, str]]:
    return [
        lab.opened(urlsplit(address).fragment)
        for tag, address, _ in links.page(BUILT / page).links
        if tag == "iframe"
    ]


def test_frames_show_the_rigs_of_their_pages() -> None:
    if not has_lab():
        pytest.skip("the lab was not built: Rust cannot compile for WebAssembly here")
    tutorial = (ROOT / "docs/tutorials/first-rig.md").read_text(encoding="utf-8")
    (frame,) = frames_of("tutorials/first-rig.html")
    assert frame["name"] == "lower.toml"
    assert f"```toml lower.toml\n{frame['text']}```" in tutorial
    assert [each["name"] for each in frames_of("tutorials/lessons.html")] == re.findall(
        r"<!-- lab web/src/lessons/(\S+)", (ROOT / "docs/tutorials/lessons.md").read_text(encoding="utf-8")
    )


def test_without_a_lab_pages_say_how_to_get_one() -> None:
    text = pages.page_text("docs/tutorials/lessons.md", "tutorials/lessons.md", set(), has_lab=False)
    assert text.count("The lab is not in this build") == 1
    assert "make site" in text
    assert "<iframe" not in text
    assert lab.PAGE not in text
