//! What lies between an adapter and the devices on its far side: wires, framed and coded.
//!
//! - [`WireKind`] is the framing of one kind of wire: what a frame carries, what it costs, how long it takes.
//! - [`Lane`] is one direction of one port, busy with a frame at a time; [`Port`] is the two of them.
//! - [`ethernet`] is the framing of Ethernet between adapters and whatever generates traffic.
//! - [`NetworkWire`] is the wire between two RDMA adapters, InfiniBand or RoCE; [`transport`] its packets.
//! - [`switch`] is a port of a switch between such wires; [`routing`] says which way packets take through switches.
//!
//! Left out: login, link initialisation, expanders and switches of storage wires, errors on the wire, and propagation on storage wires:
//! a few metres of cable are 5 ns each, beside frames of 3 to 5 us.

pub mod ethernet;
pub mod infiniband;
mod lane;
mod network_wire;
pub mod roce;
pub mod routing;
pub mod switch;
pub mod transport;
mod wire;

pub use lane::{Lane, Port};
pub use network_wire::{Framing, NetworkWire};
pub use wire::WireKind;
