"""What a scenario states and what changes nothing, or does more than one might think."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.remarks import remarks_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.documents import Explain, Run


def remarks(document: Run | Explain) -> Iterator[Text]:
    """Name each such value of a run or an explanation, where it is written and why it is worth a word."""
    for sentence in remarks_in_words(document):
        yield Text(f"{sentence}\n", style="yellow")
