//! One way of one link of CXL.mem: what waits to be sent, the wire in time, what its receiver owes; without the engine.
//!
//! The transmitter's half sends a flit when the wire is free and something may go: a retry, then messages, then a control flit for
//! credits and acknowledgements that have waited too long. What a receiver owes goes back in the headers of the flits of the other
//! direction, so a call that sends has both at hand. Ordered sets go between flits, when they are due; the flit before one says so
//! (an implied EDS token, CXL 3.1 §6.2.2), so that nothing is filled up for it.

mod credit_book;
mod receiver;
mod retries;
mod retry_book;

use crate::config::{CxlLinkConfig, FabricConfig, FaultConfig};
use crate::server::Book;
use crate::wire::WireTiming;
use credit_book::CreditBook;
use lanewise_cxl::message::{Class, Way};
use lanewise_cxl::retry::RetryBuffer;
use lanewise_cxl::{Flit, FlitFormat, Offer, Packer};
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::{Span, Time};
use receiver::Receiver;
use retries::Damage;
use retry_book::RetryBook;
use std::collections::VecDeque;

/// Times of a direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    wire: WireTiming,
    mode: LinkMode,
    /// From the last byte of a flit at the transmitter to when the receiver has acted on it.
    flight: Span,
}

impl Timing {
    pub(super) fn new(wire: &WireTiming, mode: LinkMode, receive_latency: Span) -> Self {
        Self { wire: *wire, mode, flight: wire.propagation + receive_latency }
    }
}

/// What a flit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Messages, or none: a control flit (LLCRD) for what is owed.
    Kept(Flit),
    /// The receiver at the sending end has found an error, and waits for this flit.
    RetryRequest { expected: u64 },
    /// What was asked for follows.
    RetryAck,
}

/// A flit on its way, or kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sent {
    kind: Kind,
    /// Of flits that are kept, in the order of their first transmission.
    sequence: u64,
    /// Credits and acknowledgements that it gives back.
    credits: [u32; 2],
    acks: u32,
    /// Of 256 B flits: the one from which on the other direction has to send again.
    nak: Option<u64>,
    is_damaged: bool,
}

/// What comes of trying to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Nothing may go.
    Nothing,
    /// Something may go then.
    At(Time),
    /// A flit is on the wire; of messages that had not been sent before, with them.
    Sent { arrives: Time, free_at: Time, flit: Option<Flit> },
}

/// Messages of a class that may begin in one flit, and more: six in two of four groups of slots (CXL 3.1, Table 4-18).
const MOST_BEGUN: usize = 16;

/// Since when the oldest messages of a queue wait.
fn oldest(queue: &VecDeque<(u32, u64)>) -> [Time; MOST_BEGUN] {
    let mut since = [Time::ZERO; MOST_BEGUN];
    for (since, (_, ticks)) in since.iter_mut().zip(queue) {
        *since = Time::from_ticks(*ticks);
    }
    since
}

/// One way of one link.
pub(super) struct Direction {
    timing: Timing,
    format: FlitFormat,
    flit: Span,
    packer: Packer,
    /// Messages of each class that wait, oldest first, with the ticks since when.
    waiting: [VecDeque<(u32, u64)>; 2],
    pub(super) credit_books: [CreditBook; 2],
    free_at: Time,
    next_skip: Time,
    /// Whether a step that sends is due.
    pub(super) is_armed: bool,
    on_wire: VecDeque<Sent>,
    next_sequence: u64,
    retry: RetryBuffer<Sent>,
    retry_book: RetryBook,
    owes_retry_ack: bool,
    retry_request: Option<u64>,
    damage: Option<Damage>,
    pub(super) book: Book,
    pub(super) receiver: Receiver,
}

impl Direction {
    pub(super) fn new(
        way: Way,
        link: &CxlLinkConfig,
        timing: &Timing,
        faults: &FaultConfig,
        config: &FabricConfig,
    ) -> Self {
        let format = match (timing.mode.flit, link.low_latency) {
            (false, _) => FlitFormat::Bytes68,
            (true, false) => FlitFormat::Bytes256,
            (true, true) => FlitFormat::Bytes256LowLatency,
        };
        let credits = match way {
            Way::M2s => link.m2s_credits,
            Way::S2m => link.s2m_credits,
        };
        Self {
            timing: *timing,
            format,
            flit: timing.wire.span(format.bytes()),
            packer: Packer::new(format, way, link.several_headers),
            waiting: Default::default(),
            credit_books: credits.map(CreditBook::new),
            free_at: Time::ZERO,
            next_skip: Time::ZERO + timing.wire.skip_interval,
            is_armed: false,
            on_wire: VecDeque::new(),
            next_sequence: 0,
            // The size is that of the link layer's buffer, which only 68 B flits have.
            retry: RetryBuffer::new(if format.has_link_layer_retry() { link.retry_buffer } else { u32::MAX }),
            retry_book: RetryBook::default(),
            owes_retry_ack: false,
            retry_request: None,
            damage: Damage::new(
                faults,
                timing.mode,
                format,
                way,
                &config.devices[config.links[link.link].lower.0].name,
                config.seed,
            ),
            book: Book::default(),
            receiver: Receiver::new(link.flush_after),
        }
    }

