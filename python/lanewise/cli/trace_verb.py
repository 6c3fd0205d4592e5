"""The verb `trace`: what went over the links in a window of a run.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli.options import AsJson, Scenario, Settings, pairs, refuse_together

if TYPE_CHECKING:
    from lanewise.results import TraceResult


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
            help="Length of the window. Without it: 5 us. Not with --transaction, which sets its own window.",
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
            help="Only these kinds, like 'tlp,dllp': tlp, dllp, skp (ordered sets), flit, blocked (ports "
            "that are held up, and by what), queued (TLPs that join a queue; only if named), error (packets "
            "that arrive damaged or twice, and replays).",
            show_default=False,
        ),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            min=1,
            max=10_000_000,
            help="Keep only this many rows, the last ones. Without it: 100,000. Not for a window with --out.",
            show_default=False,
        ),
    ] = None,
    around: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT",
            help="List what led to this event: worst-latency, stall, replay or first-blocked. --from says "
            "where the search begins, --for how much time before the event is listed.",
            show_default=False,
        ),
    ] = None,
    transaction: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            help="List one request and its last completion, with its time at each station: worst-latency, or "
            "its number in the order in which requests complete after --from. Not with --link or --kind.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="text, the listing (the default); jsonl, one JSON object for each row on its own line; or "
            "for other tools perfetto (https://ui.perfetto.dev), pcapng (Wireshark) or parquet (DuckDB, "
            "Polars).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write to this file: the whole window, however long it is; with --json, one object for each "
            "row on its own line. The file exists only when it is complete.",
            show_default=False,
        ),
    ] = None,
    dissector: Annotated[
        bool,
        typer.Option(
            "--wireshark-dissector",
            help="Print the path of the dissector for Wireshark and tshark, and exit.",
            is_eager=True,
            callback=_print_dissector,
        ),
    ] = False,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """List the packets on the links, and what waits for what."""
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
    _say_what_is_beyond_the_end(traced)
    if not traced.document["is_whole"]:
        raise KeyboardInterrupt
    if out is not None:
        write_whole(out, text)


def _say_what_is_beyond_the_end(traced: "TraceResult") -> None:
    """Say why a window is empty that begins after the run has ended."""
    from lanewise.cli.console import stderr

    document = traced.document
    if document["around"] is None and document["from_ns"] >= document["until_ns"]:
        ended = f"{document['until_ns'] / 1e6:g} ms"
        stderr().print(f"nothing is listed: the run ended at {ended}, before the window begins")
