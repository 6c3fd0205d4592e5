//! Room at the other end of a wire, as its transmitter knows it: credits, or whether it is paused.

use crate::server::Blocked;
use lanewise_fabric::{Book, Level};
use lanewise_network::NetworkWire;
use lanewise_network::switch::space;
use lanewise_network::transport::PacketKind;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// What the other end counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// Payload: the receive buffer of an adapter.
    Payload,
    /// Packets in whole blocks: the buffer of a switch's port.
    Space,
    /// Nothing: the switch pauses the transmitter.
    Pause,
}

/// Room at the other end.
#[derive(Clone, Debug)]
pub(super) struct Room {
    unit: Unit,
    capacity: u64,
    /// Room, as far as this side knows.
    left: u64,
    /// Credits on their way back, and when they are here.
    returning: VecDeque<(Time, u64)>,
    /// All of these together.
    on_their_way: u64,
    /// The way back.
    latency: Span,
    /// A timer for credits is running.
    pub timer: bool,
    paused: bool,
    /// The packet at the front lacks room.
    blocked: Blocked,
    /// What is on its way to the other side, or there.
    held: Level,
    /// Packets that have gone.
    taken: u64,
}

impl Room {
    pub(super) fn new(unit: Unit, capacity: Bytes, latency: Span) -> Self {
        Self {
            unit,
            capacity: capacity.get(),
            left: capacity.get(),
            returning: VecDeque::new(),
            on_their_way: 0,
            latency,
            timer: false,
            paused: false,
            blocked: Blocked::default(),
            held: Level::default(),
            taken: 0,
        }
    }

    /// What a packet takes.
    pub(super) fn cost(&self, wire: NetworkWire, kind: PacketKind, payload: Bytes) -> u64 {
        match self.unit {
            Unit::Payload => payload.get(),
            Unit::Space => space(wire.packet_bytes(kind, payload)).get(),
            Unit::Pause => 0,
        }
    }

    /// Whether so much fits.
    pub(super) fn fits(&mut self, now: Time, cost: u64) -> bool {
        while let Some((at, bytes)) = self.returning.front().copied()
            && at <= now
        {
            self.returning.pop_front();
            self.on_their_way -= bytes;
            self.left += bytes;
        }
        !self.paused && cost <= self.left
    }

    /// A packet that fits goes.
    pub(super) fn take(&mut self, now: Time, cost: u64) {
        self.unblock(now);
        self.left -= cost;
        self.taken += 1;
        self.held.set(self.outstanding(), now);
    }

    /// The packet at the front lacks room.
    pub(super) fn block(&mut self, now: Time) {
        self.blocked.begin(now);
    }

    /// It is not so any more.
    pub(super) fn unblock(&mut self, now: Time) {
        self.blocked.end(now);
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.is_now()
    }

    /// For how long the packet at the front lacked room, up to `at`.
    pub(super) fn blocked(&self, at: Time) -> Span {
        self.blocked.up_to(at)
    }

    /// Credits for so many bytes leave the other side now.
    pub(super) fn give_back(&mut self, now: Time, bytes: u64) {
        if bytes > 0 {
            self.returning.push_back((now + self.latency, bytes));
            self.on_their_way += bytes;
            self.held.set(self.outstanding(), now);
        }
    }

    /// A pause frame of the other side is here: the port stops, or goes on.
    pub(super) fn pause(&mut self, stop: bool) {
        self.paused = stop;
    }

    /// When the next credits are here, if any are on their way.
    pub(super) fn next_credits(&self) -> Option<Time> {
        self.returning.front().map(|(at, _)| *at)
    }

    /// How much is there, what packets are on their way or there, and how long those at the front waited for room, up to `at`.
    pub(super) fn book_at(&self, at: Time) -> (Bytes, Book) {
        let book = Book { busy: self.held.area_at(at), waited: self.blocked(at).into(), served: self.taken };
        (Bytes::new(self.capacity), book)
    }

    /// What is on its way to the other side, or there.
    pub(super) fn outstanding(&self) -> u64 {
        self.capacity - self.left - self.on_their_way
    }
}
