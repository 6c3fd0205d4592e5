"""Tools that ask devices how they are: `devlink health`, `dcgmi`, `cxl list`, `nvme list-subsys`."""

from __future__ import annotations

import json

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes
from lanewise.machine.model import Machine


def machine(text: str) -> Machine:
    return read_bytes(text.encode())


def findings(text: str) -> list[Finding]:
    return list(diagnose(machine(text), cost=False).findings)


DEVLINK = """\
$ devlink health show
pci/0000:08:00.0:
  reporter fw
    state healthy error 0 recover 0 auto_dump true
  reporter fw_fatal
    state {state} error {errors} recover {recovered} grace_period 1200000 auto_recover true auto_dump true
pci/0000:08:00.1/131071:
  reporter {queue}
    state {queue_state} error 4 recover 3 grace_period 500 auto_recover true
"""


def devlink(
    state: str = "healthy",
    *,
    errors: int = 0,
    recovered: int = 0,
    queue: str = "tx",
    queue_state: str = "healthy",
) -> str:
    return DEVLINK.format(
        state=state, errors=errors, recovered=recovered, queue=queue, queue_state=queue_state
    )


def test_devlinks_healthy_adapters_are_no_finding() -> None:
    """That queues were reset some time is no matter."""
    text = devlink()
    assert [f.address.short for f in machine(text)] == ["08:00.0", "08:00.1"]
    assert [f.stated_health for f in machine(text)] == ["OK", "OK"]
    assert not findings(text)


def test_devlinks_reporters_in_error() -> None:
    """Firmware that is not recovered is worse than a queue that is not."""
    (firmware,) = findings(devlink("error", errors=3, recovered=2))
    assert (firmware.rule, firmware.bdf, firmware.severity) == ("device-health", "08:00.0", Severity.ERROR)
    assert "reporter fw_fatal: state error, 3 errors, 2 recovered" in firmware.title
    assert "devlink health diagnose pci/08:00.0" in firmware.fix
    (queue,) = findings(devlink(queue="rx", queue_state="error"))
    assert (queue.bdf, queue.severity) == ("08:00.1", Severity.WARNING)
    (recovered,) = findings(devlink(errors=2, recovered=2))
    assert (recovered.rule, recovered.severity) == ("driver-error", Severity.INFO)
    assert "it works again" in recovered.title


def test_devlinks_json_says_the_same() -> None:
    health = {
        "pci/0000:08:00.0": [
            {"reporter": "fw", "state": "healthy", "error": 0, "recover": 0, "auto_dump": True},
            {"reporter": "fw_fatal", "state": "error", "error": 1, "recover": 0, "grace_period": 60000},
        ]
    }
    (finding,) = findings(json.dumps({"health": health}))
    assert (finding.bdf, finding.severity) == ("08:00.0", Severity.ERROR)
    info = {"pci/0000:b3:00.0": {"driver": "ice", "versions": {"running": {"fw.mgmt": "5.4.5"}}}}
    (adapter,) = machine(json.dumps({"info": info}))
    assert (adapter.driver, adapter.firmware) == ("ice", "5.4.5")


def test_devlinks_versions() -> None:
    (adapter,) = machine(
        "> pci/0000:03:00.0:\n>   driver mlx5_core\n>   versions:\n>       fixed:\n>         fw.psid MT_03\n"
        ">       running:\n>         fw.version 22.35.1012\n>         fw 22.35.1012\n"
    )
    assert (adapter.address.short, adapter.driver, adapter.firmware) == ("03:00.0", "mlx5_core", "22.35.1012")


def cxl(**health: object) -> str:
    memory = {"memdev": "mem0", "ram_size": 1 << 37, "serial": 0, "numa_node": 1, "host": "0000:c1:00.0"}
    well = {"maintenance_needed": False, "media_normal": True, "media_not_ready": False, "temperature": 33}
    return "# cxl list -M -H\n" + json.dumps([memory | {"health": well | health}], indent=2)


@pytest.mark.parametrize(
    ("health", "severity"),
    [
        ({}, None),
        ({"maintenance_needed": True}, Severity.WARNING),
        ({"media_normal": False, "ext_life_used": "warning"}, Severity.WARNING),
        ({"hw_replacement_needed": True}, Severity.ERROR),
        ({"media_normal": False, "media_data_lost": True}, Severity.ERROR),
        ({"ext_temperature": "critical"}, Severity.ERROR),
    ],
)
def test_memory_behind_cxl(health: dict[str, object], severity: Severity | None) -> None:
    (memory,) = machine(cxl(**health))
    assert (memory.is_cxl_memory, memory.interfaces, memory.numa_node) == (True, ("mem0",), 1)
    found = findings(cxl(**health))
    assert [finding.severity for finding in found] == ([] if severity is None else [severity])
    for finding in found:
        assert finding.bdf == "c1:00.0"
        assert finding.title.startswith("cxl list says")
        assert all(key in finding.title for key in health)


