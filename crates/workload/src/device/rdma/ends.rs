//! Both ends of a connection, and the messages under way between them.

use super::verbs::WorkRequest;
use crate::flows::Flows;
use crate::server::Blocked;
use lanewise_fabric::{Book, Level, Station};
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

/// Reads of one end that the other has not answered.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadsUnderWay {
    number: Level,
    /// The next has to wait for one of them.
    blocked: Blocked,
    begun: u64,
}

impl ReadsUnderWay {
    /// One more, if that makes no more than `limit`. Returns whether it does not.
    pub(super) fn begin(&mut self, now: Time, limit: u32) -> bool {
        if self.number.number() >= u64::from(limit) {
            self.blocked.begin(now);
            return false;
        }
        self.blocked.end(now);
        self.number.set(self.number.number() + 1, now);
        self.begun += 1;
        true
    }

    /// One is answered.
    pub(super) fn finish(&mut self, now: Time) {
        self.number.set(self.number.number() - 1, now);
    }

    /// How many were under way, and how long the next waited, up to `at`.
    pub(super) fn book_at(&self, at: Time) -> Book {
        Book { busy: self.number.area_at(at), waited: self.blocked.up_to(at).into(), served: self.begun }
    }
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub port: u32,
    pub requests: SendQueue,
    /// Reads of the other side that this side answers.
    pub responses: SendQueue,
    pub reads: ReadsUnderWay,
    /// What the adapter does for this queue pair alone.
    pub context: Station,
    /// Payload that the adapter reads from memory and writes to it; work requests and completion entries.
    pub flows: Flows,
    /// Entries of its queues so far.
    pub entries: u64,
}
