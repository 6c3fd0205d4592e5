//! Ethernet adapters: FIFOs, rings of descriptors, the transmit engine.

mod config;
mod port;

pub use config::NicConfig;
pub(crate) use port::{Frame, Port, Taken};