# linux-nvme, "Advice for the issue nvme-cli 510", July 2019: names of controllers that are not in order.
SUBSYSTEMS = """\
root@target:~# nvme list-subsys
nvme-subsys0 - NQN=nqn.2014.08.org.nvmexpress:80861af4bar                 QEMU NVMe Ctrl
\\
 +- nvme1 pcie 0000:00:05.0 live
nvme-subsys1 - NQN=nqn.2014.08.org.nvmexpress:80861af4foo                 QEMU NVMe Ctrl
\\
 +- nvme0 pcie 0000:00:04.0 {state}
nvme-subsys2 - NQN=nqn.2019.01.com.example:far
\\
 +- nvme2 tcp traddr=192.168.7.2 trsvcid=4420 connecting
"""


@pytest.mark.parametrize(
    ("state", "severity"),
    [("live", None), ("deleting", None), ("connecting", Severity.WARNING), ("dead", Severity.ERROR)],
)
def test_drives_that_are_not_alive(state: str, severity: Severity | None) -> None:
    """A drive across a network is none of this machine."""
    text = SUBSYSTEMS.format(state=state)
    drives = {f.address.short: f.interfaces for f in machine(text) if f.is_nvme}
    assert drives["00:05.0"] == ("nvme1",)
    assert len(drives) == (1 if state == "deleting" else 2)
    found = findings(text)
    assert [finding.severity for finding in found] == ([] if severity is None else [severity])
    assert all(
        finding.bdf == "00:04.0" and f"nvme0 pcie 0000:00:04.0 {state}" in finding.title for finding in found
    )


def test_drives_in_json() -> None:
    paths = [
        {"Name": f"nvme{n}", "Transport": "pcie", "Address": f"0000:0{n + 1}:00.0", "State": state}
        for n, state in enumerate(("live", "dead"))
    ]
    subsystems = [{"Name": f"nvme-subsys{n}", "NQN": "nqn", "Paths": [path]} for n, path in enumerate(paths)]
    (finding,) = findings(json.dumps([{"HostNQN": "nqn", "Subsystems": subsystems}]))
    assert (finding.bdf, finding.severity) == ("02:00.0", Severity.ERROR)


# NVIDIA, DCGM User Guide: what a group in which one GPU replays prints, in the forms of two versions.
GROUP = """\
Health Monitor Report
+----------------------------------------------------------------------------+
| Group 1          | Overall Health: {health}                                 |
+==================+=========================================================+
| GPU ID: 0        | {health}                                                 |
|                  | PCIe system: Warning - Detected more than 8 PCIe        |
|                  | replays per minute for GPU 0: 13                        |
+------------------+---------------------------------------------------------+
"""
REPORT = """\
+---------------------------+----------------------------------------------------------+
| Health Monitor Report                                                                |
+===========================+==========================================================+
| Overall Health            | Failure                                                  |
| GPU                       |                                                          |
| -> 2                      | Failure                                                  |
|    -> Errors              |                                                          |
|       -> Memory system    | Failure                                                  |
|                           | A pending retired page has been detected on GPU 2.       |
| NvSwitch                  |                                                          |
| -> 5                      | Warning                                                  |
+---------------------------+----------------------------------------------------------+
"""
HEALTHY = """\
+------------------+---------------------------------------------------------+
| Health Monitor Report                                                      |
+==================+=========================================================+
| Overall Health   | Healthy                                                 |
+------------------+---------------------------------------------------------+
"""
DISCOVERY = """\
+--------+----------------------------------------------------------------------+
| GPU ID | Device Information                                                   |
+--------+----------------------------------------------------------------------+
| 0      | Name: NVIDIA H800                                                    |
|        | PCI Bus ID: 00000000:18:00.0                                         |
|        | Device UUID: GPU-34bf77d1-c686-6821-79a8-32d326c5039c                |
+--------+----------------------------------------------------------------------+
| 1      | Name: NVIDIA H800                                                    |
|        | PCI Bus ID: 00000000:3E:00.0                                         |
|        | Device UUID: GPU-9de407ad-ba9c-af12-ce09-65828829a67c                |
+--------+----------------------------------------------------------------------+
"""


def test_dcgms_health_checks() -> None:
    """NVSwitches have numbers, too, that are not those of GPUs."""
    (warned,) = findings(GROUP.format(health="Warning"))
    assert (warned.rule, warned.bdf, warned.severity) == ("device-health", "GPU0", Severity.WARNING)
    assert "PCIe system: Warning - Detected more than 8 PCIe replays per minute for GPU 0: 13" in warned.title
    (failed,) = findings(REPORT)
    assert (failed.bdf, failed.severity) == ("GPU2", Severity.ERROR)
    assert "Memory system: A pending retired page" in failed.title
    assert not findings(HEALTHY)


