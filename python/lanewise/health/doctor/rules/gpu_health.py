"""What `nvidia-smi` says of a GPU that is to be reset, repaired or replaced, or that is held down."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lanewise.health.doctor import alike
from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PROVISIONING, Bearing, Rule, rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.function import Function
    from lanewise.machine.gpu_health import GpuHealth
    from lanewise.machine.view import View

_MOST_PAGES = 60
"""Retired pages from which NVIDIA replaces a GPU (Dynamic Page Retirement)."""
_NOT_SET_UP = frozenset({"In Progress", "Not Started"})
_INFO, _WARNING, _ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR

HEALTH = Rule(
    id="gpu-health",
    what="`nvidia-smi` or `amd-smi` says that a GPU is to be reset, repaired or replaced: memory errors "
    "that could not be "
    "corrected, rows or channels of memory that wait for a reset, a repair that failed, links to NVSwitches "
    "that are not healthy or not set up, heat, values that the driver cannot read, or the driver's own GPU "
    "Recovery Action.",
    why="Memory that fails stops the programs that use it, again and again, until the GPU replaces the row, "
    "which it does at a reset. A GPU without spare rows cannot be repaired. Its link may still be healthy.",
    severity="error where a repair failed, memory cannot be repaired, the SRAM threshold is exceeded, or "
    "the driver cannot read it or asks for a reset or a reboot; warning for errors since the driver "
    "started, for what waits for a reset, banks without spare rows, 60 and more retired pages, heat above "
    "the limit, a fan that cannot be read, one GPU of several whose driver reports nothing about its link, "
    "links to NVSwitches that are unhealthy or not set up, and a corrupted InfoROM; info for errors of the "
    "past, replaced rows and retired pages",
    cost="stated: programs on the GPU are stopped, or were",
    fix="Drain the node and reset the GPU (`nvidia-smi --gpu-reset -i BDF`), or start the node again. Then "
    "test the GPU: `dcgmi diag -r 3`.",
    references=(
        "NVIDIA, GPU Memory Error Management",
        "NVIDIA, GPU Debug Guidelines",
        "NVIDIA, nvidia-smi manual (ECC Errors, Remapped Rows, GPU Recovery Action)",
    ),
    not_said="Errors that were corrected; parts of a GPU (MIG), whose GPU counts.",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)
_TO_REPLACE = (
    "Take the GPU of BDF out of service and replace it: a reset does not repair this. "
    "`nvidia-bug-report.sh` collects what the maker asks for."
)

SLOWDOWN = Rule(
    id="gpu-slowdown",
    what="Hardware holds the clocks of a GPU down: it is too hot, or the server's power brake is on.",
    why="The GPU halves its clocks, or lowers them further, whatever runs on it. Copies by its kernels and "
    "work that is spread over several GPUs wait for it.",
    severity="warning; info where its driver lowers them because the GPU is warm",
    cost="stated: the GPU runs at half of its clocks or less",
    fix="Thermal: look at fans, air flow and the cooler of BDF. Power brake: look at the power supplies, "
    "and at what the management controller says about them. Then ask again: `nvidia-smi -q -d PERFORMANCE`.",
    references=("NVIDIA, nvidia-smi manual (Clocks Event Reasons, HW Slowdown)",),
    not_said="Power caps and settings of software: GPUs are meant to run with them under load.",
    bearing=Bearing.DISTURBS,
)


class _Sign(NamedTuple):
    """One thing that a GPU says against itself."""

    severity: Severity
    words: str
    evidence: str
    replace: bool = False


@rule(HEALTH)
def unhealthy_gpus(view: View, this: Rule) -> Iterable[Finding]:
    """Find GPUs that are not fit for service: one finding for each."""
    for function in view.machine:
        signs = (
            sorted(_signs(function.health), key=lambda sign: -sign.severity.rank) if function.health else []
        )
        if not signs:
            continue
        bdf, worst = function.address.short, signs[0].severity
        told = [sign for sign in signs if sign.severity is worst]
        yield this.finding(
            worst,
            bdf,
            f"GPU at {bdf}: {', '.join(sign.words for sign in told)}",
            [*(f"{bdf} {sign.evidence}" for sign in signs), f"{bdf} is {function.name}"],
            fix=_TO_REPLACE if any(sign.replace for sign in signs) else None,
        )
    yield from _silent_ones(view, this)


def _silent_ones(view: View, this: Rule) -> Iterator[Finding]:
    """Find the one GPU of several of whose link the tool tells nothing, where it tells of all others."""
    if view.machine.kinds not in (("nvidia-smi",), ("AMD SMI",)):
        return
    for members in alike.groups(view):
        silent = [member for member in members if not member.link.status.known]
        if len(silent) != 1 or len(members) < alike.FEWEST or silent[0].virtual:
            continue
        bdf = silent[0].address.short
        yield this.finding(
            _WARNING,
            bdf,
            f"GPU at {bdf}: the driver reports no link of it, but those of {len(members) - 1} like it",
            [f"{bdf} pcie.link: N/A ({silent[0].name})"],
        )


def _signs(health: GpuHealth) -> Iterator[_Sign]:
    action = health.recovery_action
    if action not in (None, "None"):
        severity = _WARNING if action == "Drain P2P" else _ERROR
        yield _Sign(severity, f"the driver asks for: {action}", f"GPU Recovery Action: {action}")
    if health.remap_failed:
        words = "a row of memory could not be replaced"
        yield _Sign(_ERROR, words, "Remapped Rows, Remapping Failure Occurred: Yes", replace=True)
    if health.unrepairable_memory:
        yield _Sign(_ERROR, "memory cannot be repaired", "Unrepairable Memory: Yes", replace=True)
    if health.sram_threshold_exceeded:
        words = "too many errors of SRAM could not be corrected"
        yield _Sign(_ERROR, words, "SRAM Threshold Exceeded: Yes", replace=True)
    count, past = health.uncorrectable or 0, health.uncorrectable_in_life or 0
    if count:
        errors = f"{count} memory errors" if count > 1 else "a memory error"
        words = f"{errors} could not be corrected since the driver started"
        yield _Sign(_WARNING, words, f"ECC Errors, Volatile: {count} uncorrectable")
    elif past:
        errors = f"{past} memory errors" if past > 1 else "a memory error"
        yield _Sign(_INFO, f"{errors} could not be corrected in the past", f"ECC Errors, Aggregate: {past}")
    for waits, words, evidence in (
        (health.remap_pending, "a row of memory waits for a reset", "Remapped Rows, Pending: Yes"),
        (health.retirement_pending, "a page of memory waits for a reset", "Pending Page Blacklist: Yes"),
        (health.channel_repair_pending, "a memory channel waits for a reset", "Channel Repair Pending: Yes"),
        (health.tpc_repair_pending, "a part of the processor waits for a reset", "TPC Repair Pending: Yes"),
    ):
        if waits:
            yield _Sign(_WARNING, words, evidence)
    yield from _wear(health)
    yield from _unread(health)
    if health.fabric_state in _NOT_SET_UP or health.fabric_status not in (None, "Success"):
        told = health.fabric_status if health.fabric_status not in (None, "Success") else health.fabric_state
        yield _Sign(_WARNING, f"its links to NVSwitches are not set up: {told}", f"Fabric: {told}")
    if health.fabric not in (None, "Healthy"):
        yield _Sign(_WARNING, f"links to NVSwitches: {health.fabric}", f"Fabric Health: {health.fabric}")
    if health.inforom_corrupted:
        yield _Sign(_WARNING, "its InfoROM is corrupted", "WARNING: infoROM is corrupted")


def _unread(health: GpuHealth) -> Iterator[_Sign]:
    """List what the driver could not read."""
    if health.unreadable is not None:
        words = f"the driver cannot read it ({health.unreadable})"
        yield _Sign(_ERROR, words, f"nvidia-smi: {health.unreadable}")
    for sensor in health.sensors_unreadable or ():
        # Notebooks whose firmware owns the sensor of power print that for years.
        severity = _WARNING if sensor == "fan" else _INFO
        yield _Sign(severity, f"the driver cannot read its {sensor}", f"nvidia-smi: {sensor} cannot be read")


def _wear(health: GpuHealth) -> Iterator[_Sign]:
    """List signs of memory that wears out, and of heat."""
    if health.banks_without_spares:
        words = f"{health.banks_without_spares} memory banks have no spare row left"
        evidence = f"Bank Remap Availability Histogram, None: {health.banks_without_spares} bank(s)"
        yield _Sign(_WARNING, words, evidence)
    if (health.pages_retired or 0) >= _MOST_PAGES:
        words = f"{health.pages_retired} pages of memory were taken out of use, the most that it can"
        yield _Sign(_WARNING, words, f"Retired Pages: {health.pages_retired}", replace=True)
    elif health.pages_retired:
        words = f"{health.pages_retired} pages of memory were taken out of use"
        yield _Sign(_INFO, words, f"Retired Pages: {health.pages_retired}")
    if health.rows_replaced:
        words = f"{health.rows_replaced} rows of memory were replaced after errors"
        yield _Sign(_INFO, words, f"Remapped Rows, Uncorrectable Error: {health.rows_replaced}")
    now, limit, left = health.degrees_c, health.slowdown_at_c, health.degrees_left_c
    if now is not None and limit is not None and now >= limit > 0:
        yield _Sign(_WARNING, f"it is at {now} C and slows down from {limit} C on", f"Temperature: {now} C")
    elif left is not None and left < 0:
        yield _Sign(_WARNING, f"it is {-left} C above its limit", f"GPU T.Limit Temp: {left} C")


@rule(SLOWDOWN)
def slowed_gpus(view: View, this: Rule) -> Iterable[Finding]:
    """Find GPUs whose clocks are held down by hardware."""
    for function in view.machine:
        health = function.health
        reasons = health.slowdowns if health is not None else None
        if not reasons:
            if health is not None and health.slowed_by_driver:
                yield _slowed_by_driver(this, function)
            continue
        bdf = function.address.short
        why = {"thermal": "it is too hot", "power brake": "the power brake is on"}
        words = " and ".join(why.get(reason, "HW Slowdown is active") for reason in reasons)
        yield this.finding(
            Severity.WARNING,
            bdf,
            f"hardware holds the clocks of {bdf} down: {words}",
            [f"{bdf} Clocks Event Reasons: {', '.join(reasons)} active ({function.name})"],
        )


def _slowed_by_driver(this: Rule, function: Function) -> Finding:
    bdf = function.address.short
    return this.finding(
        Severity.INFO,
        bdf,
        f"the driver lowers the clocks of {bdf}, because the GPU is warm",
        [f"{bdf} Clocks Event Reasons: SW Thermal Slowdown active ({function.name})"],
        cost="the GPU runs slower than it could",
    )
