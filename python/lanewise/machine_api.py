"""The verbs about real machines as functions; `doctor` is diagnose here, and `import` is judge.

Each takes a machine that has been scanned, or what `scan` takes to make one. Nothing is printed; what cannot
be used raises `lanewise.InputError`. Polars is imported when a table is asked for and not before: a health
check may run on every boot.

    import lanewise

    machine = lanewise.scan("lspci.txt")
    print(lanewise.diagnose(machine).table)
    print(lanewise.predict(machine, what_if=["3b:00.0 -> gen5 x16"]).table)
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from lanewise.machine.model import Machine
from lanewise.machine.reading import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import date

    from lanewise.health.doctor import Diagnosis, Profile
    from lanewise.health.judge import Judgement
    from lanewise.health.predict import Prediction
    from lanewise.health.predict.peers_result import PeerPrediction
    from lanewise.tools.instruments.measurement import Measurement

Source: TypeAlias = Machine | str | Path | None
"""A machine, a dump of one (``-`` is standard input), or None for this one."""


def scan(source: str | Path | None = None, *, overlays: Iterable[str | Path] = ()) -> Machine:
    """Read a machine: its functions, links and switches.

    `source` is a file or folder: output of `lspci` or `nvidia-smi -q`, a copy of sysfs, hwloc or NCCL XML, an
    archive of those, or one of the other kinds that docs/how-to/scan-a-machine.md lists;
    ``-`` for standard input, None for this machine. `overlays` tell more of it: outputs of `nvidia-smi -q`,
    `topo -m`, `amd-smi`, `xpu-smi topology -m`, `inxi`, `dmidecode`, `nvme list` or `ethtool -i`. Raises
    `lanewise.InputError` when nothing in them can be read, OSError when one cannot be opened.

    >>> import lanewise
    >>> machine = lanewise.scan("tests/python/machine/dumps/qemu.vvv")
    >>> [link.name for link in machine.links if link.below_width]
    []
    >>> machine.link_table.select("upper", "lower", "now_gt_s", "now_width").row(0)
    ('00:01.0', '01:00.0', 2.5, 1)
    """
    return read(source, overlays=overlays)


def baseline(source: Source = None) -> str:
    """Write a fleet file: what is in a machine, to be expected of its siblings by `diagnose(expect=...)`.

    `source` is a machine, or what `scan` reads. Raises `lanewise.InputError` as `scan` does.

    >>> import lanewise
    >>> text = lanewise.baseline("tests/python/machine/dumps/qemu.vvv")
    >>> text.count("[[count]]")
    6
    """
    from lanewise.health.fleet.baseline import baseline as written

    return written(_machine(source))


def diagnose(
    source: Source = None,
    *,
    cost: bool = True,
    profile: Profile | str = "all",
    expect: str | Path | None = None,
    waivers: Iterable[str | Path] = (),
    today: date | None = None,
    keep_costs: bool = False,
) -> Diagnosis:
    """Say what is wrong with the PCI Express of a machine, worst first.

    `source` is a machine, or what `scan` reads. With `cost`, findings are priced in GB/s or ns by simulating
    the part of the machine that they are about, as it is and put right. `profile` is what to look for:
    ``provisioning`` (faults that fail a node), ``performance`` (what costs throughput or latency), or
    ``all``. `expect` is a fleet file that says what should be in the machine, `waivers` are files of findings
    that are accepted; they hold on the day `today`, which is that of the clock, in UTC, when it is None. With
    `keep_costs`, what earlier checks of this process have simulated is not simulated again. Raises
    `lanewise.InputError` as `scan` does, and for a file with mistakes, which it lists; ValueError for another
    profile.

    >>> import lanewise
    >>> diagnosis = lanewise.diagnose("tests/python/machine/dumps/qemu.vvv")
    >>> str(diagnosis.worst())
    'warning'
    >>> diagnosis.table.select("rule", "bdf", "cost_gb_per_s").height == len(diagnosis.findings)
    True
    """
    from lanewise.health.doctor import Profile
    from lanewise.health.doctor import diagnose as examined

    fleet = []
    if expect is not None or waivers:
        from lanewise.health.doctor.files import read_files

        fleet = read_files(expect, waivers)
    return examined(
        _machine(source),
        cost=cost,
        profile=Profile(profile),
        fleet=fleet,
        today=today,
        keep_costs=keep_costs,
    )


def predict(
    source: Source = None,
    *,
    what_if: Iterable[str] = (),
    devices: Iterable[str] = (),
    together: bool = True,
    on_progress: Callable[[str], None] | None = None,
) -> Prediction:
    """Simulate what each device of a machine should reach, in GB/s or ns, alone and with all others at once.

    `source` is a machine, or what `scan` reads; without `together`, devices are simulated alone only.
    `what_if` are changes to try, in their order, like ``"3b:00.0 -> gen5 x16"``, ``"slot 3 -> mps 512"``,
    ``"all -> acs off"`` or ``"3b:00.0 <-> 9b:00.0"``. `devices` are addresses; all that move data when there
    are none. `on_progress` hears the benchmark in progress. Raises `lanewise.InputError` for a change or an
    address that the machine does not have, and when the links of no device are known.

    >>> import lanewise
    >>> prediction = lanewise.predict("tests/python/machine/dumps/qemu.vvv", devices=["01:00.0"])
    >>> prediction.table.columns[:4]
    ['bdf', 'device', 'link', 'benchmark']
    """
    from lanewise.health.predict import predict as simulated
    from lanewise.health.predict.machine_change import parse_address
    from lanewise.health.predict.what_if import NO_ORDER, parse_what_if

    texts = tuple(what_if)
    tried = parse_what_if(texts, _machine(source))
    simulate = partial(
        simulated,
        tried.machine,
        translated=bool(tried.translates),
        devices=[parse_address(text) for text in devices] or None,
        together=together,
    )
    prediction = simulate(changes=tried.changes, on_progress=on_progress)
    prediction = replace(prediction, changes=texts, notes=(*prediction.notes, *tried.notes))
    strict = tried.without_order()
    if strict is not None and simulate(changes=strict).rows == prediction.rows:
        return replace(prediction, notes=(*prediction.notes, NO_ORDER))
    return prediction


def predict_peers(
    source: Source = None,
    *,
    what_if: Iterable[str] = (),
    devices: Iterable[str] = (),
    on_progress: Callable[[str], None] | None = None,
) -> PeerPrediction:
    """Simulate what GPUs, network adapters and drives write to and read from each GPU, pair by pair.

    `source` is a machine, or what `scan` reads, and `what_if` as in `predict`. `devices` are addresses: pairs
    that one of them is in; all when there are none. `on_progress` hears the pair in progress. Raises
    `lanewise.InputError` for a change or an address that the machine does not have, and when there is no
    pair.

    >>> import lanewise
    >>> peers = lanewise.predict_peers("examples/gpu-server.txt")
    >>> sorted(set(peers.table["path"]))
    ['NODE', 'PIX', 'SYS']
    """
    from lanewise.health.predict.machine_change import parse_address
    from lanewise.health.predict.peers import predict_peers as simulated
    from lanewise.health.predict.what_if import NO_ORDER, parse_what_if

    texts = tuple(what_if)
    tried = parse_what_if(texts, _machine(source))
    simulate = partial(simulated, tried.machine, devices=[parse_address(text) for text in devices] or None)
    peers = simulate(changes=tried.changes, on_progress=on_progress)
    peers = replace(peers, changes=texts, notes=(*peers.notes, *tried.notes))
    strict = tried.without_order()
    if strict is not None and simulate(changes=strict).pairs == peers.pairs:
        return replace(peers, notes=(*peers.notes, NO_ORDER))
    return peers


def judge(output: str | Path | Measurement, source: Source = None, *, device: str | None = None) -> Judgement:
    """Set the results of a benchmark beside what the machine allows: the verb `import`.

    `output` is a file that fio, iperf3, perftest, OSU, nvbandwidth, CUDA's samples, IOmeter or SmartFlow
    wrote, or what was read from one. `source` is a machine, or what `scan` reads. `device` is the address of
    the device, where the output names none. Raises `lanewise.InputError` when no known tool wrote it or its
    device cannot be told.

    >>> import lanewise
    >>> judgement = lanewise.judge(
    ...     "tests/python/captured/perftest-6.06-ib_write_bw.txt", "tests/python/machine/dumps/qemu.vvv"
    ... )
    >>> judgement.table["verdict"].unique().to_list()
    ['not judged']
    """
    from lanewise.health.judge import judge as judged
    from lanewise.health.judge import read_measurement
    from lanewise.health.predict.machine_change import parse_address

    measurement = read_measurement(output) if isinstance(output, str | Path) else output
    return judged(measurement, _machine(source), device=parse_address(device) if device else None)


def measure(
    target: str,
    source: Source = None,
    *,
    device: str | None = None,
    seconds: int = 5,
    allow_writes: bool = False,
    time_limit: float | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Judgement:
    """Run a benchmark on this machine, and judge its result.

    `target` is a file or block device for fio, ``iperf3:HOST`` for a network, ``gpu`` for copies to GPUs.
    `source` describes this machine better than it shows to an ordinary user. `device` is the address of the
    device behind the target, where it cannot be found. Each test lasts `seconds`. Only reads, unless
    `allow_writes`: writes destroy what is on the target. A command of the tool that takes longer than
    `time_limit` seconds, by default half an hour, is ended; what was measured before it is judged, and
    `unfinished` of the judgement says so. `on_progress` hears the command that runs. Raises
    `lanewise.InputError` when the tool is missing, or fails before it has measured anything.
    """
    from lanewise.errors import InputError
    from lanewise.health.measure import LONGEST_S, Fio, Iperf3
    from lanewise.health.measure import measure as measured
    from lanewise.health.measure.target import device_behind, tool_for
    from lanewise.health.predict.machine_change import parse_address

    tool = tool_for(target, seconds=seconds, allow_writes=allow_writes)
    limit = LONGEST_S if time_limit is None else time_limit
    if isinstance(tool, Fio | Iperf3) and limit <= seconds:
        raise InputError(f"a test lasts {seconds} s, which is not within the limit of {limit:g} s")
    return measured(
        tool,
        machine=_machine(source),
        device=parse_address(device) if device else device_behind(target),
        time_limit_s=limit,
        on_progress=on_progress,
    )


def _machine(source: Source) -> Machine:
    return source if isinstance(source, Machine) else read(source)
