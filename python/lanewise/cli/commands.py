"""The verbs. Each parses its options, calls the function of the same name in `lanewise.api`, and prints.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli import completion
from lanewise.cli.calibrate_verb import add_to as add_calibrate
from lanewise.cli.draw_verb import add_to as add_draw
from lanewise.cli.experiment_verbs import add_to as add_experiments
from lanewise.cli.guard import GuardedGroup
from lanewise.cli.lab_verb import add_lab
from lanewise.cli.machine_checks import add_to as add_machine_checks
from lanewise.cli.matrix_verb import add_matrix
from lanewise.cli.options import AsJson
from lanewise.cli.report_verb import add_to as add_report
from lanewise.cli.run_verb import add_to as add_run
from lanewise.cli.scan_verb import add_scan
from lanewise.cli.scenario_verbs import add_explain, add_new
from lanewise.cli.serve_verb import add_to as add_serve
from lanewise.cli.side_by_side import add_to as add_side_by_side
from lanewise.cli.streams import print_json
from lanewise.cli.study_verbs import add_to as add_study
from lanewise.cli.trace_verb import add_to as add_trace

if TYPE_CHECKING:
    from lanewise.results import PartsResult

app = typer.Typer(
    cls=GuardedGroup,
    help="A PCI Express performance lab: what a machine will reach, why not more, and whether it is healthy.",
    epilog="Begin with 'new' for an example, or 'doctor' for this machine. 'VERB --help' explains a verb. "
    "Exit status: 0 ok, 1 findings or a failed comparison, 2 wrong input, 3 a bug in Lanewise.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(asked: bool) -> None:
    if asked:
        from lanewise import __version__

        typer.echo(f"lanewise {__version__}")
        raise typer.Exit


def _take_pci_ids(path: Path | None) -> None:
    if path is not None:
        from lanewise.machine import pci_ids

        pci_ids.use(path)


@app.callback()
def options(
    pci_ids: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the names of PCI devices; also LANEWISE_PCI_IDS. Without it: the newest found.",
            show_default=False,
            callback=_take_pci_ids,
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="If Lanewise fails, show where in its code.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Take the options before the verb; the guard reads `verbose`, and the others have callbacks."""
    del pci_ids, verbose, version


add_new(app)
add_run(app)
add_explain(app)
add_side_by_side(app)
add_study(app)
add_matrix(app)
add_report(app)
add_trace(app)
add_draw(app)
add_lab(app)


add_experiments(app)
add_calibrate(app)


@app.command()
def parts(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Show this part in full, or list the parts that have these words in their name or title. "
            "Without it: list all parts.",
            show_default=False,
            autocompletion=completion.parts,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the parts in the catalog, or show one with its sources."""
    from lanewise import api

    result = api.parts()
    if words:
        result = _those_like(result, " ".join(words))
    if as_json:
        print_json(result.to_json())
    else:
        from lanewise.cli.tables.parts import print_part, print_parts

        if words and len(result.document["parts"]) == 1:
            print_part(result)
        else:
            print_parts(result)


@app.command()
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Benchmark, like chain or tree512. Without it: all.",
            autocompletion=completion.benchmarks,
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, help="Run each benchmark this many times, and take the median.")
    ] = 3,
    as_json: AsJson = False,
) -> None:
    """Measure how fast Lanewise itself runs here, on one core."""
    from lanewise import api
    from lanewise.cli.progress import names_progress

    with names_progress("bench") as on_progress:
        result = api.bench(*(names or []), repeat=repeat, on_progress=on_progress)
    if as_json:
        print_json(result.to_json())
    else:
        from lanewise.cli.tables.bench import print_bench

        print_bench(result)


add_scan(app)
add_machine_checks(app)
add_serve(app)


def _those_like(result: "PartsResult", asked: str) -> "PartsResult":
    """Return the part of this name, or those that may be meant by it; InputError where none is."""
    from lanewise import _core
    from lanewise.errors import InputError
    from lanewise.results import PartsResult

    plain = asked.lower().removesuffix(".toml")
    parts = {part["name"]: part for part in result.document["parts"]}
    like, hint = _core.parts_like(plain)
    names = [plain] if plain in parts else [name for name in like if name in parts]
    if not names:
        raise InputError(f"there is no part '{asked}'; {hint.replace('`', chr(39))}")
    return PartsResult({**result.document, "parts": [parts[name] for name in names]})
