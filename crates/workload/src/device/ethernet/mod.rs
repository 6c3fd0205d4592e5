//! Ethernet adapters: FIFOs, rings of descriptors, the transmit engine, interrupts with moderation.
//!
//! A frame comes in from the line: it waits in the adapter's FIFO for a receive descriptor that was fetched earlier, is written to host
//! memory, its descriptor is written back, and an interrupt is due. A frame that is to be sent: the doorbell comes, the adapter fetches the
//! descriptor and then the frame, sends it, and writes the descriptor back. Every step that crosses PCI Express does so in the fabric.
//!
//! Leaves out: interrupts for frames that were sent, several receive queues of a port, checksum and segmentation offloads, VLANs.

mod adapters;
mod config;
mod memory;
mod port;
mod receive;
mod token;
mod transmit;

pub(crate) use adapters::{Adapters, Notice, Posted, Register};
pub use config::NicConfig;
pub(crate) use port::{Frame, Taken};
pub(crate) use token::Kind;
