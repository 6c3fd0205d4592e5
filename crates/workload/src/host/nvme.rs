//! What software above NVMe drives costs: the storage stack, and a target of NVMe over Fabrics.

use super::memory::PAGE;
use lanewise_fabric::workload::DeviceId;
use lanewise_units::{Bytes, Span};

/// CPU cost of a host's software for each I/O on NVMe drives, and the cores that pay it.
#[derive(Clone, Debug, PartialEq)]
pub struct NvmeHostConfig {
    /// The host.
    pub device: DeviceId,
    /// Name of the host.
    pub name: String,
    /// Cores; job n runs on core n, counted round, and its queues interrupt that core.
    pub cores: u32,
    /// The job's own thread, for each I/O.
    pub worker_cost: Span,
    /// System call, block layer and driver on the way down, for each I/O.
    pub submit_cost: Span,
    /// What of that libaio's calls are, for each I/O; io_uring does without them.
    pub aio_cost: Span,
    /// A driver in user space with the job that calls it, for each I/O, half of it on the way down and half on the way up.
    pub user_driver_cost: Span,
    /// Interrupt entry and exit, for each interrupt.
    pub interrupt_cost: Span,
    /// Driver, block layer and wake-up on the way up, for each I/O.
    pub completion_cost: Span,
    /// Mapping and registering a buffer, and undoing both, for each I/O over a network whose data does not travel in
    /// its command capsule.
    pub register_cost: Span,
}

impl NvmeHostConfig {
    /// What a driver in user space takes for an I/O on its way down, and on its way up.
    pub(crate) fn user_driver_halves(&self) -> [Span; 2] {
        let down = Span::from_ticks(self.user_driver_cost.ticks().div_ceil(2));
        [down, self.user_driver_cost - down]
    }
}

/// Software of an NVMe over Fabrics target, besides its drivers of adapter and drive.
#[derive(Clone, Debug, PartialEq)]
pub struct NvmeTargetConfig {
    /// Cores that serve connections; at most those of the host.
    pub cores: u32,
    /// Whether its cores look for completions all the time; otherwise interrupts wake those that have nothing to do.
    pub polls: bool,
    /// Speed of a core, above zero, in percent of the core that the three costs are quoted for.
    pub core_speed: u32,
    /// Core time from a command capsule to the submission of its command, for each I/O.
    pub command_cost: Span,
    /// Core time to take a page of its host's memory for data that does not travel in a capsule, and to give it back.
    pub page_cost: Span,
    /// Core time from the drive's completion to the response, for each I/O.
    pub response_cost: Span,
    /// Largest data of a write that travels in its command capsule.
    pub in_capsule: Bytes,
}

impl NvmeTargetConfig {
    /// What a core spends on a command before the drive gets it, with pages of memory for so much `data`.
    pub(crate) fn command(&self, data: Bytes) -> Span {
        self.on_its_core(self.command_cost + self.page_cost * data.get().div_ceil(PAGE.get()))
    }

    /// Time that a cost takes on one of its cores.
    pub(crate) fn on_its_core(&self, cost: Span) -> Span {
        Span::from_ticks((cost.ticks() * 100).div_ceil(u64::from(self.core_speed)))
    }
}