def test_dcgms_gpus_have_the_addresses_of_its_list_or_of_the_dump() -> None:
    (listed,) = findings(DISCOVERY + GROUP.format(health="Warning"))
    assert listed.bdf == "18:00.0"
    dump = "".join(
        f"{bus}:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)\n"
        "\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\tLnkSta:\tSpeed 16GT/s, Width x16\n"
        "\tKernel driver in use: nvidia\n"
        for bus in ("3b", "5e", "86")
    )
    (placed,) = findings(f"{dump}\n{REPORT}")
    assert placed.bdf == "86:00.0"
    assert not findings(f"{dump}\n{HEALTHY}")


DIAGNOSIS = """\
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.1.8                                          |
|-----  Deployment  --------+------------------------------------------------|
| Persistence Mode          | Fail                                           |
| Warning                   | GPU 0 persistence mode is disabled.            |
+-----  Integration  -------+------------------------------------------------+
| PCIe                      | {pcie:<46} |
{more}+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Pass - All                                     |
| Pulse Test                | Skip - All                                     |
+---------------------------+------------------------------------------------+
"""
PART = "|                           | GPU0: Pass                                     |\n"
PART += "|                           | GPU1: {result}                                     |\n"


@pytest.mark.parametrize(
    ("pcie", "more", "severity"),
    [
        ("Pass - All", "", None),
        ("Fail - GPU: 1", "| Warning | GPU 1 PCIe width 8 |\n", Severity.ERROR),
        ("Warn - GPU: 1", "", Severity.WARNING),
        ("Fail", PART.format(result="Fail"), Severity.ERROR),
        ("Pass", PART.format(result="Pass"), None),
        ("Fail", "| Warning: GPU1             | Error: replays |\n", Severity.ERROR),
    ],
)
def test_dcgms_diagnosis(pcie: str, more: str, severity: Severity | None) -> None:
    """Software that is not set up is no fault of a GPU."""
    found = findings(DISCOVERY + DIAGNOSIS.format(pcie=pcie, more=more))
    assert [(f.bdf, f.severity) for f in found] == ([] if severity is None else [("3e:00.0", severity)])
    assert all("PCIe" in finding.title for finding in found)


def test_dcgms_json() -> None:
    warning = "GPU 3 is running at PCI link width 8X, which is below the minimum allowed link width of 16"
    results = [
        {"entity_group": "GPU", "entity_id": 0, "status": "Pass"},
        {"entity_group": "GPU", "entity_id": 3, "status": "Fail", "warnings": [{"warning": warning}]},
        {"entity_group": "CPU", "entity_id": 1, "status": "Fail"},
    ]
    tests = [{"name": "pcie", "results": results}]
    software = [{"name": "software", "results": [results[1] | {"entity_id": 5, "warnings": []}]}]
    categories = [
        {"category": "Deployment", "tests": software},
        {"category": "Integration", "tests": tests},
    ]
    (failed,) = findings(json.dumps({"DCGM Diagnostic": {"test_categories": categories}}, indent=1))
    assert (failed.bdf, failed.severity) == ("GPU3", Severity.ERROR)
    assert "link width 8X" in failed.title
    replays = {"Detected more than 8 PCIe replays per minute for GPU 0 : 99": {"children": {}, "value": ""}}
    errors = {"PCIe system": {"children": replays, "value": "Warning"}}
    gpu = {"children": {"Errors": {"children": errors, "value": ""}}, "value": "Warning"}
    body = {"GPU": {"children": {"0": gpu}, "value": ""}, "Overall Health": {"value": "Warning"}}
    (warned,) = findings(json.dumps({"body": body, "header": ["Health Monitor Report"]}))
    assert (warned.bdf, warned.severity) == ("GPU0", Severity.WARNING)
    assert "PCIe system: Detected more than 8 PCIe replays" in warned.title


XPU = """\
+------------------------------+-------------------------------------------------------------------+
| Device ID                    | {gpu}                                                                 |
+------------------------------+-------------------------------------------------------------------+
| 1. GPU Core Temperature      | Status: Ok                                                        |
|                              | Description: All temperature sensors are healthy.                 |
|                              | Throttle Threshold: 105  Celsius Degree                           |
| 4. GPU Memory                | Status: {state:<58}|
|                              | Description: {why:<53}|
| 5. Xe Link Port              | Status: Unknown                                                   |
+------------------------------+-------------------------------------------------------------------+
"""


@pytest.mark.parametrize(
    ("state", "severity"),
    [("Ok", None), ("Unknown", None), ("Warning", Severity.WARNING), ("Critical", Severity.ERROR)],
)
def test_xpu_smis_health(state: str, severity: Severity | None) -> None:
    text = XPU.format(gpu=0, state="Ok", why="fine") + XPU.format(gpu=1, state=state, why="failed to read")
    assert [f.identity.vendor_id for f in machine(text)] == [0x8086, 0x8086]
    found = findings(text)
    assert [(f.bdf, f.severity) for f in found] == ([] if severity is None else [("GPU1", severity)])
    assert all("GPU Memory: failed to read" in finding.title for finding in found)
