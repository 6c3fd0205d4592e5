//! The host's side: the cost of its software, and the queues that it shares with a drive.

use crate::completions::Completions;
use lanewise_units::Span;

/// CPU cost of a host's software for each I/O on NVMe drives, and the cores that pay it.
#[derive(Clone, Debug)]
pub struct NvmeHostConfig {
    /// Name of the host.
    pub name: String,
    /// Cores; job n runs on core n, counted round, and its queues interrupt that core.
    pub cores: u32,
    /// The job's own thread, for each I/O.
    pub worker_cost: Span,
    /// System call, block layer and driver on the way down, for each I/O.
    pub submit_cost: Span,
    /// Interrupt entry and exit, for each interrupt.
    pub interrupt_cost: Span,
    /// Driver, block layer and wake-up on the way up, for each I/O.
    pub completion_cost: Span,
    /// Mapping and registering a buffer, and undoing both, for each I/O over a network whose data does not travel in
    /// its command capsule.
    pub register_cost: Span,
}

/// A submission and a completion queue of one core on one drive.
#[derive(Debug)]
pub(crate) struct QueuePair {
    pub(crate) ssd: u32,
    pub(crate) core: u32,
    pub(crate) completions: Completions,
    /// Commands that were put in so far: where the next one goes.
    pub(crate) tail: u64,
}

impl QueuePair {
    pub(crate) fn new(ssd: u32, core: u32) -> Self {
        Self { ssd, core, completions: Completions::default(), tail: 0 }
    }
}
