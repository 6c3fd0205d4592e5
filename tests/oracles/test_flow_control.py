"""Credit loops: the worked examples."""

from __future__ import annotations

import pytest

from lanewise.oracle import flow_control


def test_a_loop_of_600_ns_needs_five_tlps() -> None:
    assert flow_control.credits_needed(loop_ns=600, tlp_ns=148, payload=128) == (5, 40)


def test_the_legal_minimum_goes_round_once_a_loop() -> None:
    limited = flow_control.credit_limited_gb_per_s(headers=1, data=8, payload=128, loop_ns=600)
    assert limited == pytest.approx(0.213, abs=5e-4)


def test_the_scarcer_credit_counts() -> None:
    assert flow_control.tlps_outstanding(headers=5, data=39, payload=128) == 4
    assert flow_control.tlps_outstanding(headers=3, data=39, payload=128) == 3
    assert flow_control.tlps_outstanding(headers=None, data=39, payload=128) == 4
    assert flow_control.tlps_outstanding(headers=None, data=None, payload=128) is None
    assert flow_control.tlps_outstanding(headers=7, data=1, payload=0) == 7
    assert flow_control.credit_limited_gb_per_s(headers=None, data=None, payload=64, loop_ns=1) is None


def test_a_loop_is_the_sum_of_its_parts() -> None:
    loop = flow_control.CreditLoop(
        tlp_serialisation_ns=148,
        wire_ns=10,
        drain_ns=200,
        update_wait_ns=150,
        update_serialisation_ns=8,
        processing_ns=84,
    )
    assert loop.total_ns == 600


@pytest.mark.parametrize(
    ("mps", "cells"),
    [
        (128, (8, 12, 32)),
        (256, (16, 20, 32)),
        (512, (32, 36, 48)),
        (1024, (64, 68, 80)),
        (2048, (128, 132, 144)),
        (4096, (256, 260, 272)),
    ],
)
def test_minimum_posted_data(mps: int, cells: tuple[int, ...]) -> None:
    assert tuple(flow_control.minimum_posted_data(mps=mps, scale=scale) for scale in (1, 4, 16)) == cells
