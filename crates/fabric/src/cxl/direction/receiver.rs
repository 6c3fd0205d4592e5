//! The receiver of a direction: which flit is next, and what the flits of the other direction have to give back for it.

use lanewise_cxl::FlitFormat;
use lanewise_cxl::credits::given_back;
use lanewise_cxl::message::Class;
use lanewise_cxl::retry::{ACKS_OF_A_HEADER, FORCED_AT};
use lanewise_units::{Span, Time};

/// One end of one way.
#[derive(Debug)]
pub(in crate::cxl) struct Receiver {
    /// The flit that comes next.
    pub(super) expected: u64,
    /// An error was in it, and it will be sent again.
    pub(super) waits_for_retry: bool,
    /// Flits that are not acknowledged.
    pub(super) acks: u32,
    /// Credits that have not been given back.
    pub(in crate::cxl) owed: [u32; 2],
    /// Messages whose buffers have been freed.
    pub(in crate::cxl) freed: [u64; 2],
    flush_after: Span,
    is_flush_armed: bool,
    must_flush: bool,
    /// When something was last given back, or began to be owed.
    quiet_since: Time,
}

impl Receiver {
    pub(super) fn new(flush_after: Span) -> Self {
        Self {
            expected: 0,
            waits_for_retry: false,
            acks: 0,
            owed: [0; 2],
            freed: [0; 2],
            flush_after,
            is_flush_armed: false,
            must_flush: false,
            quiet_since: Time::ZERO,
        }
    }

    /// The buffer of a message is free.
    pub(in crate::cxl) fn free(&mut self, class: Class) {
        self.owed[class as usize] += 1;
        self.freed[class as usize] += 1;
    }

    /// What a flit of the other direction gives back: credits, and acknowledgements. A control flit says their number, the header of
    /// any other a bit for eight.
    pub(super) fn give_back(&mut self, format: FlitFormat, is_control: bool, now: Time) -> ([u32; 2], u32) {
        let credits = self.owed.map(|owed| given_back(format, owed));
        let acks = match is_control {
            true => self.acks,
            false if self.acks >= ACKS_OF_A_HEADER => ACKS_OF_A_HEADER,
            false => 0,
        };
        for (owed, given) in self.owed.iter_mut().zip(credits) {
            *owed -= given;
        }
        self.acks -= acks;
        self.must_flush = false;
        if acks > 0 || credits != [0; 2] {
            self.quiet_since = now;
        }
        (credits, acks)
    }

    /// Whether what it owes has to go now, by a flit of its own if need be.
    pub(super) fn is_forcing(&self) -> bool {
        self.must_flush || self.acks >= FORCED_AT
    }

    /// When what it owes has waited too long, if a look is to be armed for that.
    pub(in crate::cxl) fn must_flush_at(&mut self, now: Time) -> Option<Time> {
        if self.is_flush_armed || !self.owes_something() {
            return None;
        }
        self.is_flush_armed = true;
        self.quiet_since = self.quiet_since.max(now);
        Some(self.quiet_since + self.flush_after)
    }

    /// A look whether what it owes has waited too long: when to look again, if it has not.
    pub(in crate::cxl) fn flush_due(&mut self, now: Time) -> Option<Time> {
        self.is_flush_armed = false;
        if !self.owes_something() {
            return None;
        }
        let due = self.quiet_since + self.flush_after;
        if due > now {
            self.is_flush_armed = true;
            return Some(due);
        }
        self.must_flush = true;
        None
    }

    /// One acknowledgement is no reason for a flit, which would itself be acknowledged. CXL 3.1 §4.2.8.2.
    fn owes_something(&self) -> bool {
        self.acks > 1 || self.owed != [0; 2]
    }
}
