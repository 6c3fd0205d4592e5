"""One place where exceptions become messages and exit statuses."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from lanewise.cli.error_json import is_asked_for
from lanewise.cli.error_json import write as write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class ExitStatus(IntEnum):
    """What the process returns."""

    OK = 0
    FINDINGS = 1
    WRONG_INPUT = 2
    OUR_BUG = 3
    INTERRUPTED = 130
    NOBODY_READS = 141


class GuardedGroup(TyperGroup):
    """Runs a verb; tells a person what went wrong and a script by which exit status."""

    _as_json = False

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the options before the verb, of which --help and --version print at once."""
        # With --json errors are JSON, those about the command line, too.
        self._as_json = is_asked_for(next((each for each in arguments if isinstance(each, list)), []))
        with _guarded({}, as_json=self._as_json):
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that was asked for."""
        with _guarded(ctx.params, as_json=self._as_json):
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb; a file in place of one is most likely to be run or scanned."""
        if args and self.get_command(ctx, args[0]) is None:
            said = _in_place_of_a_verb(args[0])
            if said is not None:
                raise typer.BadParameter(said, ctx=ctx)
        _refuse_little_address_space(args[0] if args else "")
        return super().resolve_command(ctx, args)


_OTHER_VERBS = {
    "simulate": "run",
    "start": "run",
    "show": "explain",
    "check": "doctor",
    "diff": "compare",
    "what-if": "whatif",
    "list": "new",
    "init": "new",
    "examples": "new",
    "catalog": "parts",
    "lspci": "scan",
}
"""Verbs as others call them."""


def _in_place_of_a_verb(word: str) -> str | None:
    """Say what was meant by something that is no verb and like none; None where Typer knows better."""
    if word in _OTHER_VERBS:
        return f"No such command '{word}'. Did you mean '{_OTHER_VERBS[word]}'?"
    if word.endswith(".toml"):
        return f"No such command '{word}': a verb comes first, such as 'lanewise run {word}'"
    if os.path.exists(word):
        return f"No such command '{word}': a verb comes first, such as 'lanewise scan {word}'"
    return None


@contextmanager
def _guarded(params: Mapping[str, object], *, as_json: bool) -> Iterator[None]:
    """End the process with a message and a status when something goes wrong."""
    verbose = bool(params.get("verbose"))
    try:
        yield
    except KeyboardInterrupt as error:
        said = ": ".join(map(str, ("interrupted", *error.args)))
        raise SystemExit(report(said, ExitStatus.INTERRUPTED)) from None
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise SystemExit(_nobody_reads()) from error
        said = _about_a_file(error)
        if as_json:
            write_json(ExitStatus.WRONG_INPUT, said, error)
        raise SystemExit(report(said, ExitStatus.WRONG_INPUT)) from error
    except Exception as error:
        raise SystemExit(_status_of(error, verbose=verbose, as_json=as_json)) from error
    except BaseException as error:
        # A panic of the core arrives as an exception outside the ordinary hierarchy.
        if type(error).__name__ != "PanicException":
            raise
        raise SystemExit(_status_of(error, verbose=verbose, as_json=as_json)) from error


def _nobody_reads() -> ExitStatus:
    """End as tools of the shell do when their reader has gone, like `head`: quietly, and not as a finding."""
    # What is still buffered would raise the same error again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitStatus.NOBODY_READS


def _about_a_file(error: OSError) -> str:
    """Say which file it was about; a full disk without a name is that of the output."""
    if error.filename is not None:
        hint = _about_its_name(error)
        return f"error: '{error.filename}': {error.strerror}{f'; {hint}' if hint else ''}"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return f"error: the output cannot be written: {error.strerror}" if full else f"error: {error}"


def _about_its_name(error: OSError) -> str | None:
    """Say what to do about a file that is not there, or of which reading failed."""
    if error.errno == errno.EIO:
        from lanewise.inputs import READ_FAILED

        return READ_FAILED
    if error.errno == errno.ENOENT and isinstance(error.filename, str):
        from lanewise.runs.file_hints import file_meant

        return file_meant(Path(error.filename))
    return None


