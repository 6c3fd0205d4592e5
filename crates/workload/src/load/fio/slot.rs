//! The place of one I/O of a job.

use super::copied::Lane;
use super::job::Request;
use lanewise_fabric::workload::DeviceId;
use lanewise_units::Time;

/// An I/O of a job, with its command. Slots are opened once and used again and again.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub job: u32,
    pub group: u32,
    pub ssd: u32,
    pub queue: u32,
    pub request: Request,
    /// Where its data lies, in the memory that the drive accesses.
    pub buffer: u64,
    /// Endpoint whose memory that is, if it is not the host's.
    pub memory: Option<DeviceId>,
    /// Of data that is copied between the buffer and a GPU.
    pub lane: Option<Lane>,
    /// When the job turned to it, and when the kernel had it.
    pub started: Time,
    pub submitted: Time,
}
