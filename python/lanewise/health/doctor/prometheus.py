"""Findings as metrics: the text format of Prometheus, as node_exporter's textfile collector reads it.

Left out of labels: titles and evidence, which change from check to check and would make a new series each
time; `lanewise doctor --json` has them. Speeds are in transfers per second and sizes in whole things, because
Prometheus asks for base units. Source: https://prometheus.io/docs/instrumenting/exposition_formats/, and the
naming rules beside it, which `promtool check metrics` holds names against.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from lanewise.health.doctor.finding import Diagnosis
    from lanewise.machine.model import LinkMode, Machine

_TRANSFERS_PER_GT = 1e9


@dataclass
class _Gauge:
    name: str
    help: str
    samples: list[tuple[dict[str, str], float]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} gauge"
        for labels, value in self.samples:
            inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            yield f"{self.name}{{{inside}}} {value:.15g}" if inside else f"{self.name} {value:.15g}"


def prometheus(diagnosis: Diagnosis, machine: Machine, checked_at: datetime) -> str:
    """Write every metric of one check, which was made at `checked_at`."""
    gauges = [*_about_the_check(diagnosis, checked_at), *_findings(diagnosis), *_expected(diagnosis)]
    gauges += _links(machine)
    return "".join(f"{line}\n" for gauge in gauges if gauge.samples for line in gauge.lines())


def _about_the_check(diagnosis: Diagnosis, checked_at: datetime) -> list[_Gauge]:
    from lanewise import __version__

    return [
        _Gauge("lanewise_info", "Version of Lanewise that made the check.", [({"version": __version__}, 1)]),
        _Gauge(
            "lanewise_doctor_check_timestamp_seconds",
            "When the check was made, in seconds since 1970.",
            [({}, checked_at.timestamp())],
        ),
        _Gauge(
            "lanewise_doctor_examined",
            "1 where the machine showed enough to be examined; 0: no finding then means nothing.",
            [({}, float(diagnosis.examined))],
        ),
        _Gauge("lanewise_pci_functions", "PCI functions of the machine.", [({}, diagnosis.functions)]),
        _Gauge("lanewise_doctor_rules", "Rules that were applied.", [({}, diagnosis.rules)]),
    ]


def _findings(diagnosis: Diagnosis) -> list[_Gauge]:
    each: Counter[tuple[str, str, str, str, str]] = Counter()
    for finding in diagnosis.findings:
        waived = str(finding.waived is not None).lower()
        each[finding.rule, str(finding.severity), finding.bdf, waived, finding.device] += 1 + len(
            finding.also
        )
    return [
        _Gauge(
            "lanewise_doctor_findings",
            "Findings that count, by severity; waived ones are left out.",
            [({"severity": str(severity)}, diagnosis.count(severity)) for severity in reversed(Severity)],
        ),
        _Gauge(
            "lanewise_doctor_waived_findings",
            "Findings that a file of waivers accepts.",
            [({}, len(diagnosis.findings) - len(diagnosis.counting))],
        ),
        _Gauge(
            "lanewise_doctor_finding",
            "One finding, and how many devices it is about; bdf is the first, empty for the machine "
            "as a whole.",
            [
                ({"rule": rule, "severity": severity, "bdf": bdf, "device": device, "waived": waived}, number)
                for (rule, severity, bdf, waived, device), number in sorted(each.items())
            ],
        ),
    ]


def _expected(diagnosis: Diagnosis) -> list[_Gauge]:
    wanted, there = Counter[str](), Counter[str]()
    for kind in diagnosis.expected:
        wanted[kind.what] += kind.expected
        there[kind.what] += kind.present
    return [
        _Gauge(
            "lanewise_expected_devices",
            "Devices of a kind that a fleet file expects.",
            [({"what": what}, number) for what, number in wanted.items()],
        ),
        _Gauge(
            "lanewise_present_devices",
            "Devices of a kind that a fleet file expects and that are there.",
            [({"what": what}, there[what]) for what in wanted],
        ),
    ]


def _links(machine: Machine) -> list[_Gauge]:
    speed = _Gauge("lanewise_link_speed_transfers_per_second", "Line rate of one lane of a link.")
    width = _Gauge("lanewise_link_width_lanes", "Lanes that a link runs on.")
    most_speed = _Gauge("lanewise_link_speed_limit_transfers_per_second", "Line rate that both ends can do.")
    most_width = _Gauge("lanewise_link_width_limit_lanes", "Lanes that both ends can do.")
    for link in machine.links:
        if link.on_die:
            continue
        labels = {"bdf": link.device.address.short, "port": link.upper.address.short}
        _put(labels, link.now, speed, width)
        _put(labels, link.limit, most_speed, most_width)
    return [speed, width, most_speed, most_width]


def _put(labels: dict[str, str], mode: LinkMode, speed: _Gauge, width: _Gauge) -> None:
    if mode.gt_s is not None:
        speed.samples.append((labels, mode.gt_s * _TRANSFERS_PER_GT))
    if mode.width is not None:
        width.samples.append((labels, mode.width))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
