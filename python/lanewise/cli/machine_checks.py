"""The verbs about real machines that judge: doctor, predict, import, measure.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded. Nothing
here may import Polars: a health check runs on every boot of every machine.
"""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli.guard import ExitStatus
from lanewise.cli.options import AsJson, Overlays, Source, refuse_together

if TYPE_CHECKING:
    from lanewise.judging import Judgement


class FailOn(StrEnum):
    """What makes a health check fail."""

    error = "error"
    warning = "warning"
    info = "info"
    never = "never"


class ProfileName(StrEnum):
    """What a check is for."""

    provisioning = "provisioning"
    performance = "performance"
    all = "all"


class Format(StrEnum):
    """How findings are written."""

    table = "table"
    json = "json"
    sarif = "sarif"
    junit = "junit"


def doctor(
    source: Source = None,
    overlays: Overlays = None,
    fail_on: Annotated[FailOn, typer.Option(help="Exit status 1 from this severity on.")] = FailOn.warning,
    profile: Annotated[
        ProfileName, typer.Option(help="What to look for: faults that fail a node, lost throughput, or both.")
    ] = ProfileName.all,
    allow_unexamined: Annotated[
        bool,
        typer.Option(
            "--allow-unexamined", help="Exit status 0, not 2, where too little is readable: for guests."
        ),
    ] = False,
    cost: Annotated[bool, typer.Option("--cost/--no-cost", help="Simulate what findings cost.")] = True,
    details: Annotated[bool, typer.Option("--details", help="Evidence and fix of everything.")] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="How findings are written; table by default.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with a machine, what it costs, what to do."""
    from lanewise.doctor import Profile, Severity
    from lanewise.machine_api import diagnose, scan

    refuse_together(("--format", format_ is not None), ("--json", as_json))
    diagnosis = diagnose(scan(source, overlays=overlays or ()), cost=cost, profile=Profile(profile.value))
    threshold = None if fail_on is FailOn.never else Severity(fail_on.value)
    if as_json or format_ is Format.json:
        sys.stdout.write(diagnosis.to_json() + "\n")
    elif format_ is Format.sarif:
        from lanewise.doctor.formats import sarif

        sys.stdout.write(sarif(diagnosis) + "\n")
    elif format_ is Format.junit:
        from lanewise.doctor.formats import junit

        sys.stdout.write(junit(diagnosis, threshold or Severity.ERROR) + "\n")
    else:
        from lanewise.cli.tables.doctor import print_diagnosis

        print_diagnosis(diagnosis, details=details)
    if threshold is not None and diagnosis.fails(threshold):
        raise typer.Exit(ExitStatus.FINDINGS)
    if threshold is not None and not diagnosis.examined and not allow_unexamined:
        said = f"error: not enough to say that nothing is wrong: {diagnosis.missing}"
        typer.echo(said, err=True)
        raise typer.Exit(ExitStatus.WRONG_INPUT)


def predict(
    source: Source = None,
    overlays: Overlays = None,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device", metavar="BDF", help="Only this device; may be repeated.", show_default=False
        ),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE",
            help="Try a change, like '3b:00.0 -> gen5 x16' or 'slot 3 -> mps 512'; may be repeated.",
            show_default=False,
        ),
    ] = None,
    together: Annotated[bool, typer.Option("--together/--alone", help="Also all devices at once.")] = True,
    as_json: AsJson = False,
) -> None:
    """Simulate what devices should reach, alone and all at once."""
    from lanewise import machine_api
    from lanewise.cli.progress import names_progress

    machine = machine_api.scan(source, overlays=overlays or ())
    with names_progress("predict") as on_progress:
        prediction = machine_api.predict(
            machine, what_if=what_if or (), devices=device or (), together=together, on_progress=on_progress
        )
    if as_json:
        sys.stdout.write(prediction.to_json() + "\n")
    else:
        from lanewise.cli.tables.predict import print_prediction

        print_prediction(prediction)


def import_(
    outputs: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Outputs of benchmarks; '-' for standard input.")
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE", help="Where it was measured; this machine by default.", show_default=False
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="BDF", help="The device, where the output names none.", show_default=False),
    ] = None,
    overlays: Overlays = None,
    as_json: AsJson = False,
) -> None:
    """Set results of benchmarks beside what was possible.

    They are outputs of fio, iperf3, perftest, OSU, nvbandwidth, CUDA's samples, rocm_bandwidth_test, IOmeter.
    """
    from lanewise.machine_api import judge, scan

    described = scan(machine, overlays=overlays or ())
    judgements = [judge(path, described, device=device) for path in outputs]
    _print_judgements(judgements, as_json=as_json)
    # As with `doctor`, silence about what was not looked at must not pass for a clean bill of health.
    reasons = [judgement.reason_for_nothing for judgement in judgements]
    for path, reason in zip(outputs, reasons, strict=True):
        if reason is not None:
            typer.echo(f"error: nothing in '{path}' was judged: {reason}", err=True)
    if any(reason is not None for reason in reasons):
        raise typer.Exit(ExitStatus.WRONG_INPUT)


def measure(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A file or block device for fio, 'iperf3:HOST' for a network, 'gpu' for copies to GPUs.",
            show_default=False,
        ),
    ],
    seconds: Annotated[int, typer.Option(min=1, max=600, help="Length of each test.")] = 5,
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Also write to TARGET: DESTROYS WHAT IS ON IT.")
    ] = False,
    machine: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="Description of this machine, made as root.", show_default=False),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="BDF", help="The device behind TARGET, where it cannot be found.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the record as JSON.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run fio, iperf3 or a GPU copy test, and judge the result. Reads only, unless told otherwise."""
    from lanewise import machine_api
    from lanewise.cli.progress import names_progress
    from lanewise.errors import InputError
    from lanewise.files import write_whole

    if out is not None and out.exists():
        raise InputError(f"'{out}' exists; records are not overwritten")
    with names_progress("measure") as on_progress:
        judgement = machine_api.measure(
            target,
            machine,
            device=device,
            seconds=seconds,
            allow_writes=allow_writes,
            on_progress=on_progress,
        )
    if out is not None:
        write_whole(out, judgement.to_json() + "\n")
    _print_judgements([judgement], as_json=as_json)


def _print_judgements(judgements: "list[Judgement]", *, as_json: bool) -> None:
    if as_json:
        import json

        document = {"results": [judgement.document for judgement in judgements]}
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        from lanewise.cli.tables.judgement import print_judgement

        for judgement in judgements:
            print_judgement(judgement)
    if any(judgement.misconfigured for judgement in judgements):
        raise typer.Exit(ExitStatus.FINDINGS)


def add_to(app: typer.Typer) -> None:
    """Register the verbs."""
    app.command()(doctor)
    app.command()(predict)
    app.command("import")(import_)
    app.command()(measure)
