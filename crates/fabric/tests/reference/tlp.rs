//! A TLP as this reference sees it: a plain record that is copied from place to place.

use lanewise_units::{Span, Time};

/// Posted, non-posted and completion, as indices.
pub const POSTED: usize = 0;
pub const NON_POSTED: usize = 1;
pub const COMPLETION: usize = 2;

/// What a TLP is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Write,
    Read,
    Completion,
}

/// Header and data units.
pub type Credits = [u64; 2];

/// One TLP.
#[derive(Clone, Debug)]
pub struct Tlp {
    pub kind: Kind,
    pub address: u64,
    /// Bytes of payload; of a read, bytes asked for.
    pub length: u64,
    /// Header, prefixes and ECRC, in bytes.
    pub header: u64,
    /// One of these bytes' DW is a prefix with a PASID.
    pub has_pasid: bool,
    /// Of a completion, the endpoint whose request it answers. Requests find their way by the address.
    pub to: Option<usize>,
    /// The endpoint that made it; none for the root complex.
    pub from: Option<usize>,
    pub traffic_class: u8,
    /// The transfer that it belongs to.
    pub flow: usize,
    /// The read that it asks for or answers, counted at its requester.
    pub read: usize,
    /// The last completion of its read.
    pub last: bool,
    pub relaxed: bool,
    pub id_ordered: bool,
    pub issued: Time,
    /// It may leave this device from then on.
    pub ready: Time,
    /// Its place in the order of a root port: see `host.rs`.
    pub turn: Time,
    /// Counts up with each entry into a queue.
    pub order: u64,
    /// The port at which it came into this device.
    pub came_in: Option<usize>,
    /// A copy of a TLP that turned out bad: it must have begun to leave before this time, or it never does.
    pub nullified: Option<Time>,
}

impl Tlp {
    pub fn class(&self) -> usize {
        match self.kind {
            Kind::Write => POSTED,
            Kind::Read => NON_POSTED,
            Kind::Completion => COMPLETION,
        }
    }

    /// Payload in whole DW, from that of the first byte to that of the last (PCIe Base 6.3 §2.2.2).
    pub fn payload(&self) -> u64 {
        match self.kind {
            Kind::Read => 0,
            _ if self.length == 0 => 0,
            _ => (self.address % 4 + self.length).div_ceil(4) * 4,
        }
    }

    /// Bytes without what the data link layer adds.
    pub fn bytes(&self) -> u64 {
        self.header + self.payload()
    }

    /// One header unit, and a data unit for each 16 B begun (PCIe Base 6.3 Table 2-49).
    pub fn credits(&self) -> Credits {
        [1, self.payload().div_ceil(16)]
    }
}

/// In which state a TLP arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Good,
    /// Its LCRC is bad.
    Damaged,
    /// The token that it starts with is bad: the receiver takes the link through Recovery (PCIe Base 6.3 §4.2.2.3.4).
    Misframed,
    /// Its LCRC is inverted (PCIe Base 6.3 §3.6.2.1).
    Nullified,
}

/// A TLP on its way to a port.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub tlp: Tlp,
    pub sequence: u64,
    pub fate: Fate,
    /// The data link layer has checked its last byte.
    pub checked: Time,
    /// A switch may forward it from then on.
    pub eligible: Time,
}

/// Something that serves bytes one after the other at a rate.
#[derive(Clone, Debug)]
pub struct Server {
    rate: lanewise_units::Rate,
    free_at: Time,
}

impl Server {
    pub fn new(rate: lanewise_units::Rate) -> Self {
        Self { rate, free_at: Time::ZERO }
    }

    /// Another rate: what is being served ends when it was to end.
    pub fn set_rate(&mut self, rate: lanewise_units::Rate) {
        self.rate = rate;
    }

    /// When so many bytes, and `overhead` on top of them, that come at `now` have been served.
    pub fn serve(&mut self, now: Time, bytes: u64, overhead: Span) -> Time {
        let span = self.rate.span_ceil(lanewise_units::Bytes::new(bytes)) + overhead;
        self.free_at = self.free_at.max(now) + span;
        self.free_at
    }
}

/// Cuts `length` bytes from `address` on at multiples of `limit`, a power of two up to 4 KiB (PCIe Base 6.3 §2.2.7: MPS, MRRS and
/// 4 KiB; the model's requests are aligned to them).
pub fn first_piece(address: u64, length: u64, limit: u64) -> u64 {
    ((address / limit + 1) * limit - address).min(length)
}

/// Offset and length of each completion of a read: every one but the last ends at a multiple of the RCB, and holds as many of them
/// as `most` bytes have room for (PCIe Base 6.3 §2.3.1.1).
pub fn completions(address: u64, length: u64, rcb: u64, most: u64) -> Vec<(u64, u64)> {
    let (mut at, end) = (address, address + length);
    let mut pieces = Vec::new();
    while at < end {
        let next = (at / rcb * rcb + most).min(end);
        pieces.push((at, next - at));
        at = next;
    }
    pieces
}