    /// A message waits to be sent.
    pub(super) fn queue(&mut self, number: u32, class: Class, now: Time) {
        self.waiting[class as usize].push_back((number, now.ticks()));
    }

    /// Sends what goes next on the wire, which is free. `owing`: the other direction, whose receiver is at this end.
    pub(super) fn next(&mut self, owing: &mut Self, now: Time) -> Next {
        assert!(self.free_at <= now, "a direction is armed for as long as its wire is not free");
        if !self.has_something(owing) {
            return Next::Nothing;
        }
        if let Some(end) = self.ordered_sets(now) {
            return Next::At(end);
        }
        self.send(owing, now)
    }

    /// Whether there may be a flit to send.
    pub(super) fn has_something(&self, owing: &Self) -> bool {
        self.owes_retry_ack
            || self.retry_request.is_some()
            || self.retry.is_replaying()
            || self.packer.is_amid_data()
            || self.waiting.iter().any(|queue| !queue.is_empty())
            || owing.forces(self)
    }

    /// Whether what it owes has to go now, by a flit of its own if need be. `sender` is the direction that it goes back on.
    fn forces(&self, sender: &Self) -> bool {
        self.receiver.is_forcing() && !sender.packer.is_all_data_next()
    }

    /// When an ordered set that is due at `now` is over; none when none is.
    fn ordered_sets(&mut self, now: Time) -> Option<Time> {
        let (span, interval) = (self.timing.wire.skip, self.timing.wire.skip_interval);
        if now < self.next_skip || span.is_zero() {
            return None;
        }
        // On a wire that was free they went when they were due.
        let start = self.next_skip.max(self.free_at);
        let passed = (now - start).div_floor(interval);
        let start = if passed > 0 { self.next_skip + interval * passed } else { start };
        self.next_skip += interval * (passed + 1);
        self.free_at = start + span;
        self.book.busy += span * (passed + 1);
        (self.free_at > now).then_some(self.free_at)
    }

    fn send(&mut self, owing: &mut Self, now: Time) -> Next {
        let mut flit = None;
        let (sent, flits) = if let Some(control) = self.retry_control() {
            control
        } else if let Some(again) = self.retry.next_again() {
            (again, 1)
        } else {
            let kind = match self.pack(now) {
                Some(packed) => packed,
                None if self.has_nak() || owing.forces(self) && self.may_keep(false) => Flit::empty(true),
                None => return Next::Nothing,
            };
            flit = Some(kind);
            (self.fresh(kind, owing, now), 1)
        };
        let is_damaged = self.damage.as_mut().is_some_and(Damage::should_inject) && flits == 1;
        let sent = Sent { is_damaged, nak: self.take_nak(), ..sent };
        let span = self.flit * u64::from(flits);
        self.free_at = now + span;
        self.book.busy += self.in_use(span, flit);
        self.book.served += u64::from(flits);
        self.on_wire.push_back(sent);
        Next::Sent { arrives: self.free_at + self.timing.flight, free_at: self.free_at, flit }
    }

    /// The part of a flit's time that no other message could have used: its slots, but all of it for what is sent again and for
    /// flits without messages.
    fn in_use(&self, span: Span, flit: Option<Flit>) -> Span {
        let used = flit.map_or(0, |flit| u64::from(flit.slots_used()));
        let slots = self.format.slots() as u64;
        // Less than a tick is lost where the slots are fifteen.
        if used == 0 { span } else { Span::from_ticks((span * used).div_floor(Span::from_ticks(slots))) }
    }

