"""Which pairs of a scenario's devices are alike, and which devices a pattern means."""

from __future__ import annotations

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


def test_a_pattern_with_brackets_means_members_only() -> None:
    assert _is_meant("gpu[0]", "gpu[*]")
    assert not _is_meant("gpu_b[0]", "gpu[*]")
    assert _is_meant("gpu_b[0]", "gpu*")
