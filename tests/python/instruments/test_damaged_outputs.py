"""Whatever happened to an output on its way: it is read, or refused with a reason, and nothing else."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_gpu_copies import BANDWIDTH_TEST, NVBANDWIDTH_TEXT, PEER_TEST
from test_iperf3 import output

from lanewise.errors import InputError
from lanewise.health.judge.detect import decoded, parse_measurement

FIO = (
    '{"fio version": "fio-3.35", "jobs": '
    '[{"jobname": "a", "read": {"total_ios": 1, "bw_bytes": 1, "iops": 1.0}}]}'
)
WHOLE = (NVBANDWIDTH_TEXT, BANDWIDTH_TEST, PEER_TEST, output(), FIO)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(WHOLE),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 60), st.text(max_size=8)), max_size=4),
)
def test_cut_and_pasted_outputs(text: str, edits: list[tuple[int, int, str]]) -> None:
    for place, length, instead in edits:
        at = place % (len(text) + 1)
        text = text[:at] + instead + text[at + length :]
    with contextlib.suppress(InputError):
        parse_measurement(text)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    with contextlib.suppress(InputError):
        parse_measurement(decoded(data, "x"))


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_nothing_is_said_to_be_empty(text: str) -> None:
    with pytest.raises(InputError, match=r"'nothing\.txt' is empty; Lanewise reads outputs of fio"):
        parse_measurement(text, source="nothing.txt")
