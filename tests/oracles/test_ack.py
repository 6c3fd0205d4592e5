"""Every cell of the Ack latency and replay tables, in symbol times."""

from __future__ import annotations

import pytest

from lanewise.oracle import ack

MPS = (128, 256, 512, 1024, 2048, 4096)

# PCIe Base Tables 3-10 to 3-12, with x12 and x32 from Tables 2-52 to 2-54.
ACK = {
    1: {
        1: (237, 416, 559, 1071, 2095, 4143),
        2: (128, 217, 289, 545, 1057, 2081),
        4: (73, 118, 154, 282, 538, 1050),
        8: (67, 107, 86, 150, 278, 534),
        12: (58, 90, 109, 194, 365, 706),
        16: (48, 72, 86, 150, 278, 534),
        32: (33, 45, 52, 84, 148, 276),
    },
    2: {
        1: (288, 467, 610, 1122, 2146, 4194),
        2: (179, 268, 340, 596, 1108, 2132),
        4: (124, 169, 205, 333, 589, 1101),
        8: (118, 158, 137, 201, 329, 585),
        12: (109, 141, 160, 245, 416, 757),
        16: (99, 123, 137, 201, 329, 585),
        32: (84, 96, 103, 135, 199, 327),
    },
    3: {
        1: (333, 512, 655, 1167, 2191, 4239),
        2: (224, 313, 385, 641, 1153, 2177),
        4: (169, 214, 250, 378, 634, 1146),
        8: (163, 203, 182, 246, 374, 630),
        12: (154, 186, 205, 290, 461, 802),
        16: (144, 168, 182, 246, 374, 630),
        32: (129, 141, 148, 180, 244, 372),
    },
}

# PCIe Base 3.1, replay timer tables without the L0s adjustment.
REPLAY = {
    1: {
        1: (711, 1248, 1677, 3213, 6285, 12429),
        2: (384, 651, 867, 1635, 3171, 6243),
        4: (219, 354, 462, 846, 1614, 3150),
        8: (201, 321, 258, 450, 834, 1602),
        16: (144, 216, 258, 450, 834, 1602),
    },
    2: {
        1: (864, 1401, 1830, 3366, 6438, 12582),
        2: (537, 804, 1020, 1788, 3324, 6396),
        4: (372, 507, 615, 999, 1767, 3303),
        8: (354, 474, 411, 603, 987, 1755),
        16: (297, 369, 411, 603, 987, 1755),
    },
    3: {
        1: (999, 1536, 1965, 3501, 6573, 12717),
        2: (672, 939, 1155, 1923, 3459, 6531),
        4: (507, 642, 750, 1134, 1902, 3438),
        8: (489, 609, 546, 738, 1122, 1890),
        16: (432, 504, 546, 738, 1122, 1890),
    },
}


@pytest.mark.parametrize(("generation", "lanes"), [(g, w) for g in ACK for w in ACK[g]])
def test_ack_latency(generation: int, lanes: int) -> None:
    row = tuple(ack.ack_latency_limit(mps=mps, lanes=lanes, generation=generation) for mps in MPS)
    assert row == ACK[generation][lanes]


@pytest.mark.parametrize(("generation", "lanes"), [(g, w) for g in REPLAY for w in REPLAY[g]])
def test_replay_timer(generation: int, lanes: int) -> None:
    row = tuple(ack.replay_timer_limit(mps=mps, lanes=lanes, generation=generation) for mps in MPS)
    assert row == REPLAY[generation][lanes]


def test_flit_only_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="Flit Mode"):
        ack.ack_latency_limit(mps=256, lanes=8, generation=6)
