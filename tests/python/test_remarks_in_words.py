"""Remarks on what a scenario states: what a value does, and why; of older runs the reason alone."""

from __future__ import annotations

from typing import Any

from lanewise.remarks import remarks_in_words

REMARK = {"path": "cable.rate", "value": "100 GB/s", "place": "rig.toml:3", "reason": "a port has 50 GB/s"}


def test_a_remark_says_what_the_value_does() -> None:
    document: Any = {"remarks": [REMARK | {"effect": "faster", "does": "makes the wire faster"}]}
    assert remarks_in_words(document) == [
        "rig.toml:3: cable.rate = 100 GB/s makes the wire faster: a port has 50 GB/s"
    ]


def test_a_run_without_these_words_is_not_given_others() -> None:
    document: Any = {"remarks": [REMARK | {"effect": "slower"}]}
    assert remarks_in_words(document) == ["rig.toml:3: cable.rate = 100 GB/s: a port has 50 GB/s"]
    assert remarks_in_words({}) == []  # type: ignore[typeddict-item]
