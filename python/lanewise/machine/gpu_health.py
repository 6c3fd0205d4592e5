"""What a GPU's driver says of its health: memory, repairs that wait, what holds its clocks down.

Models what decides whether a GPU is reset, repaired or replaced. Left out: temperatures, power, clocks, and
errors that were corrected. Source: NVIDIA, nvidia-smi manual of drivers 352 to 595 (ECC Errors, Remapped
Rows, Retired Pages, GPU Recovery Action, Clocks Event Reasons), "GPU Memory Error Management".
"""

from __future__ import annotations

from typing import NamedTuple


class GpuHealth(NamedTuple):
    """Health of one GPU; None where the source does not say."""

    ecc: bool | None = None
    """Whether its memory is protected by ECC now."""
    uncorrectable: int | None = None
    """Memory errors that could not be corrected since the driver started, DRAM and SRAM together."""
    uncorrectable_in_life: int | None = None
    """The same since the GPU was made."""
    sram_threshold_exceeded: bool | None = None
    """Whether SRAM has had so many that NVIDIA replaces the GPU."""
    remap_pending: bool | None = None
    """Whether a row of memory is to be replaced by a spare one at the next reset."""
    remap_failed: bool | None = None
    """Whether there was no spare row."""
    retirement_pending: bool | None = None
    """The same as `remap_pending`, of pages, before Ampere."""
    channel_repair_pending: bool | None = None
    tpc_repair_pending: bool | None = None
    unrepairable_memory: bool | None = None
    recovery_action: str | None = None
    """What the driver asks for, like ``Reset``, ``Reboot``, ``Drain P2P``; the word ``None`` for nothing."""
    fabric: str | None = None
    """How its links to NVSwitches are: ``Healthy``, ``Unhealthy``, ``Limited Capacity``."""
    inforom_corrupted: bool | None = None
    slowdowns: tuple[str, ...] | None = None
    """What hardware holds the clocks down for now: ``thermal``, ``power brake``, or ``unknown``."""
    slowed_by_driver: bool | None = None
    """Whether the driver holds its clocks down because it is too warm (SW Thermal Slowdown)."""
    degrees_c: int | None = None
    """Temperature of the GPU, degrees Celsius."""
    slowdown_at_c: int | None = None
    """Temperature at which hardware slows it down."""
    degrees_left_c: int | None = None
    """Degrees below the limit at which it slows down (T.Limit); negative: above it."""
    banks_without_spares: int | None = None
    """Banks of memory that have no spare row left."""
    rows_replaced: int | None = None
    """Rows of memory replaced after errors that could not be corrected."""
    pages_retired: int | None = None
    """Pages of memory taken out of use, before Ampere."""
    fabric_state: str | None = None
    """How far its links to NVSwitches are set up: ``Completed``, ``In Progress``, ``Not Started``."""
    fabric_status: str | None = None
    """How that went: ``Success`` or what failed."""
    unreadable: str | None = None
    """What stands in place of a value that the driver could not read, like ``Unknown Error``."""
    sensors_unreadable: tuple[str, ...] | None = None
    """Sensors that the driver could not read although the GPU answers: ``fan``, ``power``."""
    power_limit_w: int | None = None
    """The most power that it may take now, W, rounded."""
    bar1_bytes: int | None = None
    """How much of its memory other devices and the CPU can reach."""
    utilization_percent: int | None = None
