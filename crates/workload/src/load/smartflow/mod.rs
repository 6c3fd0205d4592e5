//! Ethernet adapters, an operating system that bridges between their ports, and SmartFlow outside.
//!
//! A frame comes in from the line: it waits in the adapter's FIFO for a receive descriptor that was fetched earlier,
//! is written to host memory, its descriptor is written back, and an interrupt is due. A core of the host takes the
//! interrupt, reads registers of the adapter, works through the frames it finds, and hands each to the port it is
//! bridged to: it rings the doorbell, the adapter fetches the descriptor and then the frame, sends it, and writes the
//! descriptor back. Every step that crosses PCI Express does so in the fabric, so what a switch costs comes out of
//! the round trips that cross it.
//!
//! - The adapter: rings, FIFOs, the transmit engine, interrupts with moderation.
//! - The host's software is cores that do one thing at a time and stall on register reads.
//! - SmartFlow generates frames, counts what comes back, and searches for the highest load without loss.
//!
//! Leaves out: interrupts for frames that were sent (their work is part of a frame's cost), several receive queues of
//! a port (one class enters at each), checksum and segmentation offloads, VLANs, flooding and address learning of the bridge.

mod config;
mod host;
mod report;
mod search;
mod tester;
#[cfg(test)]
pub(crate) mod tests;
mod token;
mod trial;
mod workload;

pub use config::{EthernetConfig, Load, Resolution, SmartFlowConfig, SmartFlowTest, TrafficFlow};
pub use workload::EthernetWorkload;
