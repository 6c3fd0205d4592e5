"""What the registers of one function say, grouped as the capabilities that hold them.

Every field is ``None`` when the source does not say: `lspci` run by an ordinary user shows no capabilities,
hwloc knows nothing but a link's bandwidth, a dump of 256 bytes has no extended capabilities. ``False`` and
``0`` are statements. Names of bits are those that `lspci` prints (``BadTLP``, ``ReqRedir``), because people
search for them.

Left out: capabilities that say nothing about performance or health (VPD, MSI tables, subsystem IDs of
bridges). Source of all fields unless another is named: PCI Express Base Specification 5.0, 7.5 to 7.9;
chapter and register are given per class. Flit Mode, Device 3 and 14-bit tags: 6.0, 7.7.9 and 7.9.29.

The large ones are named tuples, because a health check starts at every boot, and Python writes and compiles
six functions for a data class whenever it starts; those with a `count` or an `index`, which tuples have, are
data classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

SPEEDS_GT_S = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0)
"""Line rate per lane of generation 1 to 7, in GT/s."""


class LinkMode(NamedTuple):
    """A speed and a width: what a link can do, or what it does."""

    gt_s: float | None = None
    """Line rate of one lane in GT/s; None when unknown."""
    width: int | None = None
    """Lanes; 0 is what an empty port or a virtual function reports; None when unknown."""

    @property
    def generation(self) -> int | None:
        """1 for 2.5 GT/s to 7 for 128 GT/s; None when the speed is unknown or no PCI Express speed."""
        return SPEEDS_GT_S.index(self.gt_s) + 1 if self.gt_s in SPEEDS_GT_S else None

    @property
    def known(self) -> bool:
        """Whether both speed and width are known and of a link that is up."""
        return bool(self.gt_s) and bool(self.width)

    def __str__(self) -> str:
        """Like ``8GT/s x16``, with ``?`` for what is unknown."""
        speed = "?" if self.gt_s is None else f"{self.gt_s:g}GT/s"
        return f"{speed} x{'?' if self.width is None else self.width}"


class Equalization(NamedTuple):
    """Outcome of link equalization at one speed. 7.5.3.20 (8 GT/s), 7.7.5, 7.7.6; 64 GT/s: 6.0, 7.7.7."""

    gt_s: float
    complete: bool | None = None
    phase1: bool | None = None
    phase2: bool | None = None
    phase3: bool | None = None
    requested: bool | None = None
    """The port asks for equalization to be done again."""


class LinkRegisters(NamedTuple):
    """Link Capabilities, Control and Status, 1 and 2 (7.5.3.6 to .8, .18 to .20), and lane errors."""

    capability: LinkMode = LinkMode()
    """The most this end can do (Max Link Speed, Maximum Link Width)."""
    status: LinkMode = LinkMode()
    """What runs now (Current Link Speed, Negotiated Link Width). An empty port reports anything."""
    said_of_speed: str | None = None
    """What `lspci` 3.6 and later says of the speed: ``ok``, ``downgraded``, ``overdriven`` or ``strange``."""
    said_of_width: str | None = None
    bandwidth_gb_s: float | None = None
    """What one direction carries after line coding, GB/s: hwloc gives that in place of a mode."""
    target_gt_s: float | None = None
    """Target Link Speed, which software set; upper limit that the port trains to."""
    supported_gt_s: tuple[float, ...] | None = None
    """Supported Link Speeds Vector, rising."""
    port_number: int | None = None
    data_link_active: bool | None = None
    """DL_Active; means something only when `data_link_active_reporting`."""
    data_link_active_reporting: bool | None = None
    """Data Link Layer Link Active Reporting Capable."""
    training: bool | None = None
    disabled: bool | None = None
    """Link Disable is set."""
    autonomous_width_disabled: bool | None = None
    autonomous_speed_disabled: bool | None = None
    """Hardware Autonomous Speed Disable: this end may not change the speed by itself, unless to keep the link
    reliable. 7.5.3.19."""
    test_modes: tuple[str, ...] | None = None
    """What tests switch on in Link Control 2 (``EnterCompliance``, ``EnterModifiedCompliance``,
    ``ComplianceSOS``, ``Transmit Margin``); empty: nothing. 7.5.3.19."""
    bandwidth_managed: bool | None = None
    """Link Bandwidth Management Status: speed or width changed for reliability, or software asked."""
    bandwidth_autonomous: bool | None = None
    """Link Autonomous Bandwidth Status: the device changed speed or width for reasons of its own."""
    slot_clock: bool | None = None
    common_clock: bool | None = None
    clock_power_management: bool | None = None
    """Clock power management (CLKREQ#) is enabled."""
    aspm_supported: tuple[str, ...] | None = None
    """Of ``L0s`` and ``L1``; empty: none."""
    aspm_enabled: tuple[str, ...] | None = None
    exit_latency_l0s_s: float | None = None
    """Longest time this end needs from L0s to L0, seconds; None also where it is more than 4 us. 7.5.3.6."""
    exit_latency_l1_s: float | None = None
    """The same from L1; None also where it is more than 64 us."""
    l1_substates_enabled: tuple[str, ...] | None = None
    """Of ``ASPM_L1.1``, ``ASPM_L1.2``, ``PCI-PM_L1.1``, ``PCI-PM_L1.2``. 7.8.3."""
    l1_2_common_mode_s: float | None = None
    """Time for the common mode on the way out of L1.2, seconds; ports have it, devices say zero. 7.8.3.3."""
    l1_2_power_on_s: float | None = None
    """Time before that, until circuits have power, seconds. 7.8.3.4."""
    rcb_bytes: int | None = None
    """Read Completion Boundary, 64 or 128 bytes. 7.5.3.7."""
    retimer: bool | None = None
    """At least one retimer was seen during training."""
    two_retimers: bool | None = None
    equalization: tuple[Equalization, ...] = ()
    """By rising speed; speeds of which nothing is known are absent."""
    lane_errors: tuple[int, ...] | None = None
    """Lanes with an error latched in Lane Error Status; empty: none. 7.7.3.3."""
    flit_mode_supported: bool | None = None
    """6.0, 7.5.3.3 (PCI Express Capabilities register)."""
    flit_mode: bool | None = None
    """Whether the link runs in Flit Mode (Link Status 2)."""

    def equalized(self, gt_s: float) -> Equalization | None:
        """Return what is known of equalization at one speed."""
        return next((outcome for outcome in self.equalization if outcome.gt_s == gt_s), None)


PACKET_SIZES = (128, 256, 512, 1024, 2048, 4096)
"""Bytes that Max_Payload_Size and Max_Read_Request_Size can say. 7.5.3.3 and .4."""

BOUNDARIES = (64, 128)
"""Bytes that Read Completion Boundary can say. 7.5.3.7."""


class Transfers(NamedTuple):
    """How a function cuts and marks packets. Device registers 1 and 2: 7.5.3.3 to .5, .15, .16."""

    mps_supported: int | None = None
    """Max_Payload_Size Supported, bytes."""
    mps: int | None = None
    """Max_Payload_Size set, bytes."""
    mrrs: int | None = None
    """Max_Read_Request_Size set, bytes."""
    relaxed_ordering: bool | None = None
    """Enable Relaxed Ordering: the function may set the attribute, not that it does."""
    no_snoop: bool | None = None
    extended_tags_supported: bool | None = None
    """8-bit tags as a requester."""
    extended_tags: bool | None = None
    ten_bit_tags_completer: bool | None = None
    """10-Bit Tag Completer Supported."""
    ten_bit_tags_requester: bool | None = None
    """10-Bit Tag Requester Supported."""
    ten_bit_tags: bool | None = None
    """10-Bit Tag Requester Enable."""
    fourteen_bit_tags_completer: bool | None = None
    """6.0, Device Capabilities 3."""
    fourteen_bit_tags_requester: bool | None = None
    fourteen_bit_tags: bool | None = None
    """14-Bit Tag Requester Enable; 6.0, Device Control 3."""
    completion_timeout_ranges: str | None = None
    """Programmable ranges, letters of ``ABCD``; empty: not programmable."""
    completion_timeout_s: tuple[float, float] | None = None
    """The range set, in seconds; 50 us to 50 ms is the default."""
    completion_timeout_disable_supported: bool | None = None
    completion_timeout_disabled: bool | None = None
    atomics_routing: bool | None = None
    """AtomicOp Routing Supported (ports)."""
    atomics_enabled: bool | None = None
    """AtomicOp Requester Enable."""
    ltr: bool | None = None
    """Latency Tolerance Reporting enabled."""
    latency_l0s_acceptable_s: float | None = None
    latency_l1_acceptable_s: float | None = None
    slot_power_limit_w: float | None = None
    """Captured Slot Power Limit of an upstream port or endpoint, watts."""
    reports: frozenset[str] | None = None
    """Errors that it reports, of ``CorrErr NonFatalErr FatalErr UnsupReq`` in Device Control."""
    status: frozenset[str] | None = None
    """Bits set in Device Status, of ``CorrErr NonFatalErr FatalErr UnsupReq AuxPwr TransPend``."""


WITHOUT_DETAILS = "WithoutDetails"
"""As what an error counts of which a log does not say which one it was."""
BY_MLXLINK = "mlxlink.TOTAL"
BY_ETHTOOL = "ethtool.TOTAL"
"""Counters that say who counted the others: the adapter, as its maker's tool or its driver tells."""
MOMENTS = "correctable.MOMENTS"
"""At how many times within one minute of a log a link had errors, where it had them at more than one."""


class Errors(NamedTuple):
    """Advanced Error Reporting (7.8.4); each set holds the names of the bits that are set."""

    uncorrectable_status: frozenset[str] | None = None
    uncorrectable_mask: frozenset[str] | None = None
    uncorrectable_severity: frozenset[str] | None = None
    """Errors reported as fatal."""
    correctable_status: frozenset[str] | None = None
    """Of ``RxErr BadTLP BadDLLP Rollover Timeout AdvNonFatalErr CorrIntErr HeaderOF``."""
    correctable_mask: frozenset[str] | None = None
    first_error: int | None = None
    """First Error Pointer: number of the bit that came first."""
    header_log: tuple[int, ...] | None = None
    """The first 16 bytes of the TLP that was wrong, as four DW."""
    root_status: frozenset[str] | None = None
    """Root Error Status of a root port or event collector."""
    error_sources: tuple[int, int] | None = None
    """Error Source Identification: Requester IDs of the first correctable and uncorrectable message."""
    counters: tuple[tuple[str, int], ...] | None = None
    """Counted by Linux since boot: ``("correctable.BadTLP", 12)``, ``nonfatal.*``, ``*.TOTAL``.

    Of a log also `MOMENTS`: how many times within one minute errors of the link came again.
    """
    counted_in_log: bool = False
    """Whether they were counted in a kernel log, which drops lines, rather than by the kernel."""

    def counter(self, name: str) -> int | None:
        """Return the count of one error, like ``correctable.BadTLP``; None without counters."""
        return None if self.counters is None else dict(self.counters).get(name)


class Slot(NamedTuple):
    """What a port says about the slot below it. Slot Capabilities, Control, Status: 7.5.3.9 to .11."""

    number: int | None = None
    """Physical Slot Number, as printed on the case."""
    hot_plug: bool | None = None
    surprise: bool | None = None
    """A card may be pulled without notice."""
    power_limit_w: float | None = None
    power_controller: bool | None = None
    power_off: bool | None = None
    """The power controller has the slot switched off."""
    presence: bool | None = None
    """A card is there."""
    presence_changed: bool | None = None
    """Latched: a card came or went since software last cleared it."""
    link_changed: bool | None = None
    """Latched: Data Link Layer Link Active changed."""
    power_fault: bool | None = None
    """Latched: the power controller saw a fault."""
    attention: str | None = None
    """Attention indicator: ``on``, ``blink`` or ``off``."""
    latch_sensor: bool | None = None
    """The slot has a sensor that tells of its latch; without one `latch_open` says nothing."""
    latch_open: bool | None = None
    """The manually operated retention latch is open."""


class Acs(NamedTuple):
    """Access Control Services (7.7.8): names of bits supported and set, like ``ReqRedir``."""

    supported: frozenset[str] | None = None
    enabled: frozenset[str] | None = None


class Dpc(NamedTuple):
    """Downstream Port Containment (7.9.14)."""

    trigger: str | None = None
    """``off``, ``fatal`` or ``nonfatal``: what is contained."""
    triggered: bool | None = None


@dataclass(frozen=True, slots=True)
class Sriov:
    """Single Root I/O Virtualization of a physical function (9.3.3)."""

    total: int | None = None
    initial: int | None = None
    enabled: bool | None = None
    """VF Enable."""
    count: int | None = None
    """NumVFs."""
    ari_hierarchy: bool | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """One base address register. 7.5.1.2.1."""

    index: int
    """0 to 5; 6 is the expansion ROM."""
    address: int | None = None
    """None when nothing was assigned."""
    size: int | None = None
    """Bytes; None when the source does not say (hexadecimal dumps do not)."""
    io: bool = False
    bits64: bool = False
    prefetchable: bool = False
    virtual: bool = False
    """The kernel knows an address, the register holds none: the device lost its configuration."""
    disabled: bool = False
    """Decoding is off in Command."""
    ignored: bool = False
    """The kernel ignores what firmware set."""
    unassigned: bool = False
    """The source says that the register has no address, rather than none of it."""

    @property
    def assigned(self) -> bool:
        """Whether the register holds an address."""
        return bool(self.address) and not self.virtual


class Window(NamedTuple):
    """Memory that a bridge passes on to what is below it. 7.5.1.3.8 and .9."""

    first: int = 0
    last: int = 0
    """Last address; both are 0 when the window is closed."""
    prefetchable: bool = False

    @classmethod
    def of(cls, base: int, limit: int, *, prefetchable: bool) -> Window:
        """Make a window from its registers: closed when the limit is below the base, or no base is set."""
        return cls(base, limit, prefetchable) if 0 < base <= limit else cls(prefetchable=prefetchable)

    @property
    def size(self) -> int:
        """Bytes; 0 when it is closed."""
        return self.last - self.first + 1 if self.last else 0


@dataclass(frozen=True, slots=True)
class ResizableBar:
    """Resizable BAR (7.8.6); `virtual` is the capability for virtual functions (9.3.7.5)."""

    index: int
    current: int | None = None
    """Bytes."""
    supported: tuple[int, ...] | None = None
    """Bytes, rising."""
    virtual: bool = False


class Cxl(NamedTuple):
    """CXL DVSEC structures (vendor 1e98). CXL 2.0, 8.1.3 to 8.1.9; None where a structure is absent."""

    dvsec_ids: tuple[int, ...] = ()
    """0 device, 2 function map, 3 port extensions, 4 and 5 GPF, 7 flex bus port, 8 register locator."""
    cache_capable: bool | None = None
    io_capable: bool | None = None
    memory_capable: bool | None = None
    cache_enabled: bool | None = None
    memory_enabled: bool | None = None
    link_cache: bool | None = None
    """Flex bus port status: the link trained with CXL.cache."""
    link_io: bool | None = None
    link_memory: bool | None = None


class Registers(NamedTuple):
    """Everything read from the registers of one function."""

    no_answer: tuple[str, ...] = ()
    """What was read as all ones, in the words of the source, as a device leaves it that does not answer;
    empty when nothing was."""
    express: bool | None = None
    """Has a PCI Express capability; None when capabilities could not be read."""
    link: LinkRegisters | None = None
    """None for functions without a link (integrated endpoints) and where the source says nothing."""
    transfers: Transfers | None = None
    errors: Errors | None = None
    slot: Slot | None = None
    """None on ports without a slot."""
    acs: Acs | None = None
    dpc: Dpc | None = None
    sriov: Sriov | None = None
    ari: bool | None = None
    """Has Alternative Routing-ID Interpretation (6.13)."""
    ari_forwarding: bool | None = None
    """A port above forwards it (Device Control 2)."""
    bars: tuple[Bar, ...] | None = None
    windows: tuple[Window, ...] | None = None
    """Of a bridge: those for memory that the source names, closed ones among them."""
    resizable_bars: tuple[ResizableBar, ...] = ()
    cxl: Cxl | None = None
    bus_master: bool | None = None
    memory_enabled: bool | None = None
    interrupts: bool | None = None
    """Whether MSI or MSI-X is switched on; None for functions that have neither. 7.7.1, 7.7.2."""
    wire_interrupts_off: bool | None = None
    """Interrupt Disable in Command: interrupts by wire (INTx) are switched off. 7.5.1.1.3."""
    self_test: int | None = None
    """Completion code of the last built-in self-test; 0: passed. None for functions without one.
    7.5.1.1.10."""
    channel_pending: bool | None = None
    """Virtual channel 0 is still being set up (VC Negotiation Pending). 7.9.1.8."""
    interrupts_masked: bool | None = None
    """Function Mask of MSI-X: no interrupt is sent. 7.7.2.2."""
    secondary_reset: bool | None = None
    """A bridge holds what is below it in reset (Secondary Bus Reset). 7.5.1.3.13."""
    enabled: bool | None = None
    """Whether a driver of Linux has switched the function on (sysfs: ``enable``)."""
    status: frozenset[str] | None = None
    """Error bits set in the Status register, as `lspci` writes them: ``<MAbort``, ``>SERR``."""
    secondary_status: frozenset[str] | None = None
    """Error bits of a bridge's Secondary Status, as `lspci` writes them: ``<SERR``. 7.5.1.3.7."""
    power_state: str | None = None
    """``D0``, ``D1``, ``D2``, ``D3hot``, ``D3cold``."""
    capability_list: bool | None = None
    """Whether Status says that there is a list of capabilities. 7.5.1.1.4."""
    capabilities: tuple[str, ...] = ()
    """Names of the capabilities found, in their order, for people."""
