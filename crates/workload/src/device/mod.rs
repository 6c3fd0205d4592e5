//! Devices: what does something of its own at a port of the fabric.
//!
//! - [`nvme`]: NVMe drives.
//! - [`hba`]: storage adapters and the drives behind them.
//! - [`rdma`]: RDMA adapters with a network between them.
//! - [`ethernet`]: Ethernet adapters.
//! - [`gpu`]: copies by a GPU, or another device that can.
//!
//! A device is told what to do through a port of its own, takes the events of its tokens, and keeps what it has to say until it is
//! polled. It knows neither the software that drives it nor the load.

pub mod ethernet;
pub mod gpu;
pub mod hba;
pub mod nvme;
pub mod rdma;

pub(crate) mod completions;
pub(crate) mod streams;
pub(crate) mod waiting;
