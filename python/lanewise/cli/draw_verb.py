"""The verb `draw`: the topology of a scenario, a run or a machine as a picture.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli.options import Overlays, Settings, pairs


class _Theme(StrEnum):
    """Colours of a picture."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("draw")(_draw)


def _draw(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|SOURCE",
            help="A scenario, the folder of a run, or anything that 'scan' reads; '-' for standard input. "
            "Without it: this machine.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PICTURE",
            help="Write this file: SVG or PNG, by the end of its name. PNG needs the extra 'report'. Without "
            "it: SVG on standard output.",
            show_default=False,
        ),
    ] = None,
    theme: Annotated[
        _Theme, typer.Option(help="Colours; auto follows the reader's screen, and is light in a PNG.")
    ] = _Theme.AUTO,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also draw functions of a machine that move no data.")
    ] = False,
    overlays: Overlays = None,
    settings: Settings = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the content of the picture as JSON instead.")
    ] = False,
) -> None:
    """Draw the topology of a scenario, a run or a machine."""
    from lanewise.draw.files import check_place
    from lanewise.picture_api import picture

    if out is not None:
        check_place(out)
    drawn = picture(source, overrides=pairs(settings), overlays=overlays or (), everything=everything)
    if out is not None:
        drawn.save(out, theme.value)
    if as_json:
        from lanewise.draw.json_form import to_json

        document = to_json(drawn.topology, drawn.use)
        if out is not None:
            document["file"] = str(out)
        sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    elif out is None:
        sys.stdout.write(drawn.svg(theme.value))
        if sys.stdout.isatty():
            typer.echo("note: that was SVG; --out PICTURE.svg writes a file", err=True)
    else:
        typer.echo(f"picture: {out}", err=True)
