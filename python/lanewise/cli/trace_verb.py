"""The verb `trace`: what went over the links in a window of a run.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import sys
from typing import Annotated

import typer

from lanewise.cli.options import AsJson, Scenario, Settings, pairs


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("trace")(_trace)


def _trace(
    scenario: Scenario,
    start: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Start of the window, after the start of the run.")
    ] = "0 ns",
    span: Annotated[
        str, typer.Option("--for", metavar="TIME", help="Length of the window; a --transaction has its own.")
    ] = "5 us",
    link: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this link, by the name of the device below it. May be repeated.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help="Only these, like 'tlp,dllp': tlp, dllp, skp (ordered sets), flit, blocked (who is held up, "
            "by what), queued (TLPs that join a queue; only if named), error (what arrives damaged or twice, "
            "and replays).",
            show_default=False,
        ),
    ] = None,
    last: Annotated[
        int, typer.Option(metavar="ROWS", min=1, max=10_000_000, help="Keep the last so many rows.")
    ] = 100_000,
    around: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT",
            help="What led to it: worst-latency, stall, replay or first-blocked. --from is where the search "
            "begins, --for how much before it is listed.",
            show_default=False,
        ),
    ] = None,
    transaction: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            help="One request and its last completion, its time at each station: worst-latency, or a number "
            "in the order in which requests are complete after --from. Not with --link or --kind.",
            show_default=False,
        ),
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """List what goes over the links: TLPs, DLLPs, and what waits."""
    from lanewise import api
    from lanewise.cli.run_progress import run_progress

    kinds = [part.strip() for part in kind.split(",")] if kind is not None else []
    with run_progress(str(scenario), None) as progress:
        traced = api.trace(
            scenario,
            start=start,
            span=span,
            links=link or [],
            kinds=kinds,
            last=last,
            around=around,
            transaction=transaction,
            overrides=pairs(settings),
            progress=progress,
        )
    sys.stdout.write(traced.to_json() + "\n" if as_json else traced.text)
