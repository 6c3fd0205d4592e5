"""What a scenario states and what changes nothing, or costs more than one might think."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.documents import Explain, Run


def remarks(document: Run | Explain) -> Iterator[Text]:
    """Name each such value of a run or an explanation, where it is written and why it is worth a word."""
    for remark in document.get("remarks", []):
        does = remark.get("does", "changes nothing")
        yield Text(
            f"{remark['place']}: {remark['path']} = {remark['value']} {does}: {remark['reason']}\n",
            style="yellow",
        )
