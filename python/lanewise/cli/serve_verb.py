"""The verb `serve`: the lab and its interface over HTTP, for this machine or for a network.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import json
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli.options import AsJson
from lanewise.cli.streams import print_json
from lanewise.errors import InputError
from lanewise.output_format import stamped

if TYPE_CHECKING:
    from lanewise.serve.settings import Settings


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("serve")(_serve)


def _serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes one that is free.")] = 8765,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address to listen on. Any other than loopback needs a token."),
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the token that every request must have: one word of 16 or more characters. Only "
            "you may be able to read the file.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep runs here. Without it: in your data folder.", show_default=False
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1024,
            help="Number of runs at the same time. Without it: one for each core.",
            show_default=False,
        ),
    ] = None,
    run_minutes: Annotated[
        float, typer.Option(metavar="MINUTES", min=0.01, max=10_080, help="Longest real time of a run.")
    ] = 10.0,
    memory: Annotated[
        int, typer.Option(metavar="GIB", min=1, max=1024, help="Limit of each process's address space, GiB.")
    ] = 4,
    as_json: AsJson = False,
) -> None:
    """Serve the lab and an HTTP interface, and keep runs."""
    # Ctrl-C is how it ends, also while it starts.
    with suppress(KeyboardInterrupt):
        from lanewise.extras import need

        need("serve", "'serve'")
        import platformdirs

        from lanewise.lab import folder as folder_of_lab
        from lanewise.serve.settings import Limits, Settings, read_token

        limits = Limits(run_seconds=60 * run_minutes, memory_bytes=memory << 30)
        if runs is not None:
            limits = replace(limits, runs_at_once=runs)
        settings = Settings(
            folder=folder or Path(platformdirs.user_data_dir("lanewise")) / "runs",
            host=host,
            port=port,
            token=None if token_file is None else read_token(token_file),
            page=folder_of_lab(),
            limits=limits,
        )
        _serve_by(settings, as_json=as_json)


def _serve_by(settings: "Settings", *, as_json: bool) -> None:
    """Say where it listens, and serve until Ctrl-C."""
    import uvicorn

    from lanewise.serve.app import application

    with _listen(settings.host, settings.port) as listener:
        # Of port 0 the one that was free: the name of the cookie has it.
        port = listener.getsockname()[1]
        app = application(replace(settings, port=port))
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            ws_max_size=settings.limits.upload_bytes,
            timeout_graceful_shutdown=3,
            server_header=False,
        )
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{shown}:{port}/"
        if as_json:
            print_json(json.dumps(stamped({"address": address, "folder": str(settings.folder)})))
        else:
            # On stdout, for programs that start it with port 0.
            typer.echo(address)
            typer.echo(f"runs are kept in {settings.folder}; Ctrl-C ends the server", err=True)
        sys.stdout.flush()
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Take the port, or say why not."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise InputError(f"'{host}' is not an address of this machine: {error.strerror}") from error
    listener = socket.socket(found[0], found[1])
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(found[4])
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError(
            f"port {port} of '{host}' cannot be used: {error.strerror}; choose another with --port, or any "
            "with --port 0"
        ) from error
    return listener
