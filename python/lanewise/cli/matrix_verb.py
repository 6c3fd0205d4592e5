"""The verb `matrix`: copies between each two GPUs of a scenario.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import sys
from typing import Annotated

import typer

from lanewise.cli.options import AsJson, Scenario, Settings, pairs, refuse_together
from lanewise.cli.streams import print_json


def add_matrix(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("matrix")(_matrix)


def _matrix(
    scenario: Scenario,
    devices: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DEVICE...",
            help="Devices that copy: names, or patterns like 'gpu*'. Without it: all whose part has copy "
            "engines.",
            show_default=False,
        ),
    ] = None,
    settings: Settings = None,
    as_tool: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="TOOL",
            help="Print what this tool would print: nvbandwidth, or p2p for p2pBandwidthLatencyTest.",
            show_default=False,
        ),
    ] = None,
    queued_start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time of a queued copy before its first request, for latencies. Without it: 2 us.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate copies between each pair of GPUs of a scenario.

    The copies go one way, both ways, with 16 B at a time, and to and from the host. The scenario's own
    workloads do not run. Equal pairs are simulated once.
    """
    from lanewise import api
    from lanewise.cli.progress import names_progress
    from lanewise.tools.instruments.copy_matrices import check_known, write_as

    refuse_together(("--as", as_tool is not None), ("--json", as_json))
    if as_tool is not None:
        check_known(as_tool)
    with names_progress("matrix") as on_progress:
        matrix = api.copy_matrix(
            scenario,
            devices or (),
            overrides=pairs(settings),
            queued_start=queued_start,
            on_progress=on_progress,
        )
    if as_json:
        print_json(matrix.to_json())
    elif as_tool is not None:
        sys.stdout.write(write_as(as_tool, matrix))
    else:
        from lanewise.cli.tables.matrix import print_matrix

        print_matrix(matrix)
