"""Health of GPUs as `nvidia-smi` tells it: `-q` of several drivers as text and XML, CSV and the table.

The forms are those of drivers 352 to 595; the values are made up.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes
from lanewise.machine.gpu_health import GpuHealth

HEAD = "==============NVSMI LOG==============\n\nAttached GPUs                             : 1\n"
NEW = """\
GPU 00000000:3B:00.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                                        : Enabled
        Pending                                        : Enabled
    MIG Device
        Index                                          : 0
        ECC Errors
            Volatile
                SRAM Uncorrectable                     : 9
        BAR1 Memory Usage
            Total                                      : 65535 MiB
    GPU Recovery Action                                : None
    PCI
        Bus Id                                         : 00000000:3B:00.0
        GPU Link Info
            PCIe Generation
                Max                                    : 5
                Current                                : 5
                Device Max                             : 5
                Host Max                               : 5
            Link Width
                Max                                    : 16x
                Current                                : 16x
    Performance State                                  : P0
    Clocks Event Reasons
        Idle                                           : Active
        SW Thermal Slowdown                            : Not Active
        HW Slowdown                                    : Not Active
            HW Thermal Slowdown                        : Not Active
            HW Power Brake Slowdown                    : Not Active
    Clocks Event Reasons Counters
        HW Thermal Slowdown                            : 0 us
        HW Power Braking                               : 0 us
    FB Memory Usage
        Total                                          : 81559 MiB
    BAR1 Memory Usage
        Total                                          : 131072 MiB
        Used                                           : 3 MiB
    Utilization
        GPU                                            : 0 %
    ECC Mode
        Current                                        : Enabled
        Pending                                        : Enabled
    ECC Errors
        Volatile
            SRAM Correctable                           : 4
            SRAM Uncorrectable Parity                  : 0
            SRAM Uncorrectable SEC-DED                 : 0
            DRAM Correctable                           : 4
            DRAM Uncorrectable                         : 0
        Aggregate
            SRAM Correctable                           : 4
            SRAM Uncorrectable Parity                  : 0
            SRAM Uncorrectable SEC-DED                 : 0
            DRAM Correctable                           : 0
            DRAM Uncorrectable                         : 0
            SRAM Threshold Exceeded                    : No
        Channel Repair Pending                         : No
        TPC Repair Pending                             : No
        Unrepairable Memory                            : No
    Retired Pages
        Single Bit ECC                                 : N/A
        Double Bit ECC                                 : N/A
        Pending Page Blacklist                         : N/A
    Remapped Rows
        Correctable Error                              : 0
        Uncorrectable Error                            : 0
        Pending                                        : No
        Remapping Failure Occurred                     : No
        Bank Remap Availability Histogram
            Max                                        : 2560 bank(s)
            None                                       : 0 bank(s)
    Temperature
        GPU Current Temp                               : 41 C
        GPU T.Limit Temp                               : 46 C
        GPU Shutdown T.Limit Temp                      : -8 C
        GPU Slowdown T.Limit Temp                      : -2 C
    GPU Power Readings
        Current Power Limit                            : 700.00 W
    Fabric
        State                                          : Completed
        Status                                         : Success
        Health
            Summary                                    : Healthy
"""
SOUND = GpuHealth(
    ecc=True,
    uncorrectable=0,
    uncorrectable_in_life=0,
    sram_threshold_exceeded=False,
    remap_pending=False,
    remap_failed=False,
    channel_repair_pending=False,
    tpc_repair_pending=False,
    unrepairable_memory=False,
    recovery_action="None",
    fabric="Healthy",
    slowdowns=(),
    slowed_by_driver=False,
    degrees_c=41,
    degrees_left_c=46,
    banks_without_spares=0,
    rows_replaced=0,
    fabric_state="Completed",
    fabric_status="Success",
    power_limit_w=700,
    bar1_bytes=128 << 30,
    utilization_percent=0,
)
OLD = """\
GPU 0000:06:00.0
    Product Name                    : Tesla K80
    PCI
        Bus Id                      : 0000:06:00.0
    Performance State               : P0
    Clocks Throttle Reasons
        HW Slowdown                 : Active
    Ecc Mode
        Current                     : Enabled
    ECC Errors
        Volatile
            Single Bit
                Device Memory       : 5
                Total               : 5
            Double Bit
                Device Memory       : 1
                Total               : 1
        Aggregate
            Double Bit
                Device Memory       : 3
                Total               : 3
    Retired Pages
        Single Bit ECC              : 0
        Double Bit ECC              : 1
        Pending                     : Yes
