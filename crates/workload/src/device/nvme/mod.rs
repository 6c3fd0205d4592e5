//! NVMe drives: what a controller does with a command, and what it tells the driver.
//!
//! A drive reads the command from its queue, with its neighbours if there are any, and the list of pages of a transfer that
//! needs one; data comes from the media through the controller and is written to memory by DMA; the completion follows it, then,
//! sooner or later, an interrupt. Of a write the drive reads the data from memory instead, and answers when all of it is in
//! its buffer.
//!
//! Sources: NVMe Base 2.0 §3.3 (queues), §4.1.1 (PRP); NVMe over PCIe Transport 1.0 §3.1.2 (doorbells).
//!
//! Leaves out: administration commands, queues that fill up, scatter/gather lists, and errors.

mod config;
mod data;
mod drives;
mod fetch;
mod ssd;
mod token;

pub use config::SsdConfig;
pub(crate) use drives::{Command, Drives, Notice};
#[cfg(test)]
pub(crate) use ssd::tests;
pub(crate) use ssd::{COMMAND, COMPLETION, Ssd};
pub(crate) use token::Kind;
