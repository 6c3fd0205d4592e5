//! What software above storage adapters costs.

use lanewise_fabric::workload::DeviceId;
use lanewise_units::Span;

/// CPU cost of the host's software for each I/O, and the cores that pay it.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSoftwareConfig {
    /// The host.
    pub device: DeviceId,
    /// Cores; worker n runs on core n and adapter n interrupts core n, counted round.
    pub cores: u32,
    /// Worker thread, for each I/O.
    pub worker_cost: Span,
    /// File system and driver on the way down, for each I/O.
    pub submit_cost: Span,
    /// Interrupt service, for each interrupt.
    pub interrupt_cost: Span,
    /// Driver and file system on the way up, for each I/O.
    pub completion_cost: Span,
}
