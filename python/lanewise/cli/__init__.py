"""The command line. Data goes to stdout, talk and progress to stderr.

Exit status: 0 ok; 1 findings, or a comparison or reproduction that failed; 2 wrong input; 3 a mistake of
ours; 130 interrupted from the keyboard. Only `typer` is imported before a verb runs.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line and exit."""
    import sys

    try:
        from lanewise.cli.commands import app
        from lanewise.cli.streams import prepare

        prepare(sys.argv[1:])
        _collect_seldom()
        _end_as_by_hand()
        app(prog_name="lanewise")
    except ModuleNotFoundError as error:
        # Without dependencies there is nothing to read the command line with; the package itself works.
        from lanewise.extras import explained

        said = explained(error)
        if said is None:
            raise
        print(f"error: {said}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        # Before a verb is called, when half of the modules are there, nothing else can say it.
        sys.exit(_interrupted())


def _collect_seldom() -> None:
    """Look for garbage in circles after a hundred thousand objects, not after 700.

    A verb makes hundreds of thousands that it needs to its end, and is over in a second.
    """
    import gc

    gc.set_threshold(100_000)


def _end_as_by_hand() -> None:
    """Let a polite end, and a terminal that goes, do what Ctrl-C does: keep what was measured, and say so."""
    import signal
    import sys

    def interrupt(number: int, _frame: object) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # A process that ignores it, as under nohup, goes on.
        if number is not None and sys.platform != "win32" and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def _interrupted() -> int:
    import sys

    print("interrupted", file=sys.stderr)
    return 130
