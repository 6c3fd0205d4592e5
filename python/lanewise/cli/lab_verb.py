"""The verb `lab`: the page in the browser.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli.options import AsJson


def add_lab(app: typer.Typer) -> None:
    """Add the verb `lab`."""
    app.command("lab")(_lab)


def _lab(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the page to this file instead of opening it. It needs no server and no network.",
            show_default=False,
        ),
    ] = None,
    with_diagnosis: Annotated[
        bool,
        typer.Option(
            "--with-diagnosis",
            help="With --out: the file also reads and checks machines. It is five times as large.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Open the lab in the browser: build a rig, run it, share it."""
    from lanewise.lab import page, write_page

    if with_diagnosis and out is None:
        raise typer.BadParameter("--with-diagnosis is for a file: name it with --out")
    file = page().resolve() if out is None else write_page(out, diagnosis=with_diagnosis)
    size = file.stat().st_size
    is_open = out is None and webbrowser.open(file.as_uri())
    if as_json:
        import json

        from lanewise.cli.streams import print_json
        from lanewise.output_format import stamped

        print_json(json.dumps(stamped({"file": str(file), "bytes": size, "opened": is_open}), indent=2))
        return
    typer.echo(f"{file}: {size / 1e6:.1f} MB")
    if out is None and not is_open:
        typer.echo("no browser was found here: open this file in one", err=True)
