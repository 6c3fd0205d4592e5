"""Pictures of topologies: all is in them or counted, no box is over another, no name breaks them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pictures import NS, check, devices, parsed, words

import lanewise
from lanewise.draw.layout import MOST_ROWS
from lanewise.draw.model import Link, LinkUse, Node, Sort, State, Topology
from lanewise.draw.scenario import of_run, of_scenario, use_of
from lanewise.draw.style import rules
from lanewise.draw.svg import topology_svg

SCENARIOS = Path("scenarios")


def scenario(name: str) -> Topology:
    path = SCENARIOS / f"{name}.toml"
    return of_scenario(lanewise.explain(path).document, tomllib.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_device_of_a_scenario_is_in_its_picture(path: Path) -> None:
    topology = scenario(path.stem)
    check(topology)
    names = {node.name for node in topology.walk()}
    for link in lanewise.explain(path).document["links"]:
        assert {link["name"], link["upper"].partition(".")[0]} <= names


def test_a_picture_has_slots_ports_parts_and_what_is_free() -> None:
    root = check(scenario("switch"))
    said = words(root)
    for expected in (
        "server",
        "intel-sandy-bridge-ep",
        "slot1",
        "sw0",
        "gen3 x16",
        "port1-2",
        "port3-8",
        "free",
    ):
        assert expected in said
    assert "x2" in said, "two cards are one box"
    free = [group for group in devices(root) if group.get("data-name") == "sw0.port3"]
    assert [group.get("data-count") for group in free] == ["6"]


def test_links_in_use_have_rates_and_are_drawn_apart_where_they_differ() -> None:
    run = lanewise.run(SCENARIOS / "switch.toml")
    use = use_of(run.document)
    root = check(scenario("switch"), use)
    said = " ".join(words(root))
    for name in ("card0", "card1", "sw0"):
        assert f"← {use[name].upstream_gb_per_s:.2f}" in said
        assert f"→ {use[name].downstream_gb_per_s:.2f} GB/s" in said
    assert {"card0", "card1"} <= {group.get("data-name") for group in devices(root)}
    alone = check(of_run(run.document), use)
    assert "card1" in words(alone)


def test_links_in_use_alike_are_one_box_with_the_range_of_their_rates() -> None:
    use = {f"card{n}": LinkUse(3.0 + n / 100, 0.5, 0.9 + n / 1000, 0.2) for n in range(4)}
    cards = [Node(f"card{n}", alike="card", link=Link(f"card{n}", "gen3 x4", 4)) for n in range(4)]
    root = check(Topology("four", (Node("host", sort=Sort.HOST, below=cards),)), use)
    assert "← 3.00-3.03  → 0.50 GB/s each" in words(root)


def test_a_forced_link_says_what_it_could_be() -> None:
    overrides = {"card1.link.force_width": "x1"}
    root = check(of_scenario(lanewise.explain(SCENARIOS / "switch.toml", overrides=overrides).document))
    assert "gen3 x1" in words(root)
    assert "can gen3 x4" in words(root)
    assert [line.get("class") for line in root.iter(f"{NS}line")].count("lw-below") == 2, "and the legend"
    # Forced to what it is anyway.
    same = {"card1.link.force_width": "x4"}
    assert "lw-below" not in {
        line.get("class")
        for line in check(
            of_scenario(lanewise.explain(SCENARIOS / "switch.toml", overrides=same).document)
        ).iter(f"{NS}line")
    }


def test_drives_and_networks_stand_in_the_scenario_as_it_is_written() -> None:
    root = check(scenario("storage"))
    assert "x8" in words(root)
    assert any("joins nic0.port1 and nic1.port1" in text for text in words(check(scenario("rdma_write"))))


def test_slots_of_several_sockets_are_below_them() -> None:
    said = words(check(scenario("two_sockets")))
    assert {"socket 0", "socket 1"} <= set(said)


HOSTILE = (
    "<script>alert(1)</script>",
    "a&b\"c'd]]>",
    "\x00\x1b[31m\x07\n\r\t",
    "\ud800 alone",
    "\u202eright to left\u2066",
    "\ufffe\uffff",
    "W" * 5000,
    "名前" * 200,
    "",
    "{{ 7*7 }} ${x} %s",
)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("embedded", [False, True])
def test_no_name_breaks_a_picture(name: str, embedded: bool) -> None:
    link = Link(name, name, 4, State.BELOW, name, name)
    below = [
        Node(f"{name}{n}", name, name, (name,), slot=name, slot_alike=name, link=link, alike=n)
        for n in range(3)
    ]
    topology = Topology(name, (Node(name, name, name, below=below, sort=Sort.HOST),), (name,))
    use = {name: LinkUse(1e9, 0.0, 1.0, 0.0)}
    for given in (None, use):
        text = topology_svg(topology, given, embedded=embedded)
        root = parsed(text)
        assert len(devices(root)) == 4
        tags = {element.tag.removeprefix(NS) for element in root.iter()}
        assert tags <= {"svg", "title", "desc", "style", "rect", "text", "g", "path", "line"}
        assert not {"id", "href", "onload"} & {key for element in root.iter() for key in element.attrib}
        check(topology, given)


def tower(levels: int) -> Topology:
    top = Node("host", sort=Sort.HOST)
    node = top
    for level in range(levels):
        below = Node(f"sw{level}", sort=Sort.SWITCH, link=Link(f"sw{level}", "gen4 x16", 16), alike=level)
        node.below.append(below)
        node = below
    return Topology("tower", (top,))


def test_what_does_not_fit_is_counted() -> None:
    check(tower(300))
    unlike = [Node(f"card{n}", alike=n, link=Link(f"card{n}", "gen3 x4", 4)) for n in range(5000)]
    root = check(Topology("many", (Node("host", below=unlike, sort=Sort.HOST),)))
    assert len(devices(root)) <= MOST_ROWS
    assert any(text.startswith("and 4,9") and text.endswith(" more") for text in words(root))


def test_nothing_and_a_single_card_are_pictures_too() -> None:
    check(Topology("nothing", ()))
    check(Topology("one", (Node("card"),)))


def test_themes() -> None:
    topology = scenario("switch")
    assert "prefers-color-scheme:dark" in topology_svg(topology)
    light, dark = (topology_svg(topology, theme=theme) for theme in ("light", "dark"))
    assert "prefers-color-scheme" not in light + dark
    assert light != dark


def test_a_page_of_many_pictures_has_the_styles_once() -> None:
    topology = scenario("switch")
    plain = topology_svg(topology, styled=False)
    assert "<style>" not in plain
    assert len(plain) < len(topology_svg(topology)) - len(rules("auto")) / 2


def test_what_is_free_may_be_left_out() -> None:
    whole = scenario("switch")
    few = whole.without_free()
    assert {node.name for node in few.walk()} == {"server", "sw0", "card0", "card1"}
    assert {"sw0.port3", "server.slot2"} < {node.name for node in whole.walk()}, "and the other is as it was"
    check(few)


def test_many_thousand_devices_are_a_small_picture() -> None:
    def switch(name: str, below: list[Node]) -> Node:
        return Node(name, sort=Sort.SWITCH, alike="switch", link=Link(name, "gen5 x16", 16), below=below)

    def card(name: str) -> Node:
        lanes = 1 if name == "card3.3.3" else 4
        return Node(name, alike="card", link=Link(name, f"gen5 x{lanes}", lanes))

    switches = [
        switch(
            f"a{i}", [switch(f"b{i}.{j}", [card(f"card{i}.{j}.{k}") for k in range(64)]) for j in range(16)]
        )
        for i in range(16)
    ]
    topology = Topology("many", (Node("host", sort=Sort.HOST, below=switches),))
    root = check(topology)
    assert len(devices(root)) < 20
    assert "card3.3.3" in words(root), "the one that differs is seen"
