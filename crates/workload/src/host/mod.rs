//! Hosts: cores and memory, and what software costs them.
//!
//! The root complex, caches and memory channels are the fabric's. Here is what runs on them: drivers, stacks, libraries.

pub mod bridge;
pub(crate) mod cpu;
pub mod lines;
pub(crate) mod memory;
mod nvme;
mod storage;
mod verbs;

pub use nvme::{NvmeHostConfig, NvmeTargetConfig};
pub use storage::HostSoftwareConfig;
pub use verbs::{MpiHostConfig, VerbsHostConfig};
