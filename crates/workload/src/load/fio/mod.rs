//! fio's jobs over NVMe drives, with the host software between them.
//!
//! A read: the job's thread and the driver take CPU time, put a command into a submission queue and ring its doorbell; the drive
//! does the rest ([`crate::device::nvme`]), up to an interrupt; the host's interrupt and completion work ends the I/O, and the job
//! starts the next one in its place. Each core has a pair of queues on each drive, as Linux gives it: jobs on one core share it.
//!
//! Data may go to or come from a GPU, straight or by way of a buffer: `copied.rs`.
//!
//! A job may be on another host than its drives, with RDMA between the two: NVMe over Fabrics, in `fabrics.rs`.

mod blocks;
mod config;
mod copied;
#[cfg(test)]
mod copied_tests;
mod distribution;
mod fabrics;
#[cfg(test)]
mod fabrics_tests;
mod issuing;
mod job;
mod jobs;
mod moving;
mod report;
mod reports;
mod settings;
mod slot;
mod staging;
#[cfg(test)]
mod tests;
mod token;
mod workload;

pub use blocks::{BlockSizes, Blocks};
pub use config::{DataMemory, GpuConfig, GroupConfig, NvmeConfig, PathConfig};
pub use fabrics::FabricsConfig;
pub use jobs::{FioConfig, IoEngine, JobTool, Pace, Pattern, Thinking};
pub use moving::MoveConfig;
pub use staging::Staging;
pub use workload::NvmeWorkload;
