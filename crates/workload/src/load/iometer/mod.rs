//! IOmeter's workers over storage adapters with drives, and the host's software between them.
//!
//! The worker's thread and the driver take CPU time and ring the doorbell; adapters and drives do the rest ([`crate::device::hba`]), up to an
//! interrupt; the host's interrupt and completion work ends the I/O, and the worker starts the next one in its place. Adapters, wires and
//! drives are shared by all groups of workers.
//!
//! Leaves out: file systems and their caches, the splitting of large requests by the operating system.

mod deck;
mod report;
mod seats;
mod settings;
#[cfg(test)]
mod tests;
mod token;
mod workers;
mod workload;

pub use workers::{AccessLine, IometerConfig, TargetAssignment};
pub use workload::{StorageConfig, StorageWorkload};
