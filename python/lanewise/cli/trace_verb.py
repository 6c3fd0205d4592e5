"""The verb `trace`: what went over the links in a window of a run.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli.options import AsJson, Scenario, Settings, pairs, refuse_together


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("trace")(_trace)


def _print_dissector(asked: bool) -> None:
    if asked:
        from lanewise.trace_files import DISSECTOR

        sys.stdout.write(f"{DISSECTOR}\n")
        raise typer.Exit


def _trace(
    scenario: Scenario,
    start: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Start of the window, after the start of the run.")
    ] = "0 ns",
    span: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Length of the window, 5 us if not given. Not with --transaction, which has its own.",
            show_default=False,
        ),
    ] = None,
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
        int | None,
        typer.Option(
            metavar="ROWS",
            min=1,
            max=10_000_000,
            help="Keep the last so many rows, 100,000 if not given. Not with a window that goes to a file.",
            show_default=False,
        ),
    ] = None,
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
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="text, the listing, if not given; jsonl, a JSON object for each row and line; for other "
            "tools perfetto (https://ui.perfetto.dev), pcapng (Wireshark) and parquet (DuckDB, Polars).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write it to this file: all of the window, however long it is, with --json one object for "
            "each row and line. The file is whole or not there.",
            show_default=False,
        ),
    ] = None,
    dissector: Annotated[
        bool,
        typer.Option(
            "--wireshark-dissector",
            help="Print the path of the dissector that Wireshark and tshark read pcapng with, and exit.",
            is_eager=True,
            callback=_print_dissector,
        ),
    ] = False,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """List what goes over the links: TLPs, DLLPs, and what waits."""
    from lanewise import api
    from lanewise.cli.run_progress import run_progress
    from lanewise.files import refuse_folder, write_whole
    from lanewise.trace_files import form_named

    kinds = [part.strip() for part in kind.split(",")] if kind is not None else []
    is_window = around is None and transaction is None
    refuse_together(("--json", as_json), ("--format", form is not None))
    if form is not None:
        form_named(form, is_for_terminal=out is None and sys.stdout.isatty())
    if out is not None:
        refuse_folder(out)
    with run_progress(str(scenario), None) as progress:
        if form not in (None, "text") or (is_window and out is not None):
            refuse_together(
                ("--format" if out is None else "--out", is_window),
                ("--last", last is not None and is_window),
            )
            api.write_trace(
                scenario,
                out if out is not None else sys.stdout.buffer,
                start=start,
                span=span,
                links=link or [],
                kinds=kinds,
                form=form_named(form or ("jsonl" if as_json else "text")),
                last=last if last is not None else api.LAST,
                around=around,
                transaction=transaction,
                overrides=pairs(settings),
                progress=progress,
            )
            return
        traced = api.trace(
            scenario,
            start=start,
            span=span,
            links=link or [],
            kinds=kinds,
            last=last if last is not None else api.LAST,
            around=around,
            transaction=transaction,
            overrides=pairs(settings),
            progress=progress,
        )
    text = traced.to_json() + "\n" if as_json else traced.text
    if out is None:
        sys.stdout.write(text)
    if not traced.document["is_whole"]:
        raise KeyboardInterrupt
    if out is not None:
        write_whole(out, text)
