"""The verb `draw`, and `picture`: what is drawn is told from what it is, and mistakes are said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pictures import NS, devices, parsed, words
from typer.testing import CliRunner, Result

import lanewise
from lanewise.cli.commands import app

SWITCH = Path("scenarios/switch.toml")
DUMP = Path("tests/python/machine/dumps/qemu.vvv")
PNG = b"\x89PNG\r\n\x1a\n"


def draw(*arguments: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["draw", *arguments], input=given)


def drawn(*arguments: str, given: bytes | None = None) -> list[str]:
    result = draw(*arguments, given=given)
    assert result.exit_code == 0, result.stderr
    return words(parsed(result.stdout))


@pytest.mark.parametrize("given", [None, SWITCH.read_bytes()], ids=["file", "standard input"])
def test_a_scenario(given: bytes | None) -> None:
    said = drawn("-" if given else str(SWITCH), given=given)
    assert {"sw0", "plx-pex8748", "gen3 x16"} <= set(said)


@pytest.mark.parametrize("given", [None, DUMP.read_bytes()], ids=["file", "standard input"])
def test_a_machine(given: bytes | None) -> None:
    said = drawn("-" if given else str(DUMP), given=given)
    assert any("01:00.0" in text for text in said)


def test_a_scenario_as_json(tmp_path: Path) -> None:
    rig = {
        "title": "one card",
        "host": {"server": {"slots": {"slot1": "gen3 x4"}}},
        "endpoint": {"card": {"attach": "server.slot1", "generation": "gen3", "width": "x4"}},
    }
    path = tmp_path / "rig.json"
    path.write_text(json.dumps(rig), encoding="utf-8")
    assert {"card", "gen3 x4", "one card"} <= set(drawn(str(path)))
    assert words(parsed(lanewise.picture(rig).svg())) == drawn(str(path))


def test_a_page_that_quotes_a_scenario_is_none() -> None:
    result = draw("docs/tutorials/first-rig.md")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is a scenario" in result.stderr


def test_a_run_has_the_use_of_its_links(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = lanewise.run(SWITCH, time_limit="60 us", out=folder)
    said = drawn(str(folder))
    assert "plx-pex8748" in said, "the folder has the scenario"
    rate = result.links.filter(link="card0", direction="downstream")["goodput_gb_per_s"].item()
    assert any(f"→ {rate:.2f} GB/s" in text for text in said)
    assert any(f"→ {rate:.2f} GB/s" in text for text in words(parsed(lanewise.picture(result).svg())))
    (folder / "manifest.json").write_text(
        json.dumps(json.loads((folder / "manifest.json").read_text()) | {"resolved_scenario": []}),
    )
    assert "card0" in drawn(str(folder)), "links alone are enough"


def test_overrides_and_themes() -> None:
    assert "can gen3 x4" in drawn(str(SWITCH), "--set", "card0.link.force_width=x2")
    assert "prefers-color-scheme" in draw(str(SWITCH)).stdout
    assert "prefers-color-scheme" not in draw(str(SWITCH), "--theme", "dark").stdout


def test_files(tmp_path: Path) -> None:
    svg = tmp_path / "topology.svg"
    result = draw(str(SWITCH), "--out", str(svg))
    assert (result.exit_code, result.stdout) == (0, "")
    assert len(devices(parsed(svg.read_text(encoding="utf-8")))) == 6
    pytest.importorskip("vl_convert")
    png = tmp_path / "topology.PNG"
    assert draw(str(SWITCH), "--out", str(png)).exit_code == 0
    data = png.read_bytes()
    assert data.startswith(PNG)
    size = [int.from_bytes(data[at : at + 4], "big") for at in (16, 20)]
    root = parsed(svg.read_text(encoding="utf-8"))
    assert size == [2 * int(root.get(key) or 0) for key in ("width", "height")]


def test_a_picture_too_large_is_less_sharp() -> None:
    pytest.importorskip("vl_convert")
    from lanewise.draw.files import png

    data = png('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="10000" height="9000"></svg>')
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert width * height <= 41e6


def test_json_has_every_device_with_its_link(tmp_path: Path) -> None:
    out = tmp_path / "x.svg"
    result = draw(str(SWITCH), "--json", "--out", str(out))
    document = json.loads(result.stdout)
    assert document["file"] == str(out)
    by_name = {device["name"]: device for device in document["devices"]}
    card = by_name["card1"]
    assert document["devices"][card["above"]]["name"] == "sw0"
    assert (card["slot"], card["link"]["mode"], card["link"]["state"]) == ("port2", "gen3 x4", "up")
    assert [device["name"] for device in document["devices"] if device["above"] is None] == ["server"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["missing.toml"], "unreadable-file"),
        (["missing.vvv"], "No such file"),
        ([str(SWITCH), "--out", "x.pdf"], ".svg or .png"),
        ([str(SWITCH), "--out", "docs/x.svg/y.svg/../.."], ".svg or .png"),
        ([str(SWITCH), "--with", str(DUMP)], "--with is for machines"),
        ([str(DUMP), "--set", "a.b=c"], "--set is for scenarios"),
        ([str(SWITCH), "--set", "card0.link.force_width=x99"], "impossible-width"),
        (["scenarios"], "bus/pci"),
        (["Makefile"], "Makefile"),
    ],
)
def test_mistakes(arguments: list[str], expected: str) -> None:
    result = draw(*arguments)
    assert result.exit_code == 2
    assert expected in result.stderr
    assert result.stdout == ""


def test_nothing_is_written_where_something_is_wrong(tmp_path: Path) -> None:
    out = tmp_path / "x.svg"
    assert draw("missing.toml", "--out", str(out)).exit_code != 0
    assert not list(tmp_path.iterdir())
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    assert draw(str(SWITCH), "--out", str(folder)).exit_code != 0


def test_every_text_is_text() -> None:
    for text in parsed(draw(str(DUMP)).stdout).iter(f"{NS}text"):
        assert text.text


def test_the_picture_of_the_documentation_is_current() -> None:
    kept = Path("docs/img/gpu-server.svg").read_text(encoding="utf-8")
    made = lanewise.picture("examples/gpu-server.txt").svg()
    assert kept == made, "lanewise draw examples/gpu-server.txt --out docs/img/gpu-server.svg"