"""
XML = """\
<?xml version="1.0" ?>
<nvidia_smi_log>
  <attached_gpus>1</attached_gpus>
  <gpu id="00000000:01:00.0">
    <mig_devices><mig_device>
      <ecc_error_count><volatile_count><sram_uncorrectable>9</sram_uncorrectable></volatile_count></ecc_error_count>
      <bar1_memory_usage><total>32767 MiB</total></bar1_memory_usage>
    </mig_device></mig_devices>
    <gpu_recovery_action>Reboot</gpu_recovery_action>
    <clocks_event_reasons>
      <clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown>
      <clocks_event_reason_hw_power_brake_slowdown>Active</clocks_event_reason_hw_power_brake_slowdown>
    </clocks_event_reasons>
    <bar1_memory_usage><total>131072 MiB</total></bar1_memory_usage>
    <utilization><gpu_util>97 %</gpu_util></utilization>
    <ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
    <ecc_errors>
      <volatile><dram_uncorrectable>7</dram_uncorrectable><sram_uncorrectable_parity>1</sram_uncorrectable_parity></volatile>
      <aggregate><dram_uncorrectable>8</dram_uncorrectable><sram_threshold_exceeded>Yes</sram_threshold_exceeded></aggregate>
    </ecc_errors>
    <retired_pages><pending_retirement>No</pending_retirement></retired_pages>
    <remapped_rows><remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>
  </gpu>
