"""A mistake that was said in a line becomes a message and a hint, whatever is in the names of files."""

from __future__ import annotations

import pytest

from lanewise.error_document import error_document


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("error: no such thing", "no such thing", None),
        ("error: no such thing; try another", "no such thing", "try another"),
        ("error: 'a; b.toml': No such file", "'a; b.toml': No such file", None),
        ("error: 'a; b': No such file; did you mean 'a; c'?", "'a; b': No such file", "did you mean 'a; c'?"),
        ("error: 'it's; here.toml': No such file", "'it's; here.toml': No such file", None),
        (
            "error: 'it's; here.toml': No such file; try 'it's.toml'",
            "'it's; here.toml': No such file",
            "try 'it's.toml'",
        ),
        ("error: it's no link; write 'gen4 x4'", "it's no link", "write 'gen4 x4'"),
        ("error: the hosts' names differ; name one", "the hosts' names differ", "name one"),
        ("error: no such thing ('a; b'); try another", "no such thing ('a; b')", "try another"),
        ("error: cannot read `a; b`: Is a directory", "cannot read `a; b`: Is a directory", None),
    ],
)
def test_a_hint_begins_behind_a_semicolon_of_no_name(text: str, message: str, hint: str | None) -> None:
    (record,) = error_document(2, text, None)["errors"]  # type: ignore[misc]
    assert (record["message"], record["hint"]) == (message, hint)
