"""Devices of Redfish: called by the name that the controller has for them, and unhealthy where it says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.health.fleet.reading import read_fleet_file
from lanewise.machine import read_bytes
from lanewise.machine.json_form import to_json

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.health.fleet.model import FleetFile


def findings(
    interface: dict[str, Any] | None = None, health: str = "OK", fleet: tuple[FleetFile, ...] = ()
) -> list[Finding]:
    """Examine eight GPUs as an NVIDIA baseboard's controller lists them; the fifth differs."""
    members = []
    for number in range(1, 9):
        mode = {"MaxLanes": 16, "MaxPCIeType": "Gen5", "PCIeType": "Gen5", "LanesInUse": 16}
        odd = number == 5
        members.append(
            {
                "@odata.type": "#PCIeDevice.v1_5_0.PCIeDevice",
                "@odata.id": f"/redfish/v1/Chassis/1/PCIeDevices/GPU{number}",
                "Id": f"GPU{number}",
                "Name": f"GPU{number}",
                "Manufacturer": "NVIDIA",
                "Model": "H100 SXM5 80GB",
                "PCIeInterface": {**mode, **(interface or {})} if odd else mode,
                "DeviceType": "SingleFunction",
                "Status": {"State": "Enabled", "Health": health if odd else "OK", "HealthRollup": "OK"},
            }
        )
    kind = "#PCIeDeviceCollection.PCIeDeviceCollection"
    text = json.dumps({"@odata.type": kind, "Members@odata.count": 8, "Members": members}, indent=1)
    return [
        f
        for f in diagnose(read_bytes(text.encode()), cost=False, fleet=fleet).findings
        if f.severity is not Severity.INFO
    ]


def test_eight_gpus_in_order() -> None:
    assert findings() == []


@pytest.mark.parametrize(
    ("interface", "rule"),
    [({"LanesInUse": 4}, "link-one-end"), ({"PCIeType": "Gen1"}, "odd-one-out")],
)
def test_a_slow_gpu_is_called_by_its_name(interface: dict[str, Any], rule: str) -> None:
    found = findings(interface)
    assert rule in [f.rule for f in found]
    for finding in found:
        assert finding.bdf == "GPU5"
        assert "GPU5" in finding.title
        assert "ffff0000" not in " ".join((finding.title, finding.fix, *finding.evidence, *finding.also))


@pytest.mark.parametrize(
    ("health", "severity"), [("Critical", Severity.ERROR), ("Warning", Severity.WARNING)]
)
def test_a_gpu_that_the_controller_calls_unhealthy(health: str, severity: Severity) -> None:
    (found,) = findings(health=health)
    assert (found.rule, found.bdf, found.severity) == ("device-health", "GPU5", severity)


def test_what_the_controller_says_of_health_is_in_the_json_of_scan() -> None:
    device = {
        "@odata.type": "#PCIeDevice.v1_5_0.PCIeDevice",
        "@odata.id": "/redfish/v1/Chassis/1/PCIeDevices/59-0",
        "Id": "59-0",
        "PCIeInterface": {"MaxLanes": 16, "MaxPCIeType": "Gen5", "PCIeType": "Gen5", "LanesInUse": 16},
        "Status": {"State": "Enabled", "Health": "Warning"},
    }
    (function,) = to_json(read_bytes(json.dumps(device, indent=1).encode()))["machine"]["functions"]
    assert function["stated_health"] == "Warning"


def test_a_waiver_takes_the_name_that_the_finding_has(tmp_path: Path) -> None:
    def waived(slot: str) -> list[bool]:
        path = tmp_path / "waivers.toml"
        path.write_text(
            f'format = 1\n[[waiver]]\nrule = "device-health"\nslot = "{slot}"\nreason = "known"\n'
        )
        file = read_fleet_file(path, rules=["device-health"], only_waivers=True)
        return [finding.waived is not None for finding in findings(health="Critical", fleet=(file,))]

    assert waived("GPU5") == [True]
    assert waived("GPU4") == [False]
