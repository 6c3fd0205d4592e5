"""What a scenario states and what changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def remarks(document: Mapping[str, Any]) -> Iterator[Text]:
    """Name each such value of a run or an explanation, where it is written and why nothing reads it."""
    for remark in document.get("remarks", []):
        text = "{place}: {path} = {value} changes nothing: {reason}\n".format_map(remark)
        yield Text(text, style="yellow")
