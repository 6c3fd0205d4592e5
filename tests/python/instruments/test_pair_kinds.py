"""Which pairs of a scenario's devices are alike, and which devices a pattern means."""

from __future__ import annotations

from itertools import permutations

import pytest

from lanewise.runs.copy_matrix import _is_meant
from lanewise.runs.pair_kinds import PairKinds
from lanewise.runs.simulator import resolve

TWO = """
title = "Two sockets"

[host.server]
part = "intel-sapphire-rapids"

[host.server.slots]
slot1 = { link = "gen5 x16", socket = 0 }
slot2 = { link = "gen5 x16", socket = 1 }
slot3 = { link = "gen5 x16", socket = 0 }

[endpoint]
a = { part = "nvidia-l40s", attach = "server.slot1", memory_socket = 0 }
b = { part = "nvidia-l40s", attach = "server.slot2", memory_socket = 0 }
c = { part = "nvidia-l40s", attach = "server.slot3" }

[[workload]]
kind = "dma"
name = "reads"
device = "a"
direction = "read"
size = "1 MiB"
"""


def test_buffers_at_another_socket_make_another_kind() -> None:
    kinds = PairKinds(resolve(TWO).document)
    near, far, untold = (kinds.kind(name, name) for name in "abc")
    assert near != far
    assert near == untold


GPUS = """
title = "GPUs of one part"

[host.node]
count = {hosts}
peer_to_peer = true

[host.node.slots]
slot1 = {{ link = "gen4 x16", socket = 0 }}
slot2 = {{ link = "gen4 x16", socket = 0 }}
slot3 = {{ link = "gen4 x16", socket = 1 }}

[endpoint.gpu]
part = "nvidia-l40s"
count = {gpus}
attach = "{place}"
"""
ONE_HOST = (
    GPUS.format(hosts=1, gpus=3, place="node.*")
    .replace("count = 1\n", "")
    .replace("socket = 1", "socket = 0")
)
TWO_HOSTS = GPUS.format(hosts=2, gpus=6, place="node[*].*")
SWITCHES = """
title = "Two switches of one kind"

[host.server]
slots = { "slot1..slot2" = "gen4 x16" }
peer_to_peer = true

[switch.sw]
count = 2
attach = "server.*"
ports = { port0 = "gen4 x16", "port1..port2" = "gen4 x16" }

[endpoint.gpu]
part = "nvidia-l40s"
count = 4
attach = "sw[*].*"
"""


def grouped(
    scenario: str, overrides: list[tuple[str, str]], numbers: tuple[int, ...]
) -> list[set[tuple[int, int]]]:
    """Group the ordered pairs of some GPUs by their kind."""
    kinds = PairKinds(resolve(scenario, overrides).document)
    found: dict[object, set[tuple[int, int]]] = {}
    for one, other in permutations(numbers, 2):
        found.setdefault(kinds.kind(f"gpu[{one}]", f"gpu[{other}]"), set()).add((one, other))
    return sorted(found.values(), key=sorted)


@pytest.mark.parametrize("value", [("copy_engine.outstanding", "2 KiB"), ("link.propagation", "2 us")])
def test_what_one_device_is_set_to_makes_another_kind(value: tuple[str, str]) -> None:
    for apart in range(3):
        path = f"gpu[{apart}].{value[0]}"
        one, other = (each for each in range(3) if each != apart)
        assert grouped(ONE_HOST, [(path, value[1])], (0, 1, 2)) == sorted(
            [{(one, other), (other, one)}, {(apart, one), (apart, other)}, {(one, apart), (other, apart)}],
            key=sorted,
        )


def test_what_one_switch_is_set_to_makes_another_kind() -> None:
    pairs = (0, 1), (1, 0)
    of_second = (2, 3), (3, 2)
    assert {*pairs, *of_second} in grouped(SWITCHES, [], (0, 1, 2, 3))
    for path in ("sw[1].acs_redirect", "sw[0].acs_redirect"):
        found = grouped(SWITCHES, [(path, "true")], (0, 1, 2, 3))
        assert set(pairs) in found
        assert set(of_second) in found


def test_sockets_of_each_of_several_hosts_count() -> None:
    near, far = {(0, 1), (1, 0)}, {(0, 2), (1, 2), (2, 0), (2, 1)}
    assert grouped(TWO_HOSTS, [], (0, 1, 2)) == [near, far]
    assert grouped(TWO_HOSTS, [], (3, 4, 5)) == [{(a + 3, b + 3) for a, b in each} for each in (near, far)]


def test_side_links_join_those_of_their_row() -> None:
    side_link = ("gpu.side_link.rate", "100 GB/s")
    every = set(permutations(range(3), 2))
    bridge = {(0, 1), (1, 0)}
    assert grouped(ONE_HOST, [side_link], (0, 1, 2)) == [every]
    assert grouped(ONE_HOST, [side_link, ("gpu.side_link.joins", "2")], (0, 1, 2)) == [bridge, every - bridge]
    kinds = PairKinds(resolve(TWO_HOSTS, [side_link, ("gpu.side_link.joins", "2")]).document)
    joined = {(a, b) for a, b in permutations(range(6), 2) if kinds.are_joined(f"gpu[{a}]", f"gpu[{b}]")}
    assert joined == {(0, 1), (1, 0), (3, 4), (4, 3)}


def test_a_pattern_with_brackets_means_members_only() -> None:
    assert _is_meant("gpu[0]", "gpu[*]")
    assert not _is_meant("gpu_b[0]", "gpu[*]")
    assert _is_meant("gpu_b[0]", "gpu*")