    /// The next flit of messages.
    fn pack(&mut self, now: Time) -> Option<Flit> {
        let may_begin = self.may_keep(true);
        let may_go_on = self.packer.is_amid_data() && self.may_keep(false);
        if !may_begin && !may_go_on {
            let has_credit =
                |(queue, credits): (&VecDeque<_>, &CreditBook)| !queue.is_empty() && credits.free() > 0;
            let waits =
                self.packer.is_amid_data() || self.waiting.iter().zip(&self.credit_books).any(has_credit);
            self.retry_book.blocked(waits, now);
            return None;
        }
        self.retry_book.blocked(false, now);
        let before = self.credit_books.each_ref().map(CreditBook::free);
        let since = self.waiting.each_ref().map(oldest);
        let [plain, data] = &mut self.waiting;
        let [mut plain_credits, mut data_credits] = before;
        let (of_plain, of_data) = (&mut plain_credits, &mut data_credits);
        let offer = Offer { plain, data, plain_credits: of_plain, data_credits: of_data };
        let packed = self.packer.pack(offer, may_begin);
        for (class, left) in [plain_credits, data_credits].into_iter().enumerate() {
            let spent = before[class] - left;
            for since in &since[class][..spent as usize] {
                self.book.waited += now - *since;
            }
            self.credit_books[class].spend(spent, now);
            let is_short = left == 0 && !self.waiting[class].is_empty();
            self.credit_books[class].blocked(is_short, now);
        }
        packed
    }

    /// Whether a flit may be kept: one in which a message begins, or any other.
    fn may_keep(&self, begins: bool) -> bool {
        match self.format.has_link_layer_retry() {
            true if begins => self.retry.may_begin(),
            true => self.retry.may_go_on(),
            false => true,
        }
    }

    /// A flit that is sent for the first time, with what it gives back.
    fn fresh(&mut self, flit: Flit, owing: &mut Self, now: Time) -> Sent {
        let mut sent = Sent {
            kind: Kind::Kept(flit),
            sequence: self.next_sequence,
            credits: [0; 2],
            acks: 0,
            nak: None,
            is_damaged: false,
        };
        if flit.has_header {
            let is_control = flit.slots_used() == 0;
            (sent.credits, sent.acks) = owing.receiver.give_back(self.format, is_control, now);
        }
        self.next_sequence += 1;
        if self.format.has_link_layer_retry() || self.has_errors() {
            self.retry.keep(sent);
            self.retry_book.keeps(self.retry.kept(), now);
        }
        sent
    }

    /// The oldest flit on the wire is there; its messages, unless it has none or is dropped. `back`: the other direction.
    pub(super) fn receive(&mut self, back: &mut Self, now: Time) -> Option<Flit> {
        let sent = self.on_wire.pop_front().expect("a flit is on its way");
        let Kind::Kept(flit) = sent.kind else {
            self.receive_control(sent, back);
            return None;
        };
        if self.is_dropped(&sent, back) {
            return None;
        }
        self.receiver.expected += 1;
        if self.format.has_link_layer_retry() {
            self.receiver.acks += 1;
        }
        back.take_back(&sent, now);
        Some(flit)
    }

    /// Credits and acknowledgements have come back.
    fn take_back(&mut self, sent: &Sent, now: Time) {
        for (class, given) in sent.credits.into_iter().enumerate() {
            self.credit_books[class].give_back(given, now);
        }
        if sent.acks > 0 {
            self.retry.acknowledge(sent.acks);
            self.retry_book.keeps(self.retry.kept(), now);
        }
    }

    /// Bits are wrong at another rate from now on, on a wire where they are wrong at all.
    pub(super) fn take_bit_error_rate(&mut self, rate: f64) {
        if let Some(damage) = &mut self.damage {
            damage.take_bit_error_rate(rate, self.timing.mode, self.format);
        }
    }

    /// Whether flits may arrive damaged.
    pub(super) fn has_errors(&self) -> bool {
        self.damage.is_some()
    }

    /// Until when the wire carries what has been sent.
    #[cfg(test)]
    pub(super) fn free_at(&self) -> Time {
        self.free_at
    }

    /// Credits of a class that its flits on the wire give back to the other direction.
    pub(super) fn credits_on_wire(&self, class: Class) -> u32 {
        self.on_wire.iter().map(|sent| sent.credits[class as usize]).sum()
    }

    /// What the wire has done up to `at`.
    pub(super) fn book_at(&self, at: Time) -> Book {
        Book { busy: self.book.busy.saturating_sub(self.free_at.saturating_since(at)), ..self.book }
    }

    /// How many flits its retry buffer keeps, and what that has done up to `at`; none where the link layer has none.
    pub(super) fn kept_at(&self, at: Time) -> Option<(u32, Book)> {
        let sent = self.next_sequence;
        self.format.has_link_layer_retry().then(|| (self.retry.size(), self.retry_book.book_at(sent, at)))
    }

    /// How much of it there is, in words.
    pub(super) fn limit(&self) -> String {
        let ticks = self.flit.ticks() as f64;
        let gb_per_s = self.format.bytes().get() as f64 / ticks * lanewise_units::TICKS_PER_NS as f64;
        format!("{gb_per_s:.1} GB/s in flits of {}", self.format.name())
    }
}
