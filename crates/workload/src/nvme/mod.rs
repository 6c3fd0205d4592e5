//! NVMe drives, the host software above them, and fio's jobs over both.
//!
//! A read: the job's thread and the driver take CPU time, put a command into a submission queue and ring its doorbell;
//! the drive reads the command, with its neighbours if there are any, and the list of pages of a transfer that needs
//! one; data comes from the media through the controller and is written to memory by DMA; the completion follows it,
//! then, sooner or later, an interrupt; the host's interrupt and completion work ends the I/O, and the job starts the
//! next one in its place. A write: the drive reads the data from memory instead, and answers when all of it is in its
//! buffer. Each job has a queue of its own on each drive, as Linux gives each core one.
//!
//! A job may be on another host than its drives, with RDMA between the two: NVMe over Fabrics, in [`fabrics`].
//!
//! Sources: NVMe Base 2.0 §3.3 (queues), §4.1.1 (PRP); NVMe over PCIe Transport 1.0 §3.1.2 (doorbells).
//!
//! Leaves out: administration commands, queues that fill up, scatter/gather lists, and errors.

mod data;
mod fabrics;
#[cfg(test)]
mod fabrics_tests;
mod host;
mod load;
mod moving;
mod ssd;
mod staging;
mod system;
#[cfg(test)]
mod tests;
mod token;

pub use fabrics::{FabricsConfig, NvmeTargetConfig};
pub use host::NvmeHostConfig;
pub use moving::MoveConfig;
pub use ssd::SsdConfig;
pub use staging::Staging;
pub use system::{GroupConfig, NvmeConfig, NvmeWorkload, PathConfig};
