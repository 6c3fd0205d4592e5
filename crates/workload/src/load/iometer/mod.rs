//! A storage subsystem: the host's software, adapters, drives, and IOmeter's workers over them.
//!
//! A read I/O: the worker's thread and the driver take CPU time and ring the doorbell; the adapter fetches the
//! command and sends it to the drive; the drive moves data from the media through its buffer onto the wire, frame
//! by frame; each frame is written to host memory by DMA; when the drive has answered and all data has left, the
//! adapter writes the status and, sooner or later, an interrupt; the host's interrupt and completion work ends the
//! I/O, and the worker starts the next one in its place. A write I/O: the drive asks for bursts of data (XFER_RDY),
//! the adapter reads them from host memory in pieces and sends them on as frames.
//!
//! Everything waits for something finite: CPU cores, the adapter's buffers and internal path, wires, drive buffers
//! and media. Adapters, wires and drives are shared by all groups of workers.
//!
//! Leaves out: file systems and their caches, the splitting of large requests by the operating system, task
//! management, errors.

mod deck;
mod iometer;
mod path;
mod report;
mod seats;
mod settings;
#[cfg(test)]
mod tests;
mod token;
mod workload;

pub use iometer::{AccessLine, IometerConfig, TargetAssignment};
pub use workload::{DrivePlacement, StorageConfig, StorageWorkload};
