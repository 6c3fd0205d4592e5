"""What people do in their first hour: an example to start from, a drawing, one change, tables to read."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from lanewise import InputError, _core
from lanewise.alike_names import together
from lanewise.cli.tables import collapse
from lanewise.cli.tables.topology import topology
from lanewise.examples import copy_example, examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    CommandLine = Callable[..., Result]

SCENARIOS = Path(__file__).parents[2] / "scenarios"
EIGHT = SCENARIOS / "oversubscribed.toml"


def test_no_page_installs_from_an_index_that_does_not_have_it() -> None:
    root = SCENARIOS.parent
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    by_name = re.compile(r"\b(pip|pipx) install (-\S+ )*['\"]?lanewise(?![\w-])")
    assert by_name.search("pip install 'lanewise[serve]'")
    assert not by_name.search("pip install dist/lanewise-*.whl")
    assert not [str(page) for page in pages if by_name.search(page.read_text(encoding="utf-8"))]


def test_names_that_count_up_are_a_range() -> None:
    assert together(["nic[0]", "nic[1]", "nic[2]"]) == "nic[0\N{EN DASH}2] \N{MULTIPLICATION SIGN}3"
    assert together(["nic0", "nic1"]) == "nic0\N{EN DASH}1 \N{MULTIPLICATION SIGN}2"
    assert together(["nic0", "nic2"]) == "nic0 and 1 alike"
    assert together(["a", "b", "c"]) == "a and 2 alike"
    assert together(["sw0"]) == "sw0"
    grid = [f"nic{group}[{number}]" for group in range(2) for number in range(3)]
    assert together(grid) == "nic0\N{EN DASH}1[0\N{EN DASH}2] \N{MULTIPLICATION SIGN}6"
    assert together(grid[:-1]) == "nic0[0] and 4 alike"
    assert together(grid[::-1]) == "nic1[2] and 5 alike"
    assert together(["a_07_0", "a_08_0"]) == "a_07_0 and 1 alike", "an address counts in hexadecimal"


def test_an_example_is_copied_once_and_never_over_a_file(tmp_path: Path) -> None:
    written = copy_example("switch", tmp_path / "mine.toml")
    assert written.read_bytes() == (SCENARIOS / "switch.toml").read_bytes()
    with pytest.raises(InputError, match="exists"):
        copy_example("switch", tmp_path / "mine.toml")
    assert copy_example("switch.toml", tmp_path) == tmp_path / "switch.toml"
    with pytest.raises(InputError, match="did you mean 'switch'"):
        copy_example("swich")
    assert all(examples().values()), "every example has a title"


def test_new_lists_what_can_be_copied(lanewise: CommandLine, tmp_path: Path) -> None:
    listed = lanewise("new").stdout.splitlines()
    assert ["switch", "Two", "Gen3", "x4", "cards"] in [line.split()[:5] for line in listed]
    assert lanewise("new", "switch", tmp_path / "a.toml").exit_code == 0
    assert lanewise("explain", tmp_path / "a.toml").exit_code == 0


def test_new_wraps_long_titles_on_a_terminal_only(
    lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(*, terminal: bool) -> str:
        console = Console(width=60, force_terminal=terminal)
        monkeypatch.setattr("lanewise.cli.console.stdout", lambda: console)
        return lanewise("new").stdout

    wrapped, whole = printed(terminal=True), printed(terminal=False)
    assert max(map(len, wrapped.splitlines())) <= 60 < max(map(len, whole.splitlines()))
    assert wrapped.split() == whole.split()


@pytest.mark.parametrize("width", [60, 80, 100])
def test_explain_draws_the_rig_and_fits_the_terminal(
    lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for path in sorted(SCENARIOS.glob("*.toml")):
        lines = lanewise("explain", path).stdout.splitlines()
        assert max(map(len, lines)) <= width, path
        assert not any("\N{HORIZONTAL ELLIPSIS}" in line for line in lines)
    text = lanewise("explain", EIGHT).stdout
    drawing = text[text.index("Topology") :].splitlines()[1:4]
    assert [line.split() for line in drawing] == [
        ["server"],
        ["└─", "slot1", "→", "sw0", "gen4", "x16"],
        ["└─", "port1\N{EN DASH}8", "→", "nvme[0\N{EN DASH}7]", "\N{MULTIPLICATION SIGN}8", "gen4", "x4"],
    ]


def test_explain_shows_only_what_is_asked_for(lanewise: CommandLine) -> None:
    text = lanewise("explain", EIGHT, "sw*").stdout
    assert "forward_latency" in text or "latency" in text
    assert "mrrs" not in text
    assert "memory_latency" in lanewise("explain", EIGHT, "server.memory*").stdout
    assert "outstanding" in lanewise("explain", EIGHT, "workload.*").stdout
    result = lanewise("explain", EIGHT, "gpu*")
    assert result.exit_code == 2
    assert "nvme" in result.stderr


def test_devices_on_the_first_of_two_switches_are_drawn_there() -> None:
    text = (
        '[host.server]\nslots = { "slot1..slot2" = "gen4 x16" }\n'
        '[switch.sw]\ncount = 2\nattach = "server.*"\n'
        'ports = { port0 = "gen4 x16", "port1..port4" = "gen4 x4" }\n'
        '[endpoint.gpu]\ncount = 4\nattach = "sw[*].*"\ngeneration = "gen4"\nwidth = "x4"\n'
        '[endpoint.nic]\ncount = 4\nattach = "sw[*].*"\ngeneration = "gen4"\nwidth = "x4"\n'
    )
    drawn = topology(json.loads(_core.explain("rig.toml", [], text))["links"])
    assert [line.strip(" │├└─").split("   ")[0] for line in drawn] == [
        "server",
        "slot1 → sw[0]",
        "port1\N{EN DASH}4 → gpu[0\N{EN DASH}3] \N{MULTIPLICATION SIGN}4",
        "slot2 → sw[1]",
        "port1\N{EN DASH}4 → nic[0\N{EN DASH}3] \N{MULTIPLICATION SIGN}4",
    ]


def _link_of(upper: str, lower: str, mode: str = "gen4 x4") -> dict[str, str]:
    generation, width = mode.split()
    return {"upper": upper, "lower": lower, "generation": generation, "width": width}


def _pair(number: int, *, last: str = "gen4 x4") -> list[dict[str, str]]:
    """Return the links of a switch with two cards."""
    return [
        _link_of(f"server.slot{number}", f"sw{number}", "gen4 x16"),
        _link_of(f"sw{number}.port1", f"card{number}[0]"),
        _link_of(f"sw{number}.port2", f"card{number}[1]", last),
    ]


def _drawn(links: list[dict[str, str]]) -> list[str]:
    """Draw with plain hyphens for the dashes of ranges, and a letter for the sign of multiplication."""
    plain = str.maketrans({"\N{EN DASH}": "-", "\N{MULTIPLICATION SIGN}": "x"})
    return [line.translate(plain) for line in topology(links)]


def test_alike_branches_are_drawn_once() -> None:
    links = [link for number in range(16) for link in _pair(number)]
    assert _drawn(links) == [
        "server",
        "└─ slot0-15 → sw0-15 x16   gen4 x16   each as sw0:",
        "   └─ port1-2 → card0[0-1] x2   gen4 x4",
    ]


def test_a_branch_that_differs_far_down_is_drawn_apart() -> None:
    links = [link for number in range(8) for link in _pair(number, last=f"gen{3 if number == 5 else 4} x4")]
    drawn = [line.strip(" │├└─") for line in _drawn(links)]
    assert [line for line in drawn if line.startswith("slot")] == [
        "slot0-4 → sw0-4 x5   gen4 x16   each as sw0:",
        "slot5 → sw5   gen4 x16",
        "slot6-7 → sw6-7 x2   gen4 x16   each as sw6:",
    ]
    assert "port2 → card5[1]   gen3 x4" in drawn
    unlike = [*_pair(0), *_pair(1), _link_of("sw1.port3", "spare")]
    assert not any("each as" in line for line in _drawn(unlike))


def test_alike_hosts_are_drawn_once() -> None:
    links = [_link_of(f"host{number}.slot1", f"nic{number}") for number in range(3)]
    assert _drawn(links) == ["host0-2 x3   each as host0:", "└─ slot1 → nic0   gen4 x4"]


def test_four_thousand_endpoints_are_explained_in_seconds(lanewise: CommandLine, tmp_path: Path) -> None:
    cards = "".join(
        f'[endpoint.card{number}]\nattach = "sw[{number // 64}].*"\ngeneration = "gen3"\nwidth = "x1"\n'
        for number in range(4096)
    )
    rig = tmp_path / "large.toml"
    rig.write_text(
        '[host.server]\nslots = { "slot1..slot64" = "gen3 x16" }\n'
        '[switch.sw]\ncount = 64\nattach = "server.*"\n'
        f'ports = {{ port0 = "gen3 x16", "port1..port64" = "gen3 x1" }}\n{cards}'
    )
    began = time.process_time()
    result = lanewise("explain", rig)
    assert result.exit_code == 0, result.stderr
    # It took 46 s; a bound this loose holds on a busy machine, too.
    assert time.process_time() - began < 20
    lines = result.stdout.splitlines()
    assert any("card0\N{EN DASH}4095" in line for line in lines)
    assert len(lines) < 1_000


def test_scanned_devices_differ_in_bus_and_device_alone() -> None:
    assert collapse.stem("gpu_19_00_0") == collapse.stem("gpu_b7_00_0") == collapse.stem("gpu_bb_1f_0")
    assert collapse.stem("nic_face") != collapse.stem("nic_ace"), (
        "two letters are an address only by themselves"
    )


def test_what_differs_in_little_from_one_above_is_told_as_the_differences(
    lanewise: CommandLine, tmp_path: Path
) -> None:
    lines = 'generation = "gen3"\nwidth = "x4"\n'
    cards = "".join(
        f'[endpoint.{name}]\nattach = "server.*"\n{lines}' for name in ("card_0a_00_0", "card_bb_00_0")
    )
    rig = tmp_path / "rig.toml"
    other = '[endpoint.card_cc_00_0]\nattach = "server.*"\ntags = 7\n'
    rig.write_text(f'[host.server]\nslots = {{ "slot1..slot3" = "gen3 x4" }}\n{cards}{other}{lines}')
    text = lanewise("explain", rig).stdout
    assert "card_0a_00_0 and 1 alike\n" in text
    assert "card_cc_00_0, as card_0a_00_0 but for\n  tags" in text
    told = text.partition("but for\n")[2].partition("\n\n")[0].splitlines()
    assert 1 <= sum(line.startswith("  ") and not line.startswith("   ") for line in told) <= 2


def test_a_file_that_is_not_there_is_named_in_json_with_the_one_that_was_meant(
    lanewise: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "rig.toml").write_text("", encoding="utf-8")
    [error] = json.loads(lanewise("run", tmp_path / "rug.toml", "--json").stdout)["errors"]
    assert (error["code"], error["path"]) == ("unreadable-file", str(tmp_path / "rug.toml"))
    assert error["hint"] == f"did you mean '{tmp_path / 'rig.toml'}'?"


def test_one_side_of_a_comparison_can_be_changed(lanewise: CommandLine) -> None:
    switch = SCENARIOS / "switch.toml"
    arguments = ["compare", switch, switch, "--set-b", "card1.link.force_width=x1", "--json"]
    compared = json.loads(lanewise(*arguments).stdout)
    changed = json.loads(lanewise("whatif", switch, "card1.link.force_width=x1", "--json").stdout)
    assert compared == changed
    assert compared["b"]["name"].endswith("card1.link.force_width=x1")
    assert compared["totals"][0]["ratio"] < 0.7
    assert compared["b"]["limited_by"].startswith("Limited by the wire")


def test_whatif_without_a_change_says_how_one_looks(lanewise: CommandLine) -> None:
    done = lanewise("whatif", SCENARIOS / "switch.toml")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "nothing is changed: add PATH=VALUE" in done.stderr
    assert f"'lanewise explain {SCENARIOS / 'switch.toml'}'" in done.stderr


def test_whatif_with_a_change_of_both_sides_only_says_how_to_change_one(lanewise: CommandLine) -> None:
    done = lanewise("whatif", "rig.toml", "--set", "*.width=x4")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--set is for both sides" in done.stderr
    assert "lanewise whatif rig.toml '*.width=x4'" in done.stderr


def test_a_change_to_what_is_there_already_is_told_before_the_tables(lanewise: CommandLine) -> None:
    done = lanewise("whatif", SCENARIOS / "switch.toml", "card1.link.force_width=none")
    assert done.exit_code == 0, done.stderr
    before, _, _tables = done.stdout.partition("\nFlows ")
    assert before.rstrip().endswith("Both have the same parameters.")
    assert done.stdout.count("Both have the same parameters") == 1


def _link(name: str, goodput: float, utilisation: float) -> list[dict[str, Any]]:
    both = {"link": name, "generation": "gen4", "width": "x4", "mps_bytes": 256}
    return [
        {**both, "direction": "upstream", "goodput_gb_per_s": goodput, "utilisation": utilisation},
        {**both, "direction": "downstream", "goodput_gb_per_s": 0.0, "utilisation": 0.02},
    ]


def test_alike_links_collapse_idle_ones_come_last_and_the_least_used_are_cut() -> None:
    import polars as pl

    rows = [
        *_link("idle0", 0.0, 0.02),
        *_link("nic0", 3.0, 0.5),
        *_link("nic1", 3.001, 0.5),
        *_link("gpu0", 6.0, 0.9),
    ]
    shares = pl.DataFrame(
        [
            {"link": row["link"], "direction": row["direction"], "category": "payload", "time_fraction": 0.1}
            for row in rows
        ]
    )
    groups = collapse.links(pl.DataFrame(rows), shares)
    assert [[link.name for link in group] for group in groups] == [["nic0", "nic1"], ["gpu0"], ["idle0"]]
    kept, left = collapse.least_used(groups, 2)
    assert [group[0].name for group in kept] == ["nic0", "gpu0"]
    assert [link.name for link in left] == ["idle0"]


def test_alike_rows_of_a_comparison_are_one(lanewise: CommandLine, tmp_path: Path) -> None:
    """Eight adapters that differ in nothing are a row of each table; one that differs stands by itself."""
    text = '[host.root]\nslots = { "slot0..slot7" = "gen3 x4" }\n'
    for number in range(8):
        text += (
            f'[endpoint.nic{number}]\nattach = "root.slot{number}"\ngeneration = "gen3"\nwidth = "x4"\n'
            f'[[workload]]\nkind = "dma"\nname = "write{number}"\ndevice = "nic{number}"\n'
            'direction = "write"\n'
        )
    rig = tmp_path / "rig.toml"
    rig.write_text(text)
    slower = [part for n in range(8) for part in ("--set-b", f"nic{n}.link.force_width=x2")]
    all_nics, seven = "nic0\N{EN DASH}7 \N{MULTIPLICATION SIGN}8", "nic0\N{EN DASH}6 \N{MULTIPLICATION SIGN}7"
    short = ["--set", "run.time_limit=1 ms"]
    result = lanewise("compare", rig, rig, *short, *slower)
    assert result.exit_code == 0, result.stderr
    tables = result.stdout.split("Flows")[1]
    assert tables.count(all_nics) >= 2
    assert tables.count(all_nics.replace("nic", "write")) == 1
    assert "nic3" not in tables
    one = lanewise("compare", rig, rig, *short, *slower[-2:]).stdout.split("Flows")[1]
    assert seven in one
    assert "\nnic7" in one


def test_the_bar_of_a_run_fits_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The share done, the time left and the time so far are all there; none ends in dots."""
    import io

    from rich.console import Console

    from lanewise.cli import progress

    drawn = io.StringIO()
    console = Console(file=drawn, force_terminal=True, width=80, no_color=True)
    monkeypatch.setattr(progress, "stderr", lambda: console)
    monkeypatch.setattr(progress, "_SOON_S", 0.0)
    report = {"simulated_s": 0.015, "time_limit_s": 0.05, "events": 1_880_724_000}
    with progress.RunProgress("my_own_scenario.toml") as bar:
        bar(report)
    text = drawn.getvalue()
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert "30 % 15.00 ms simulated, at most 0:00 left 0:00:00" in text
