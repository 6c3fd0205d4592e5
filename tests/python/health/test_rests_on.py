"""What a prediction rests on, of results that name a pool of credits in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from lanewise.health.predict.rests_on import RestsOn

if TYPE_CHECKING:
    from lanewise.documents import Run

PATH = "sw.ports.port0.credits.posted_data"


@pytest.mark.parametrize(
    ("name", "waited", "said"),
    [("sw.credits", 0.0, 0), ("sw.credits", 0.3, 1), ("elsewhere.credits", 0.0, 1)],
)
def test_credits_are_left_out_where_a_link_says_that_nothing_waited(
    name: str, waited: float, said: int
) -> None:
    """Credits of what no link has a name for are said, and not an end of the prediction."""
    side = {"time_attribution": {"blocked_posted_data": waited}}
    document = {
        "limited_by": {"kind": "credits", "name": name, "edits": [{"settings": [{"path": PATH}]}]},
        "assumptions": [{"path": PATH, "value": "4 KiB", "provenance": "assumed", "source": "a page"}],
        "links": [{"upper": "sw", "lower": "ssd", "upstream": side, "downstream": side}],
    }
    rests_on = RestsOn({})
    rests_on.note(cast("Run", document), "alone")
    assert len(rests_on.said()) == said
