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
from lanewise.cli.options import AsJson, Overlays, Source, refuse_nan, refuse_together

if TYPE_CHECKING:
    from lanewise.health.doctor import Diagnosis
    from lanewise.health.judge import Judgement
    from lanewise.health.predict.peers_result import PeerPrediction
    from lanewise.machine.model import Machine


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
    prometheus = "prometheus"


def doctor(
    source: Source = None,
    overlays: Overlays = None,
    fail_on: Annotated[
        FailOn, typer.Option(help="Exit status 1 if a finding is at least this severe.")
    ] = FailOn.warning,
    profile: Annotated[
        ProfileName,
        typer.Option(
            help="What to look for: faults that make a node unfit for service, lost throughput, or both."
        ),
    ] = ProfileName.all,
    allow_unexamined: Annotated[
        bool,
        typer.Option(
            "--allow-unexamined",
            help="Exit status 0 instead of 2 if the source says too little, as in virtual machines.",
        ),
    ] = False,
    cost: Annotated[bool, typer.Option("--cost/--no-cost", help="Simulate what each finding costs.")] = True,
    details: Annotated[
        bool, typer.Option("--details", help="Show evidence and fix of each finding.")
    ] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Format of the findings. Without it: a table.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    expect: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also compare with what should be in the machine: a file that 'scan --baseline' writes.",
            show_default=False,
        ),
    ] = None,
    waivers: Annotated[
        list[Path] | None,
        typer.Option(
            "--waivers",
            metavar="FILE",
            help="File of accepted findings, each with a reason. They do not count. May be repeated.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write to this file instead of stdout. The file is complete, or it does not change.",
            show_default=False,
        ),
    ] = None,
    watch: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=1,
            max=86_400,
            callback=refuse_nan,
            help="Check again every so many seconds, and print only what has changed.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Say what is wrong with a machine, its cost, and what to do."""
    from lanewise.cli.doctor_output import Output
    from lanewise.health.doctor import Profile, Severity
    from lanewise.machine_api import diagnose, scan

    refuse_together(("--format", format_ is not None), ("--json", as_json))
    form = Format.json if as_json else format_ or Format.table
    if out is not None and form is Format.table:
        raise typer.BadParameter("--out is for --json and --format json, sarif, junit or prometheus")

    def check() -> "tuple[Machine, Diagnosis]":
        machine = scan(source, overlays=overlays or ())
        return machine, diagnose(
            machine,
            cost=cost,
            profile=Profile(profile.value),
            expect=expect,
            waivers=waivers or (),
            keep_costs=watch is not None,
        )

    threshold = None if fail_on is FailOn.never else Severity(fail_on.value)
    output = Output(form.value, threshold, details=details, out=out, allow_unexamined=allow_unexamined)
    if watch is not None:
        from lanewise.cli.watching import Watch, refuse_unwatchable

        refuse_unwatchable(source, output)
        raise typer.Exit(Watch(check, output, watch).run())
    machine, diagnosis = check()
    output.write(machine, diagnosis)
    status = output.status(diagnosis)
    if status is not ExitStatus.OK:
        raise typer.Exit(status)


def predict(
    source: Source = None,
    overlays: Overlays = None,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device",
            metavar="BDF",
            help="Only this device, like 3b:00.0; with --peers, only pairs with it. May be repeated.",
            show_default=False,
        ),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE",
            help="Try a change: settings, like '3b:00.0 -> gen5 x16' or 'slot 3 -> mps 512'; 'all -> acs "
            "off' or 'all -> iommu on'; another place, as in '3b:00.0 -> slot 4', or '3b:00.0 <-> 9b:00.0'. "
            "May be repeated.",
            show_default=False,
        ),
    ] = None,
    together: Annotated[
        bool, typer.Option("--together/--alone", help="Also run all devices at once, or each one only alone.")
    ] = True,
    peers: Annotated[
        bool,
        typer.Option(
            "--peers",
            help="Instead, say how fast GPUs, network adapters and drives write to and read from each GPU: "
            "the path between the two, what ACS costs, and which adapter to use for which GPU.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what each device should reach, alone and all at once."""
    from lanewise import machine_api
    from lanewise.cli.progress import names_progress

    refuse_together(("--peers", peers), ("--alone", not together))
    machine = machine_api.scan(source, overlays=overlays or ())
    with names_progress("predict") as on_progress:
        if not peers:
            prediction = machine_api.predict(
                machine,
                what_if=what_if or (),
                devices=device or (),
                together=together,
                on_progress=on_progress,
            )
        else:
            matrix = machine_api.predict_peers(
                machine, what_if=what_if or (), devices=device or (), on_progress=on_progress
            )
    if peers:
        _print_peers(matrix, as_json=as_json)
    elif as_json:
        sys.stdout.write(prediction.to_json() + "\n")
    else:
        from lanewise.cli.tables.predict import print_prediction

        print_prediction(prediction)


def _print_peers(peers: "PeerPrediction", *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(peers.to_json() + "\n")
    else:
        from lanewise.cli.tables.peers import print_peers

        print_peers(peers)


def import_(
    outputs: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Output of a benchmark; '-' for standard input.")
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Dump of the machine where it was measured. Without it: this machine.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="BDF",
            help="The device that was measured, if the output does not say.",
            show_default=False,
        ),
    ] = None,
    overlays: Overlays = None,
    as_json: AsJson = False,
) -> None:
    """Compare benchmark results with what was possible.

    Lanewise reads outputs of fio, CrystalDiskMark, DISKSPD, SPDK's perf and bdevperf, Vdbench, elbencho,
    gdsio, IOmeter, iperf3, perftest, ucx_perftest, OSU, nccl-tests and RCCL tests, nvbandwidth, CUDA's
    samples, rocm_bandwidth_test and TransferBench.
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
    seconds: Annotated[int, typer.Option(min=1, max=600, help="Seconds that each test takes.")] = 5,
    time_limit: Annotated[
        int,
        typer.Option(
            min=2,
            max=86400,
            metavar="SECONDS",
            help="End a test that takes longer, and judge those before it; exit status 2.",
        ),
    ] = 1800,
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Also write to TARGET: DESTROYS WHAT IS ON IT.")
    ] = False,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE", help="Dump of this machine that was made as root.", show_default=False
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="BDF", help="The device behind TARGET, if Lanewise cannot find it.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also keep the results in this file, as JSON.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run fio, iperf3 or a GPU copy test, and judge the result.

    It only reads, unless you say --allow-writes.
    """
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
            time_limit=time_limit,
            on_progress=on_progress,
        )
    if out is not None:
        write_whole(out, judgement.to_json() + "\n")
    if judgement.unfinished is not None:
        typer.echo(f"error: {judgement.unfinished}", err=True)
    _print_judgements([judgement], as_json=as_json)
    if judgement.unfinished is not None:
        raise typer.Exit(ExitStatus.WRONG_INPUT)


def _print_judgements(judgements: "list[Judgement]", *, as_json: bool) -> None:
    if as_json:
        import json

        from lanewise.output_format import stamped

        document = stamped({"results": [judgement.document for judgement in judgements]})
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
