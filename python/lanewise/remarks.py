"""What a scenario states and what changes nothing, or does more than one might think: in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise.documents import Explain, Run


def remarks_in_words(document: Run | Explain) -> list[str]:
    """Return a sentence for each such value of a run or an explanation: where it is, what it does, and why.

    Of a run that was kept before remarks had the words for what a value does, only the reason is said.
    """
    return [
        f"{remark['place']}: {remark['path']} = {remark['value']}"
        f"{' ' + does if (does := remark.get('does')) else ''}: {remark['reason']}"
        for remark in document.get("remarks", [])
    ]
