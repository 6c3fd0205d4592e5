//! What asks for bytes, when and where. An instrument is a state machine over a machine that has [the ports](lanewise_fabric::ports) it needs: it
//! is told what happened and asks for transfers, CPU accesses and timers.
//!
//! - [`device`]: what does something of its own at a port of the fabric.
//! - [`host`]: cores, and what software costs them.
//! - [`load`]: what is asked for, by which tool.
//!
//! A load joins devices and hosts by their ports; neither knows of the other, nor of the load.

pub mod device;
pub mod host;
pub mod load;

#[cfg(test)]
mod bench;
mod flows;
mod latency;
mod ports;
mod server;
mod token;

pub use lanewise_observe::WorkloadEntry;
pub use load::{Demand, Draft, Enlarge, HeldUp, LoadConfig, LoadName, OnCore, Owner, Reached, Step, Tool};
