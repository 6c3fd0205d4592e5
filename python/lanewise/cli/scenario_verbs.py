"""The verbs `new` and `explain`: a scenario to start from, and what one says before it runs.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import json
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli import completion
from lanewise.cli.options import AsJson, Scenario, Settings, pairs


def add_new(app: typer.Typer) -> None:
    """Add the verb `new`, which comes first in the help."""
    app.command("new")(_new)


def add_explain(app: typer.Typer) -> None:
    """Add the verb `explain`."""
    app.command("explain")(_explain)


def _new(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Name of an example, like first_rig. Without it: list all examples.",
            autocompletion=completion.examples,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="File to write. Without it: NAME.toml in this folder.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy an example scenario to start from, or list them."""
    from lanewise.examples import copy_example, examples

    if name is not None:
        written = copy_example(name, file)
        if as_json:
            _print({"file": str(written)})
            return
        typer.echo(f"{written}: 'lanewise explain {written}' draws it, 'lanewise run {written}' runs it")
        return
    known = examples()
    if as_json:
        _print({"examples": [{"name": name, "title": title} for name, title in known.items()]})
        return
    _list(known)


def _list(known: Mapping[str, str]) -> None:
    """Print names and titles: on a terminal, the rest of a long title stands below its beginning."""
    from lanewise.cli.console import stdout

    console = stdout()
    widest = max(map(len, known), default=0)
    for each, title in known.items():
        beside = console.width - widest - 2
        wraps = console.is_terminal and beside > 0
        lines = (textwrap.wrap(title, beside) if wraps else []) or [title]
        typer.echo(f"{each:{widest}}  {lines[0]}")
        for line in lines[1:]:
            typer.echo(f"{'':{widest}}  {line}")


def _print(document: dict[str, object]) -> None:
    from lanewise.output_format import stamped

    sys.stdout.write(json.dumps(stamped(document), indent=2, ensure_ascii=False) + "\n")


def _explain(
    scenario: Scenario,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATTERN",
            help="Show only components or parameters that match: 'sw*', 'nic.link*', 'workload.*'.",
            show_default=False,
        ),
    ] = None,
    addresses: Annotated[
        bool,
        typer.Option(
            "--addresses",
            help="Print bus numbers, windows of bridges and BARs, as lspci would, instead of parameters.",
        ),
    ] = False,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Draw a scenario, and print each parameter and its source."""
    from lanewise import api

    result = api.explain(scenario, overrides=pairs(settings))
    if as_json:
        sys.stdout.write(result.to_json() + "\n")
    elif addresses:
        from lanewise.cli.tables.addresses import addresses as listed

        sys.stdout.write("\n".join(listed(result, patterns or ())) + "\n")
    else:
        from lanewise.cli.tables.explain import print_explain

        print_explain(result, patterns or ())
