"""What a prediction rests on, of results in which a pool of credits limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from lanewise.health.predict.rests_on import RestsOn

if TYPE_CHECKING:
    from lanewise.documents import Run

PATH = "sw.ports.port0.credits.posted_data"


@pytest.mark.parametrize(
    ("direction", "said"),
    [("upstream", 1), ("downstream", 0)],
)
def test_credits_are_left_out_where_nothing_waited_for_them(direction: str, said: int) -> None:
    """Upstream data waited for them, downstream none did."""
    waited, free = ({"time_attribution": {"blocked_posted_data": share}} for share in (0.3, 0.0))
    document = {
        "limited_by": {
            "kind": "credits",
            "places": [{"component": "ssd", "direction": direction}],
            "edits": [{"settings": [{"path": PATH}]}],
        },
        "assumptions": [{"path": PATH, "value": "4 KiB", "provenance": "assumed", "source": "a page"}],
        "links": [{"name": "ssd", "upstream": waited, "downstream": free}],
    }
    rests_on = RestsOn({})
    rests_on.note(cast("Run", document), "alone")
    assert len(rests_on.said()) == said
