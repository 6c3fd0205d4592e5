"""Damaged dumps and outputs are read or refused; `mutations.py` goes on for as long as one likes."""

from __future__ import annotations

import pytest
from mutations import failures, mutated


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_damaged_inputs_are_read_or_refused(start: int) -> None:
    assert not list(failures(iter(range(start, start + 20)), seconds=600))


def test_a_seed_makes_the_same_input_again() -> None:
    assert mutated(7) == mutated(7) != mutated(8)
