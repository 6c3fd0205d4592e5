"""What is tried on a machine: ACS, the IOMMU, other slots, and one change for all devices."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from machines import GPU, NIC, NVME, function, machine, pair, switched

import lanewise
from lanewise.errors import InputError
from lanewise.health.predict import predict
from lanewise.health.predict.peers import predict_peers
from lanewise.health.predict.what_if import NO_ORDER, WhatIf, parse_what_if
from lanewise.machine.model import Kind, Machine, Slot
from lanewise.machine.path_type import path_type

REDIRECT = frozenset({"ReqRedir", "CmpltRedir"})
NV: dict[str, Any] = {"class_code": GPU, "vendor": 0x10DE}
ADAPTER: dict[str, Any] = {"class_code": NIC}


def acs_of(tried: WhatIf) -> dict[str, bool]:
    return {
        port.address.short: "ReqRedir" in ((port.registers.acs and port.registers.acs.enabled) or ())
        for port in tried.machine
        if tried.machine.role(port) is Kind.DOWNSTREAM_PORT
    }


@pytest.mark.parametrize(
    ("text", "redirecting"),
    [
        ("all -> acs on", ["02:00.0", "02:01.0"]),
        ("01:00.0 -> acs on", ["02:00.0", "02:01.0"]),
        ("02:01.0 -> acs on", ["02:01.0"]),
        ("04:00.0 -> acs on", ["02:01.0"]),
        ("04:00.0 -> ACS ON, mps 128", ["02:01.0"]),
    ],
)
def test_acs_is_of_a_device_a_port_a_switch_or_all(text: str, redirecting: list[str]) -> None:
    tried = parse_what_if([text], switched(NV, ADAPTER))
    assert [bdf for bdf, redirects in acs_of(tried).items() if redirects] == redirecting
    assert [change.mps for change in tried.changes.values()] == ([128] if "mps" in text else [])


def test_without_acs_a_pair_is_direct_again() -> None:
    made = switched(NV, ADAPTER, uplink="16 x4", acs=REDIRECT)
    before = predict_peers(made).pairs[-1]
    after = predict_peers(parse_what_if(["all -> acs off"], made).machine).pairs[-1]
    assert (before.redirected_by, after.redirected_by) == ("ACS", None)
    assert after.write_gb_per_s == before.write_direct_gb_per_s
    assert (after.write_gb_per_s or 0) > 3 * (before.write_gb_per_s or 0)


@pytest.mark.parametrize(
    ("how", "by"), [("on", "IOMMU"), ("off", None), ("pass-through", None), ("pt", None)]
)
def test_an_iommu_that_translates_sends_pairs_up(how: str, by: str | None) -> None:
    tried = parse_what_if([f"all -> iommu {how}"], switched(NV, ADAPTER))
    assert tried.translates == (how == "on")
    assert predict_peers(tried.machine).pairs[-1].redirected_by == by


@pytest.mark.parametrize(
    "text",
    ["all -> acs off", "all -> acs on", "03:00.0 -> acs on", "04:00.0 -> acs on"]
    + [f"all -> iommu {how}" for how in ("on", "off", "pass-through")],
)
def test_rows_of_peers_say_what_their_pairs_say(text: str) -> None:
    """Two GPUs below a switch with a narrow uplink: a copy is at a quarter of the rate where it goes up."""
    tried = parse_what_if([text], switched(NV, NV, uplink="16 x4"))
    rows = predict(tried.machine, translated=bool(tried.translates), together=False).rows
    of_rows = {
        (row.bdf, row.benchmark.split()[-1]): row.alone_gb_per_s for row in rows if "peer" in row.benchmark
    }
    pairs = predict_peers(tried.machine).pairs
    assert of_rows == pytest.approx(
        {(each.device, each.peer): each.write_gb_per_s for each in pairs}, rel=3e-3
    )


def test_an_iommu_costs_small_transfers_of_a_device_with_memory_too() -> None:
    """Frames of 64 B in many pages: each page that the cache of translations misses is walked for."""
    made = machine(
        function("00:01.0", Kind.ROOT_PORT), function("01:00.0", Kind.ENDPOINT, parent="00:01.0", **ADAPTER)
    )
    plain, translated = (predict(made, translated=on, together=False) for on in (False, True))
    sent = [
        next(row.alone_gb_per_s or 0.0 for row in each.rows if row.benchmark == "send 9000 B frames")
        for each in (plain, translated)
    ]
    assert sent[1] < sent[0]
    assert any("the IOMMU translates" in each for each in translated.assumptions)
    assert not any("the IOMMU translates" in each for each in plain.assumptions)


def test_one_change_of_all_devices() -> None:
    tried = parse_what_if(["all -> relaxed-ordering off mrrs 4096"], switched(NV, ADAPTER))
    assert {str(address.short) for address in tried.changes} == {"03:00.0", "04:00.0"}
    assert {(each.relaxed_ordering, each.mrrs) for each in tried.changes.values()} == {(False, 4096)}


def boards() -> Machine:
    """A GPU below a switch with an empty x8 port at node 0; an adapter and an empty slot 7 at node 1."""
    free: dict[str, Any] = {"registers": {"slot": Slot(number=7)}}
    return machine(
        function("00:01.0", Kind.ROOT_PORT, numa_node=0),
        function("01:00.0", Kind.UPSTREAM_PORT, parent="00:01.0", numa_node=0),
        function("02:00.0", Kind.DOWNSTREAM_PORT, parent="01:00.0", numa_node=0),
        function("02:01.0", Kind.DOWNSTREAM_PORT, parent="01:00.0", numa_node=0, can="16 x8"),
        function("03:00.0", Kind.ENDPOINT, parent="02:00.0", numa_node=0, **NV),
        function("80:01.0", Kind.ROOT_PORT, numa_node=1),
        function("81:00.0", Kind.ENDPOINT, parent="80:01.0", numa_node=1, **ADAPTER),
        function("81:00.1", Kind.ENDPOINT, parent="80:01.0", numa_node=1, **ADAPTER),
        function("80:02.0", Kind.ROOT_PORT, numa_node=1, can="16 x4", **free),
    )


def test_a_device_in_another_place_trains_to_what_both_ends_can_do() -> None:
    made = boards()
    assert path_type(made, made["03:00.0"], made["81:00.0"]) == "SYS"
    tried = parse_what_if(["81:00.0 -> below 02:01.0"], made).machine
    for bdf in ("81:00.0", "81:00.1"):
        assert tried.parent(tried[bdf]) is tried["02:01.0"]
        assert tried[bdf].numa_node == 0
    assert path_type(tried, tried["03:00.0"], tried["81:00.0"]) == "PIX"
    link = tried.link_above(tried["81:00.0"])
    assert link is not None
    assert (str(link.now), link.below_width, tried.link_below(tried["80:01.0"])) == ("16GT/s x8", False, None)
    before, after = (predict_peers(each).pairs[-1].write_gb_per_s or 0 for each in (made, tried))
    assert after == pytest.approx(before / 2, rel=0.1), "half of the lanes"


def test_an_empty_slot_by_its_number() -> None:
    tried = parse_what_if(["03:00.0 -> slot 7"], boards()).machine
    assert tried.parent(tried["03:00.0"]) is tried["80:02.0"]
    assert tried["03:00.0"].numa_node == 1
    assert path_type(tried, tried["03:00.0"], tried["81:00.0"]) == "PHB"


def test_a_slot_number_of_two_ports_is_refused_by_their_addresses() -> None:
    free: dict[str, Any] = {"registers": {"slot": Slot(number=7)}}
    made = machine(
        function("00:01.0", Kind.ROOT_PORT),
        function("00:02.0", Kind.ROOT_PORT, **free),
        function("00:03.0", Kind.ROOT_PORT, **free),
        function("01:00.0", Kind.ENDPOINT, parent="00:01.0", **NV),
    )
    with pytest.raises(InputError, match=re.escape("00:02.0, 00:03.0")):
        parse_what_if(["01:00.0 -> slot 7"], made)


def test_two_devices_exchanged() -> None:
    tried = parse_what_if(["03:00.0 <-> 81:00.0"], boards()).machine
    assert tried.parent(tried["03:00.0"]) is tried["80:01.0"]
    assert tried.parent(tried["81:00.1"]) is tried["02:00.0"]
    assert (tried["03:00.0"].numa_node, tried["81:00.0"].numa_node) == (1, 0)


def navi() -> Machine:
    """A GPU with a switch inside (1002:1478, 1479) at node 0; an adapter and an empty x4 port at node 1."""
    made = machine(
        function("00:01.0", Kind.ROOT_PORT, numa_node=0),
        function("01:00.0", Kind.UPSTREAM_PORT, parent="00:01.0", vendor=0x1002, numa_node=0),
        function("02:00.0", Kind.DOWNSTREAM_PORT, parent="01:00.0", vendor=0x1002, numa_node=0),
        function("03:00.0", Kind.ENDPOINT, parent="02:00.0", class_code=GPU, vendor=0x1002, numa_node=0),
        function("80:01.0", Kind.ROOT_PORT, numa_node=1),
        function("81:00.0", Kind.ENDPOINT, parent="80:01.0", numa_node=1, **ADAPTER),
        function("80:02.0", Kind.ROOT_PORT, numa_node=1, can="16 x4"),
    )
    known = dict(made.functions)
    for bdf, device_id in (("01:00.0", 0x1478), ("02:00.0", 0x1479)):
        one = made[bdf]
        known[one.address] = replace(one, identity=replace(one.identity, device_id=device_id))
    return replace(made, functions=known)


def test_a_gpu_takes_the_switch_inside_it_along() -> None:
    made = navi()
    moved = parse_what_if(["03:00.0 -> below 80:02.0"], made).machine
    way = [bridge.address.short for bridge in moved.path(moved["03:00.0"])]
    assert way == ["02:00.0", "01:00.0", "80:02.0"]
    link = moved.link_above(moved["01:00.0"])
    assert link is not None
    assert (str(link.now), moved["03:00.0"].numa_node) == ("16GT/s x4", 1)
    assert moved.link_below(moved["00:01.0"]) is None
    swapped = parse_what_if(["03:00.0 <-> 81:00.0"], made).machine
    way = [bridge.address.short for bridge in swapped.path(swapped["03:00.0"])]
    assert way == ["02:00.0", "01:00.0", "80:01.0"]
    assert swapped.parent(swapped["81:00.0"]) is swapped["00:01.0"]
    whole, narrow = (predict_peers(each).pairs[-1].write_gb_per_s or 0 for each in (swapped, moved))
    assert narrow == pytest.approx(whole / 4, rel=0.1), "a quarter of the lanes"


@pytest.mark.parametrize("place", ["slot 7", "below 80:02.0"])
@pytest.mark.parametrize(
    "text", ["03:00.0 -> {}, mrrs 512", "03:00.0 -> mrrs 512, {}", "03:00.0 -> {} mrrs 512"]
)
def test_a_place_goes_with_settings(place: str, text: str) -> None:
    tried = parse_what_if([text.format(place)], boards())
    assert tried.machine.parent(tried.machine["03:00.0"]) is tried.machine["80:02.0"]
    assert [(str(at), change.mrrs) for at, change in tried.changes.items()] == [("0000:03:00.0", 512)]


def test_changes_are_done_in_their_order() -> None:
    tried = parse_what_if(["81:00.0 -> below 02:01.0", "81:00.0 -> acs on, gen3"], boards())
    assert acs_of(tried) == {"02:00.0": False, "02:01.0": True}
    assert [change.gt_s for change in tried.changes.values()] == [8.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("00:01.0 -> acs off", "no port of a switch"),
        ("03:00.0 -> iommu on", "write 'all -> iommu on'"),
        ("all -> slot 7", "one device goes to one place"),
        ("03:00.0 -> slot 9", "no empty slot '9'; empty slots are 1, 7"),
        ("03:00.0 -> below 80:01.0", "'03:00.0 <-> 81:00.0' exchanges the two"),
        (
            "03:00.0 -> below 81:00.0",
            "not a port below which a device can be; empty ones are 02:01.0, 80:02.0",
        ),
        ("03:00.0 <-> 03:00.0", "are at one port"),
        ("03:00.0 <-> 05:00.0", "no function 05:00.0"),
        ("03:00.0 -> acs", "is not a setting"),
        ("03:00.0 acs off", "is not a change"),
        (
            "03:00.0 <-> 81:00.0, mrrs 512",
            "an exchange has no settings: write 'mrrs 512' as another --what-if",
        ),
    ],
)
def test_what_cannot_be_tried_is_said(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        parse_what_if([text], boards())


def test_a_switch_does_not_go_below_itself() -> None:
    with pytest.raises(InputError, match="is below 01:00\\.0 itself"):
        parse_what_if(["01:00.0 -> below 02:01.0"], boards())


def test_a_drive_keeps_its_rows_where_it_goes() -> None:
    made = machine(
        function("00:01.0", Kind.ROOT_PORT, can="16 x4"),
        function("01:00.0", Kind.ENDPOINT, parent="00:01.0", class_code=NVME, can="16 x4"),
        function("00:02.0", Kind.ROOT_PORT, can="8 x4"),
    )
    tried = parse_what_if(["01:00.0 -> below 00:02.0"], made)
    rows = [predict(each, together=False).rows[0] for each in (made, tried.machine)]
    assert [row.link for row in rows] == ["gen4 x4", "gen3 x4"]


@pytest.mark.parametrize("simulate", [lanewise.predict, lanewise.predict_peers])
def test_relaxed_ordering_that_moves_nothing_is_said_to(simulate: Any) -> None:
    made = switched(NV, ADAPTER)
    tried = simulate(made, what_if=["all -> relaxed-ordering on"])
    assert NO_ORDER in tried.notes
    assert NO_ORDER not in simulate(made, what_if=["all -> mps 128"]).notes
    assert NO_ORDER in simulate(made, what_if=["all -> relaxed-ordering on, mps 128"]).notes


SMALL, LARGE = {"mps_supported": 256}, {"mps_supported": 512}
NO_TEN = {"ten_bit_tags_requester": False}


@pytest.mark.parametrize(
    ("port", "device", "text", "who"),
    [
        (LARGE, SMALL, "01:00.0 -> mps 512", "01:00.0 supports payloads of at most 256 B; write 'mps 256'"),
        (SMALL, LARGE, "slot 1 -> mps 512", "00:01.0 supports payloads of at most 256 B; write 'mps 256'"),
        (LARGE, NO_TEN, "01:00.0 -> tags 10", "01:00.0 does not support tags of 10 bits; write 'tags 8'"),
        (
            {"ten_bit_tags_completer": False},
            {},
            "01:00.0 -> gen5, tags 10",
            "00:01.0 does not support tags of 10 bits; write 'tags 8'",
        ),
    ],
)
def test_what_a_register_on_the_way_does_not_allow_is_refused_for_a_device(
    port: dict[str, Any], device: dict[str, Any], text: str, who: str
) -> None:
    with pytest.raises(InputError, match=re.escape(f"'{text}': {who}")):
        parse_what_if([text], pair(port={"transfers": port}, transfers=device))


def test_all_devices_get_the_most_that_their_ways_allow() -> None:
    """The bridge in the middle is the smallest, and the note says of which devices."""
    whole = switched({"transfers": {"mps_supported": 1024}}, {"transfers": {"mps_supported": 128}})
    tried = parse_what_if(["all -> mps 512"], whole)
    assert [change.mps for change in tried.changes.values()] == [256, 128]
    ceilings = {
        row.bdf: row.ceiling_gb_per_s
        for row in lanewise.predict(whole, what_if=["all -> mps 512"]).rows
        if row.benchmark == "fio read 128 KiB"
    }
    assert list(ceilings) == ["03:00.0", "04:00.0"]
    assert ceilings["03:00.0"] == pytest.approx(16 * 16 * 128 / 130 / 8 * 256 / 280)
    assert ceilings["04:00.0"] == pytest.approx(16 * 16 * 128 / 130 / 8 * 128 / 152)
    notes = lanewise.predict(whole, what_if=["all -> mps 512"]).notes
    assert "03:00.0: payloads of 256 B, the most that the way supports" in notes
    assert "04:00.0: payloads of 128 B, the most that the way supports" in notes


def test_what_no_register_says_is_taken_to_be_possible() -> None:
    unknown = {"mps_supported": None, "ten_bit_tags_requester": None, "ten_bit_tags_completer": None}
    blank = pair(port={"transfers": unknown}, transfers=unknown)
    tried = parse_what_if(["01:00.0 -> mps 4096, tags 10"], blank)
    assert [(change.mps, change.tag_bits) for change in tried.changes.values()] == [(4096, 10)]
    assert tried.notes == ()
