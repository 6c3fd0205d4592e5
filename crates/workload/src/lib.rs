//! Who asks for what, when. An instrument is a state machine over a machine that has [the ports](lanewise_fabric::ports) it needs: it
//! is told what happened and asks for transfers, CPU accesses and timers.
//!
//! - [`copy`]: copies by a device's copy engines or kernels, with what each costs.
//! - [`dma`]: operations of one size, a number of them in flight.
//! - [`ethernet`]: adapters, an operating system that bridges between their ports, and SmartFlow outside.
//! - [`frames`]: a game loop over GPUs, scene by scene.
//! - [`mmio`]: loads and stores of the CPU.
//! - [`rings`]: an adapter that moves frames through descriptor rings.
//! - [`rdma`]: RDMA adapters with a network between them, and the instruments over it.
//! - [`storage`]: adapters with drives behind them, under IOmeter.
//! - [`turnaround`]: a device and an analyzer on its link.
//! - [`nvme`]: NVMe drives and what reaches them, under [`fio`].

pub mod copy;
pub mod dma;
pub mod ethernet;
pub mod fio;
pub mod frames;
pub mod mmio;
pub mod nvme;
pub mod rdma;
pub mod rings;
pub mod storage;
pub mod turnaround;

#[cfg(test)]
mod bench;
mod completions;
mod cpu;
mod flows;
mod latency;
mod load;
mod memory;
mod ports;
mod server;
mod slots;
mod streams;
mod token;
mod waiting;

pub use load::{Demand, Larger, LoadConfig, Tool};
