//! RDMA adapters on the fabric, and wires between them.
//!
//! ```text
//!  software          RdmaNetwork (this module)                                          fabric
//!  post() ─────────► doorbell ──────────────────────────────────────────────────────► MMIO write
//!                    work request, unless pushed with the doorbell ◄────────────────── DMA read, 64 B
//!                    pipeline: message_interval, send_latency
//!                    packets of an MTU, one of each queue pair in turn ◄────────────── DMA reads of payload
//!                    send_bandwidth, shared_bandwidth; lane: framing, packet_gap, credits
//!  ~~~~ wire: NetworkWire, latency; or wires with switches between them (`switches`) ~~~~
//!                    receive_latency; receive_bandwidth, shared_bandwidth ───────────► DMA writes of payload
//!                    acknowledgement on the other direction, before payload
//!  poll() ◄───────── completion ◄───────────────────────────────────────────────────── DMA write of the entry
//! ```
//!
//! # For an instrument that builds on it
//!
//! An instrument owns an [`RdmaNetwork`], made from an [`RdmaNetworkConfig`] (the scenario layer resolves one from
//! `[network.NAME]` and the `rdma` tables of endpoints).
//!
//! 1. In `begin`: [`RdmaNetwork::begin`], then [`RdmaNetwork::connect`] for each reliable connection: two
//!    [`EndId`]s, each the [`EndId::peer`] of the other. The instrument adds the flows that traffic is counted for.
//!    Buffers may lie anywhere from [`RdmaNetwork::first_buffer`] on, once all connections are made.
//! 2. To send: [`RdmaNetwork::post`] with a [`WorkRequest`], at the time at which the CPU's store is at the root port.
//!    CPU time is the instrument's own; a [`Station`](lanewise_fabric::Station) adds it up for a core.
//! 3. In `react`: give the network's events to [`RdmaNetwork::react`]: those of its own kinds, which
//!    [`split`](crate::ports::split) tells from the instrument's. Then take [`Completion`]s with [`RdmaNetwork::poll`] until there are none. A
//!    completion is handed out when its entry, or polled payload, is at the root port; what a core needs to see it is
//!    again the instrument's.
//!
//! | request | at the requester | at the peer |
//! |---|---|---|
//! | [`Opcode::Write`] | [`CompletionKind::Done`] if signaled | nothing |
//! | [`Opcode::WritePolled`] | the same | [`CompletionKind::Written`], in memory |
//! | [`Opcode::Send`] | the same | [`CompletionKind::Received`], with a completion entry |
//! | [`Opcode::Datagram`] | the same, when it has left | [`CompletionKind::Received`], with a completion entry |
//! | [`Opcode::Read`] | the same, data in memory | nothing |
//!
//! The `id` of the request comes back on both sides, and stands for what the payload says: a capsule, a tag, a slot.
//!
//! Leaves out: errors and retransmission, receive queues that run dry, page tables on the
//! adapter, shared receive queues, atomics, service levels, congestion control; acknowledgements in the middle of a
//! message, and credits that acknowledgements use.
//! Source: InfiniBand Architecture Specification, volume 1, chapters 9 to 11; the mlx4 and mlx5 user space drivers in
//! rdma-core for what a request costs on PCI Express.

mod config;
mod ends;
mod larger;
mod network;
mod nic;
mod port;
mod receive;
mod room;
mod send;
mod switches;
mod token;
mod touched;
mod verbs;
mod wiring;

#[cfg(test)]
mod switch_tests;
#[cfg(test)]
pub(crate) mod tests;

pub use config::{
    CableConfig, CableEnd, NetworkSwitchConfig, NicPort, RdmaLinkConfig, RdmaNetworkConfig, RdmaNicConfig,
};
pub(crate) use network::RdmaNetwork;
pub(crate) use token::Kind;
pub(crate) use verbs::{Completion, CompletionKind, EndId, HOST_MEMORY, Opcode, WorkRequest};
