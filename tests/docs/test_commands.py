"""Commands that pages show without their output name verbs, options and files that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from lanewise.cli.commands import app

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```sh\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"(?:^|[|;]\s*|sudo )lanewise (?P<words>(?:'[^']*'|[^|;&>'])*)")
SHIPPED = ("examples/", "scenarios/", "experiments/")


def commands() -> list[tuple[str, str]]:
    """Return page and words after ``lanewise`` of every command in a ``sh`` block."""
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [
        (page.relative_to(ROOT).as_posix(), command["words"].strip())
        for page in pages
        for block in BLOCK.finditer(page.read_text("utf-8"))
        for line in block["body"].splitlines()
        for command in COMMAND.finditer(line.split(" #")[0])
    ]


def options_of(verb: str) -> set[str]:
    group: Any = typer.main.get_command(app)
    assert verb in group.commands, f"there is no verb {verb}"
    parameters = group.commands[verb].params
    return {name for each in parameters for name in (*each.opts, *each.secondary_opts)}


def test_there_are_commands() -> None:
    assert len(commands()) > 20


@pytest.mark.parametrize(("page", "words"), commands())
def test_verb_options_and_files_exist(page: str, words: str) -> None:
    verb, *rest = shlex.split(words)
    options = options_of(verb)
    for word in rest:
        if word.startswith("--"):
            assert word.split("=")[0] in options, f"{page}: {verb} has no {word}"
        if word.startswith(SHIPPED):
            assert (ROOT / word).exists(), f"{page}: {word} does not exist"
