"""Events of WHEA-Logger: what Windows says of errors of PCI Express."""

from __future__ import annotations

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes
from lanewise.machine.model import Machine

_MESSAGE = r"""
A corrected hardware error has occurred.

Component: PCI Express Root Port
Error Source: Advanced Error Reporting (PCI Express)

Primary Bus:Device:Function: 0x40:0x1D:0x3
Secondary Bus:Device:Function: 0x0:0x0:0x0
Primary Device Name:PCI\VEN_8086&DEV_A298&SUBSYS_00000000&REV_F0
Secondary Device Name:
"""
_TRANSLATED = """
Ein behobener Hardwarefehler ist aufgetreten.

Fehlerquelle: Erweiterte Fehlerberichterstattung(PCI Express)

Bus:Gerät:Funktion: 0x0:0x1C:0x0
Anbieter-ID:Geräte-ID: 0x8086:0x9D10
"""
_FIELDS = """<System><EventID>{event}</EventID><Level>{level}</Level></System>
<EventData><Data Name="ErrorSource">4</Data><Data Name="PortType">4</Data><Data Name="Segment">0x0</Data>
<Data Name="VendorID">0x8086</Data><Data Name="DeviceID">0xa298</Data>
<Data Name="UncorrectableErrorStatus">0x40000</Data><Data Name="CorrectableErrorStatus">0x41</Data>
<Data Name="PrimaryBus">0x40</Data><Data Name="PrimaryDevice">0x1d</Data>
<Data Name="PrimaryFunction">0x3</Data></EventData>
"""
_LINES = """
  Level 2
  ErrorSource 4
  Bus 0x0
  Device 0x1
  Function 0x0
  SecondaryBus 0x5
  UncorrectableErrorStatus 0x20
  CorrectableErrorStatus 0x0
"""


def counted(text: str) -> tuple[dict[str, dict[str, int]], Machine]:
    machine = read_bytes(text.encode())
    return {
        address.short: dict(one.errors.counters or ()) for address, one in machine.functions.items()
    }, machine


def test_a_message_is_one_corrected_error_of_the_device_that_it_names() -> None:
    counts, machine = counted(_MESSAGE * 3)
    assert counts == {"40:1d.3": {"correctable.TOTAL": 3, "correctable.WithoutDetails": 3}}
    (function,) = machine.functions.values()
    assert (function.identity.vendor_id, function.identity.device_id) == (0x8086, 0xA298)


def test_errors_that_firmware_hands_over_are_told_by_their_component() -> None:
    generic = _MESSAGE.replace("Advanced Error Reporting (PCI Express)", "Generic")
    assert counted(generic)[0] == counted(_MESSAGE)[0]
    on_one_line = "2026-09-01T18:33:15Z|17|3|Warning|" + generic.strip().replace("\n", " | ")
    assert counted(on_one_line)[0] == counted(_MESSAGE)[0]
    with pytest.raises(InputError):
        counted(generic.replace("PCI Express Root Port", "Memory"))


def test_messages_in_other_languages_are_told_by_their_numbers() -> None:
    counts, machine = counted(_TRANSLATED)
    assert counts == {"00:1c.0": {"correctable.TOTAL": 1, "correctable.WithoutDetails": 1}}
    assert next(iter(machine.functions.values())).identity.device_id == 0x9D10


def test_fields_say_which_error_it_was_and_an_event_quoted_whole_counts_once() -> None:
    fields = _FIELDS.format(event=17, level=3)
    expected = {"40:1d.3": {"correctable.TOTAL": 1, "correctable.RxErr": 1, "correctable.BadTLP": 1}}
    assert counted(fields)[0] == expected
    assert counted(_MESSAGE + fields)[0] == expected


@pytest.mark.parametrize(
    ("text", "address", "name"),
    [
        (_FIELDS.format(event=16, level=2), "40:1d.3", "MalfTLP"),
        (_LINES, "00:01.0", "SDES"),
        (_MESSAGE.replace("corrected", "fatal"), "40:1d.3", "WithoutDetails"),
    ],
)
def test_fatal_ones_are_errors(text: str, address: str, name: str) -> None:
    counts, machine = counted(text)
    assert counts == {address: {"fatal.TOTAL": 1, f"fatal.{name}": 1}}
    assert [f.rule for f in diagnose(machine, cost=False).findings if f.severity is Severity.ERROR] == [
        "uncorrectable-errors"
    ]


def test_errors_of_processors_and_memory_are_none_of_pci() -> None:
    text = _FIELDS.format(event=19, level=3).replace('"ErrorSource">4', '"ErrorSource">1')
    with pytest.raises(InputError):
        counted(text)


def test_a_list_of_events_without_messages_is_refused_with_what_has_them() -> None:
    with pytest.raises(InputError, match="Format-List"):
        counted("ProviderName: Microsoft-Windows-WHEA-Logger\n\n1/2/2024  17 Warning  A corrected ha...\n")