def _status_of(error: BaseException, *, verbose: bool, as_json: bool) -> ExitStatus:
    if _belongs_to_typer(error):
        if as_json and hasattr(error, "format_message"):
            write_json(ExitStatus.WRONG_INPUT, error.format_message(), error)
        raise error
    text, status = _said_of(error)
    if as_json:
        write_json(status, text, error)
    if status is ExitStatus.OUR_BUG and verbose:
        traceback.print_exception(error, file=sys.stderr)
        text = text.replace(f"{_HOW_TO_SEE} please", " Please")
    return report(text, status)


_HOW_TO_SEE = " 'lanewise -v ...' shows where it happened;"


def _said_of(error: BaseException) -> tuple[str, ExitStatus]:
    """Return what is said of an error, and the status that it ends with."""
    if isinstance(error, ImportError) and "lanewise._core" in str(error):
        return (
            f"error: the compiled core is of another version: {error}\n'make setup' builds it again.",
            ExitStatus.OUR_BUG,
        )
    from lanewise._core import ScenarioError
    from lanewise.errors import InputError

    if isinstance(error, ModuleNotFoundError):
        from lanewise.extras import explained

        if (missing := explained(error)) is not None:
            return f"error: {missing}", ExitStatus.WRONG_INPUT
    if isinstance(error, ScenarioError):
        notes = sorted(getattr(error, "__notes__", []), key=_is_hint)
        said = "".join(f"\n{note}" if _is_hint(note) else f" {note}" for note in notes)
        return f"{error}{said}", ExitStatus.WRONG_INPUT
    if isinstance(error, InputError):
        return f"error: {error}", ExitStatus.WRONG_INPUT
    memory = _too_little_memory(error)
    if memory is not None:
        return memory, ExitStatus.WRONG_INPUT
    return (
        f"internal error: {type(error).__name__}: {error}\n"
        f"This is a mistake in Lanewise, not in what you gave it.{_HOW_TO_SEE} please report it with the "
        "scenario.",
        ExitStatus.OUR_BUG,
    )


def _is_hint(note: str) -> bool:
    return note.startswith("hint: ")


def _too_little_memory(error: BaseException) -> str | None:
    """Say that memory was not enough, if that is what went wrong.

    With little address space, modules break off in the middle of being imported and then fail in odd ways, so
    that any failure of ours is put down to the limit.
    """
    limit = _address_space()
    if limit is not None and limit < _ADDRESS_SPACE:
        return _about_address_space(limit, f"not enough ({type(error).__name__})")
    if isinstance(error, MemoryError):
        return "error: there is not enough memory for this"
    return None


def _about_address_space(limit: int, what: str) -> str:
    plenty = _ADDRESS_SPACE >> 20
    return (
        f"error: the address space is limited to {limit >> 20} MiB, which is {what}; raise the limit "
        f"('ulimit -v'), {plenty} MiB is plenty"
    )


def _refuse_little_address_space(verb: str) -> None:
    """End before the library of tables aborts the process in one of its threads, which nothing can catch."""
    limit = _address_space()
    if limit is None or limit >= _ADDRESS_SPACE:
        return
    # Each thread of the library reserves address space.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    if limit < (_LEAST_ADDRESS_SPACE if verb in _WITHOUT_TABLES else _LEAST_WITH_TABLES):
        raise SystemExit(report(_about_address_space(limit, "too little"), ExitStatus.WRONG_INPUT))


_WITHOUT_TABLES = {"new", "scan", "doctor", "predict", "import", "measure", "bench"}
"""Verbs that run with the core and the standard library alone."""

_LEAST_ADDRESS_SPACE = 256 << 20
"""Without tables: 92 MiB were needed for the findings of a server with eight GPUs."""

_LEAST_WITH_TABLES = 768 << 20
"""With tables: 678 MiB were needed for the smallest run, with one thread for the tables."""

_ADDRESS_SPACE = 2 << 30
"""So much is enough for any verb and a scenario of a few hundred devices."""


def _address_space() -> int | None:
    """Return the limit of the address space in bytes, if there is one."""
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _belongs_to_typer(error: BaseException) -> bool:
    """Whether the exception is how Typer ends a command or reports its usage."""
    return isinstance(error, (typer.Exit, typer.Abort)) or hasattr(error, "exit_code")


def report(text: str, status: ExitStatus) -> ExitStatus:
    """Say something on stderr and return the status, which holds also where stderr takes nothing."""
    try:
        print(text.rstrip("\n"), file=sys.stderr, flush=True)
    except OSError:
        # What is still buffered would raise the same error again at exit, and change the status.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return status
