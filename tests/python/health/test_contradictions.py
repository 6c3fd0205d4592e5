"""Links whose status is beyond what their ends can do: garbled dumps have them, and the rest still counts."""

from __future__ import annotations

import pytest
from machines import NVME, function, machine

from lanewise.health.doctor import diagnose
from lanewise.health.predict import predict
from lanewise.machine.model import Kind, Machine


def drives(now: str) -> Machine:
    """Return two drives of gen4 x4, the first of which says that it runs like that."""
    return machine(
        function("00:01.0", Kind.ROOT_PORT, can="16 x4", now=now),
        function("01:00.0", Kind.ENDPOINT, can="16 x4", now=now, parent="00:01.0", class_code=NVME),
        function("00:02.0", Kind.ROOT_PORT, can="16 x4"),
        function("02:00.0", Kind.ENDPOINT, can="16 x4", parent="00:02.0", class_code=NVME),
    )


@pytest.mark.parametrize(("now", "taken"), [("32 x2", "gen4 x2"), ("8 x8", "gen3 x4"), ("32 x8", "gen4 x4")])
def test_the_ends_are_believed_and_the_link_is_named(now: str, taken: str) -> None:
    prediction = predict(drives(now), together=False)
    assert {row.bdf: row.link for row in prediction.rows} == {"01:00.0": taken, "02:00.0": "gen4 x4"}
    (note,) = [note for note in prediction.notes if "contradicts itself" in note]
    assert note.startswith("00:01.0 -> 01:00.0 ")
    assert note in diagnose(drives(now), cost=False).notes


def test_links_in_order_and_links_of_unknown_ends_are_not_blamed() -> None:
    assert drives("8 x4").contradictions == ()
    assert machine(*drives("16 x4").functions.values()).contradictions == ()


def test_many_of_them_are_counted() -> None:
    ports = [function(f"00:{n:02x}.0", Kind.ROOT_PORT, can="8 x4") for n in range(1, 9)]
    below = [
        function(f"{n:02x}:00.0", Kind.ENDPOINT, can="8 x4", now="16 x4", parent=f"00:{n:02x}.0")
        for n in range(1, 9)
    ]
    said = machine(*ports, *below).contradictions
    assert len(said) == 5
    assert said[-1] == "4 more links contradict themselves"