</nvidia_smi_log>
"""


def health(text: str) -> GpuHealth | None:
    return next(function.health for function in read_bytes(text.encode()) if not function.implied)


def test_what_a_gpu_in_order_says() -> None:
    assert health(HEAD + NEW) == SOUND
    assert not {
        f.rule for f in diagnose(read_bytes((HEAD + NEW).encode())).findings if f.rule != "link-one-end"
    }


CHANGES = [
    ("DRAM Uncorrectable", "2", {"uncorrectable": 2}, "warning"),
    ("SRAM Uncorrectable SEC-DED", "1", {"uncorrectable": 1}, "warning"),
    ("SRAM Threshold Exceeded", "Yes", {"sram_threshold_exceeded": True}, "error"),
    ("Unrepairable Memory", "Yes", {"unrepairable_memory": True}, "error"),
    ("Channel Repair Pending", "Yes", {"channel_repair_pending": True}, "warning"),
    ("TPC Repair Pending", "Yes", {"tpc_repair_pending": True}, "warning"),
    ("Remapping Failure Occurred", "Yes", {"remap_failed": True}, "error"),
    ("GPU Recovery Action", "Reset", {"recovery_action": "Reset"}, "error"),
    ("GPU Recovery Action", "Drain P2P", {"recovery_action": "Drain P2P"}, "warning"),
    ("GPU Recovery Action", "N/A", {"recovery_action": None}, None),
    ("Summary", "Unhealthy", {"fabric": "Unhealthy"}, "warning"),
    ("State", "In Progress", {"fabric_state": "In Progress"}, "warning"),
    ("State", "Not Started", {"fabric_state": "Not Started"}, "warning"),
    ("Status", "Insufficient Resources", {"fabric_status": "Insufficient Resources"}, "warning"),
    ("Single Bit ECC", "63", {"pages_retired": 63}, "warning"),
    ("Single Bit ECC", "3", {"pages_retired": 3}, "info"),
    ("Uncorrectable Error", "2", {"rows_replaced": 2}, "info"),
    ("None", "2 bank(s)", {"banks_without_spares": 2}, "warning"),
    ("GPU T.Limit Temp", "-3 C", {"degrees_left_c": -3}, "warning"),
    ("SW Thermal Slowdown", "Active", {"slowed_by_driver": True}, "info"),
    ("Current Power Limit", "Unknown Error", {"power_limit_w": None, "unreadable": "Unknown Error"}, "error"),
    ("HW Thermal Slowdown", "Active", {"slowdowns": ("thermal",)}, "warning"),
    ("HW Slowdown", "Active", {"slowdowns": ("unknown",)}, "warning"),
]


def with_value(key: str, value: str, text: str = NEW) -> str:
    """Change the first value of a key."""
    changed, times = re.subn(rf"^( +{key} +: ).*$", rf"\g<1>{value}", text, count=1, flags=re.MULTILINE)
    assert times
    return changed


@pytest.mark.parametrize(
    ("key", "value", "said", "severity"), CHANGES, ids=[f"{c[0]}: {c[1]}" for c in CHANGES]
)
def test_what_a_gpu_says_against_itself(
    key: str, value: str, said: dict[str, Any], severity: str | None
) -> None:
    text = HEAD + with_value(key, value)
    assert health(text) == SOUND._replace(**said)
    assert judged(text) == (set() if severity is None else {severity})


def test_a_row_that_waits_is_none_of_mig() -> None:
    head, heading, tail = NEW.partition("    Remapped Rows\n")
    text = HEAD + head + heading + with_value("Pending", "Yes", tail)
    assert health(text) == SOUND._replace(remap_pending=True)
    assert judged(text) == {"warning"}


def judged(text: str) -> set[str]:
    """Return the severities of what the doctor says of health."""
    findings = diagnose(read_bytes(text.encode()), cost=False).findings
    return {str(f.severity) for f in findings if f.rule in ("gpu-health", "gpu-slowdown")}


def test_old_drivers() -> None:
    assert health(OLD) == GpuHealth(
        ecc=True,
        uncorrectable=1,
        uncorrectable_in_life=3,
        retirement_pending=True,
        slowdowns=("unknown",),
        pages_retired=1,
    )


def test_xml_and_no_part_of_a_gpu_for_the_gpu() -> None:
    assert health(XML) == GpuHealth(
        ecc=True,
        uncorrectable=8,
        uncorrectable_in_life=8,
        sram_threshold_exceeded=True,
        remap_pending=True,
        remap_failed=False,
        retirement_pending=False,
        recovery_action="Reboot",
        slowdowns=("power brake",),
        bar1_bytes=128 << 30,
        utilization_percent=97,
    )


def test_columns_and_the_table() -> None:
    columns = "pci.bus_id, ecc.mode.current, ecc.errors.uncorrected.volatile.total, utilization.gpu [%]\n"
    said = health(columns + "00000000:0F:00.0, Enabled, 3, 12 %\n")
    assert said == GpuHealth(ecc=True, uncorrectable=3, utilization_percent=12)
    table = (
        "|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    2 |\n"
        "| N/A   30C    P8             62W /  400W |       4MiB /  81920MiB |      0%      Default |\n"
    )
    assert health(table) == GpuHealth(uncorrectable=2)


SECOND = "| {first:<38} |       4MiB /  81920MiB | {use:>8}      Default |\n"


@pytest.mark.parametrize(
    ("first", "use", "said", "severity"),
    [
        ("N/A   30C    P8    62W /  400W", "0%", GpuHealth(uncorrectable=0), set()),
        ("ERR!   ERR! ERR!   ERR! / ERR!", "ERR!", GpuHealth(uncorrectable=0, unreadable="ERR!"), {"error"}),
        ("ERR!   30C    P8    62W /  400W", "0%", GpuHealth(uncorrectable=0), {"warning"}),
        ("N/A   30C    P8    ERR! /  400W", "0%", GpuHealth(uncorrectable=0), {"info"}),
    ],
)
def test_cells_of_the_table_that_could_not_be_read(
    first: str, use: str, said: GpuHealth, severity: set[str]
) -> None:
    table = (
        "|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |\n"
        + SECOND.format(first=first, use=use)
    )
    found = health(table)
    assert found is not None
    assert found._replace(sensors_unreadable=None) == said
    assert judged(table) == severity


COLUMNS = [
    ("pcie.link.gen.current", "4", "[GPU requires reset]", "error"),
    ("temperature.gpu", "40", "[Unknown Error]", "error"),
    ("fan.speed [%]", "30 %", "[Unknown Error]", "warning"),
    ("remapped_rows.failure", "0", "1", "error"),
    ("remapped_rows.pending", "No", "Yes", "warning"),
    ("ecc.errors.uncorrected.volatile.dram", "0", "2", "warning"),
    ("clocks_throttle_reasons.active", "0x0000000000000001", "0x0000000000000048", "warning"),
    ("fabric.status", "Success", "Insufficient Resources", "warning"),
]


@pytest.mark.parametrize(("column", "sound", "sick", "severity"), COLUMNS, ids=[one[0] for one in COLUMNS])
def test_columns_in_which_one_gpu_is_sick(column: str, sound: str, sick: str, severity: str) -> None:
    text = f"gpu_bus_id, {column}\n00000000:07:00.0, {sound}\n00000000:0B:00.0, {{}}\n"
    assert judged(text.format(sound)) == set()
    assert judged(text.format(sick)) == {severity}


def test_one_gpu_of_whose_link_nothing_is_told() -> None:
    heading = "name, pci.bus_id, pcie.link.gen.current, pcie.link.width.current\n"
    rows = "".join(f"NVIDIA A100-SXM4-80GB, 00000000:{bus}:00.0, 4, 16\n" for bus in ("07", "0B", "48"))
    assert judged(heading + rows) == set()
    assert judged(f"{heading}{rows}NVIDIA A100-SXM4-80GB, 00000000:4C:00.0, [N/A], [N/A]\n") == {"warning"}


def test_what_drivers_asked_for_before_the_recovery_action() -> None:
    status = "    GPU Reset Status\n        Reset Required : {}\n        Drain and Reset Recommended : {}\n"
    assert judged(HEAD + OLD.replace("Active", "Not Active").replace("Yes", "No")) == {"warning"}
    for required, drain, action in (
        ("Yes", "Yes", "Reset"),
        ("No", "Yes", "Drain and Reset"),
        ("No", "No", None),
    ):
        said = health(HEAD + OLD + status.format(required, drain))
        assert said is not None
        assert said.recovery_action == action


def test_what_is_said_below_the_list() -> None:
    text = HEAD + NEW + "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n"
    assert health(text) == SOUND._replace(inforom_corrupted=True)


@pytest.mark.parametrize(
    ("state", "used", "slow"), [("P0", "99 %", True), ("P8", "99 %", False), ("P0", "3 %", False)]
)
def test_a_gpu_in_use_is_not_idle_whatever_it_says(state: str, used: str, slow: bool) -> None:
    text = NEW.replace(
        "Current                                : 5", "Current                                : 1"
    )
    text = text.replace(": P0", f": {state}").replace(
        "GPU                                            : 0 %", f"GPU : {used}"
    )
    findings = diagnose(read_bytes((HEAD + text).encode()), cost=False).findings
    assert ({f.rule for f in findings} == {"link-speed"}) is slow
    assert ({f.rule for f in findings} == {"gpu-link-idle"}) is not slow


GUEST = NEW.replace(
    "Host Max                               : 5", "Host Max                               : N/A"
)
NO_ANSWER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
    "NVIDIA driver is installed and running.\n",
    "No devices were found\n",
    "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n",
)


def test_a_guest_whose_host_is_unknown_sees_a_slow_link_at_work() -> None:
    text = with_value("Current", "1", GUEST.partition("    PCI\n")[2])
    text = GUEST.partition("    PCI\n")[0] + "    PCI\n" + with_value("GPU", "99 %", text)
    assert [(f.rule, f.severity.value) for f in diagnose(read_bytes((HEAD + text).encode())).findings] == [
        ("link-speed", "warning")
    ]


@pytest.mark.parametrize(("name", "severity"), [("NVIDIA H200 SXM", "warning"), ("NVIDIA H200 NVL", "info")])
def test_a_module_without_half_of_its_lanes_is_no_matter_of_slots(name: str, severity: str) -> None:
    head, heading, tail = GUEST.replace("NVIDIA H100 80GB HBM3", name).partition("            Link Width\n")
    text = HEAD + head + heading + with_value("Current", "8x", tail)
    (finding,) = diagnose(read_bytes(text.encode()), cost=False).findings
    assert (finding.rule, finding.severity.value) == ("link-one-end", severity)


UNREACHED = [
    "Unable to determine the device handle for GPU0: 0000:3B:00.0: Unknown Error",
    "Unable to determine the device handle for GPU0000:3B:00.0: Not Found",
    "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to recover",
    "Unable to determine the device handle for gpu 0000:3B:00.0: Unable to communicate with GPU because "
    "it is insufficiently powered.",
]


@pytest.mark.parametrize("line", UNREACHED)
def test_each_form_of_a_gpu_without_a_handle(line: str) -> None:
    (finding,) = diagnose(read_bytes(f"{line}\n".encode()), cost=False).findings
    assert (finding.rule, finding.severity.value, finding.bdf) == ("device-lost", "error", "3b:00.0")


def test_a_list_of_names_with_one_too_few() -> None:
    line = "GPU {}: NVIDIA H100 PCIe (UUID: GPU-5a4f7a3c-1111-2222-3333-44445555666{})\n"
    two = HEAD + NEW + NEW.replace("3B", "5E")
    for listed, found in ((2, set()), (1, {"gpu-unreachable"})):
        text = two + "".join(line.format(number, number) for number in range(listed))
        rules = {one.rule for one in diagnose(read_bytes(text.encode()), cost=False).findings}
        assert rules & {"gpu-unreachable"} == found


@pytest.mark.parametrize("text", NO_ANSWER)
def test_a_tool_that_reaches_no_gpu(text: str) -> None:
    (finding,) = diagnose(read_bytes(text.encode()), cost=False).findings
    severity = "info" if "version mismatch" in text else "error"
    assert (finding.rule, finding.severity.value, finding.bdf) == ("gpu-unreachable", severity, "")
    assert finding.evidence == (text.splitlines()[0],)


def test_words_in_passing_are_no_failure() -> None:
    log = "[ 1.1] app: retry after No devices were found in the pool\n[ 1.2] usb 1-1: new device\n"
    assert read_bytes((HEAD + NEW + log).encode()).events == ()
