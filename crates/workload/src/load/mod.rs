//! Loads: what is asked for, when, and what the tool that asks reports.
//!
//! - [`collective`]: a ring of devices that write to each other, as nccl-tests time it.
//! - [`copy`]: copies by a device's copy engines or kernels, with what each costs.
//! - [`dma`]: operations of one size, a number of them in flight.
//! - [`fio`]: jobs over NVMe drives, at hand or across a network.
//! - [`frames`]: a game loop over GPUs, scene by scene.
//! - [`iometer`]: workers over adapters with drives behind them.
//! - [`mmio`]: loads and stores of the CPU.
//! - [`peer_copies`]: copies between pairs of devices, in the order in which a program issues them.
//! - [`rdma`]: perftest, the OSU Micro-Benchmarks and transactions over RDMA adapters.
//! - [`rings`]: an adapter that moves frames through descriptor rings.
//! - [`smartflow`]: an operating system that bridges between ports of adapters, and SmartFlow outside.
//! - [`stream`]: cores that read and write lines of a memory expander.
//! - [`turnaround`]: a device and an analyzer on its link.
//!
//! A new load is a file or folder here whose settings implement [`LoadConfig`], and a line in the scenario layer's registry.

pub mod collective;
pub mod copy;
pub mod dma;
pub mod fio;
pub mod frames;
pub mod iometer;
pub mod mmio;
pub mod peer_copies;
pub mod rdma;
pub mod rings;
pub mod smartflow;
pub mod stream;
pub mod turnaround;

mod measured;
mod name;
mod settings;

pub use name::LoadName;
pub(crate) use settings::DATA_PATH;
pub use settings::{Demand, Draft, Enlarge, HeldUp, LoadConfig, OnCore, Owner, Reached, Step, Tool};
