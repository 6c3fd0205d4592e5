//! Both ends of a connection, and the messages under way between them.

use super::verbs::WorkRequest;
use crate::flows::Flows;
use lanewise_fabric::Station;
use lanewise_units::Time;
use std::collections::VecDeque;

/// A message under way: a work request and what became of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub end: u32,
    pub request: WorkRequest,
    pub posted: Time,
    /// The next of the list that it was posted in.
    pub next: Option<u32>,
    /// The adapter has the work request and has processed it.
    pub known: bool,
    /// Payload for which packets were made, and that was placed at the other end.
    pub cut: u64,
    pub placed: u64,
    /// What has still to happen before the message is forgotten: at the requester, at the peer.
    pub open: u8,
}

/// Messages of one end that wait for packets to be made of them, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct SendQueue {
    pub messages: VecDeque<u32>,
    /// The port has it in its ring.
    pub in_ring: bool,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub port: u32,
    pub requests: SendQueue,
    /// Reads of the other side that this side answers.
    pub responses: SendQueue,
    pub reads_outstanding: u32,
    /// What the adapter does for this queue pair alone.
    pub context: Station,
    /// Payload that the adapter reads from memory and writes to it; work requests and completion entries.
    pub flows: Flows,
    /// Entries of its queues so far.
    pub entries: u64,
}
