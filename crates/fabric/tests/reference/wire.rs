//! One direction of a link in time: how long bytes take, when SKP ordered sets go, which packets arrive damaged.
//!
//! Rules: docs/explanation/physical.md; PCIe Base 6.3 §4.2.2, §4.2.8. Lengths of symbols and ordered sets are the tables of
//! `lanewise-pcie`.

use super::flits::FLIT;
use super::tlp::Fate;
use lanewise_engine::random::RandomStream;
use lanewise_fabric::config::{FaultConfig, LinkConfig};
use lanewise_pcie::encoding::{LineCode, LinkMode};
use lanewise_pcie::fec::flit_error_rate;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// What was last on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Last {
    Packet,
    OrderedSet,
}

/// One direction.
#[derive(Clone)]
pub struct Wire {
    symbol: Span,
    /// In Flit Mode, where a packet is a flit.
    pub is_in_flits: bool,
    lanes: u64,
    pub propagation: Span,
    pub recovery: Span,
    skip: Span,
    skip_interval: Span,
    /// With 128b/130b: the EDS token that ends the data stream before an ordered set, which is a block.
    eds: Option<Span>,
    /// The next ordered set falls due then.
    pub next_skip: Time,
    /// Ordered sets that fell due and have not gone.
    waiting: VecDeque<Time>,
    /// Everything that has begun has left by then.
    pub end: Time,
    /// Every packet that has begun has left by then.
    pub packet_end: Time,
    /// The last Recovery ends, or ended, then.
    pub recovered: Time,
    /// The same where that is later than what was under way is over: nothing is sent before.
    pub down_until: Time,
    last: Last,
    /// The wire was silent before what comes next.
    silent: bool,
    /// Symbols are counted from here.
    boundary: Time,
}

impl Wire {
    pub fn new(link: &LinkConfig) -> Self {
        let schedule = link.mode.ordered_sets(link.clocking);
        let skip = schedule.span;
        // An ordered set is over before the next is due; with 128b/130b a transmitter counts blocks.
        let mut interval = link.skip_interval.unwrap_or(schedule.interval).max(skip * 2);
        let mut made = Self {
            symbol: link.mode.symbol_span(),
            is_in_flits: link.mode.flit,
            lanes: link.mode.width.lanes(),
            propagation: link.propagation,
            recovery: link.recovery_time,
            skip,
            skip_interval: interval,
            eds: None,
            next_skip: Time::ZERO,
            waiting: VecDeque::new(),
            end: Time::ZERO,
            packet_end: Time::ZERO,
            recovered: Time::ZERO,
            down_until: Time::ZERO,
            last: Last::OrderedSet,
            silent: true,
            boundary: Time::ZERO,
        };
        if schedule.eds > Bytes::ZERO {
            made.eds = Some(made.span(schedule.eds.get()));
            interval = skip * interval.div_floor(skip).max(2);
        }
        made.skip_interval = interval;
        made.next_skip = Time::ZERO + interval;
        made
    }

    /// Time of so many bytes on all lanes, rounded up to a tick where it is none (x12).
    pub fn span(&self, bytes: u64) -> Span {
        Span::from_ticks((bytes * self.symbol.ticks()).div_ceil(self.lanes))
    }

    /// Time of so many bytes of TLPs, framing included: in Flit Mode as long as their share of flits takes.
    pub fn tlp_span(&self, bytes: u64) -> Span {
        let span = self.span(bytes);
        if self.is_in_flits { Span::from_ticks(span.ticks() * 256 / 236) } else { span }
    }

    /// After silence packets start at a multiple of this: at a symbol, or a flit.
    fn grid(&self) -> Span {
        if self.is_in_flits { self.span(FLIT) } else { self.symbol }
    }

    /// An ordered set falls due at `now`: it goes at once if no packet is on the wire. Returns when the next one does.
    pub fn skip_due(&mut self, now: Time) -> Time {
        self.waiting.push_back(now);
        self.next_skip = now + self.skip_interval;
        self.send_skips(now);
        self.next_skip
    }

    /// Ordered sets that wait go, if no packet is on the wire at `now`.
    ///
    /// Outside 128b/130b they follow a packet at once. With 128b/130b an ordered set is a block, counted from when it fell due; behind
    /// a packet the block that the packet ended in is filled, with the EDS token at its end, or the next block where there is no room.
    pub fn send_skips(&mut self, now: Time) {
        while self.packet_end <= now
            && let Some(due) = self.waiting.pop_front()
        {
            let start = match self.eds {
                Some(eds) if self.last == Last::Packet && !self.silent && self.end >= due => {
                    due + self.skip * (self.end + eds - due).div_ceil(self.skip)
                }
                _ => self.end.max(due),
            };
            self.end = start + self.skip;
            (self.last, self.silent) = (Last::OrderedSet, false);
            if self.eds.is_some() || self.is_in_flits {
                self.boundary = self.end;
            }
        }
    }

    /// A packet is committed to the wire at `now`, behind ordered sets that are due; after silence it starts at the next symbol
    /// boundary. Returns its start.
    pub fn begin(&mut self, now: Time, span: Span) -> Time {
        self.fall_silent(now);
        if self.silent {
            let grid = self.grid();
            self.boundary += grid * (self.end - self.boundary).div_ceil(grid);
            self.end = self.boundary;
            self.silent = false;
        }
        let start = self.end;
        self.end = start + span;
        self.packet_end = self.end;
        self.last = Last::Packet;
        start
    }

    /// When the NOP flit began that is on a silent wire at `now`, if one is.
    pub fn nop_flit(&mut self, now: Time) -> Option<Time> {
        self.fall_silent(now);
        let grid = self.grid();
        let began = self.boundary + grid * (self.end - self.boundary).div_floor(grid);
        (self.silent && began < self.end).then_some(began)
    }

    /// A flit is committed to the wire at `now`: it is the NOP flit that `began` before, or goes like any packet. Returns its start.
    pub fn begin_flit(&mut self, now: Time, began: Option<Time>, span: Span) -> Time {
        let Some(began) = began else { return self.begin(now, span) };
        (self.boundary, self.end, self.packet_end) = (began, began + span, began + span);
        (self.last, self.silent) = (Last::Packet, false);
        began
    }

    /// Notes that nothing was on the wire just before `now`, if so.
    fn fall_silent(&mut self, now: Time) {
        self.send_skips(now);
        if self.end < now {
            (self.end, self.silent) = (now, true);
        }
    }

    /// It sleeps or wakes, and can be used from then on. No ordered sets fall due meanwhile.
    pub fn rest_until(&mut self, until: Time) {
        (self.end, self.packet_end, self.silent) = (until, until, true);
        self.next_skip = self.next_skip.max(until + self.skip_interval);
    }

    /// The link goes down at `now`: ordered sets that wait for the end of a packet follow it, as before Recovery, and none falls due.
    pub fn stop(&mut self, now: Time) {
        self.fall_silent(now);
        self.send_skips(self.packet_end);
        self.next_skip = Time::NEVER;
    }

    /// The link comes up. Returns when the next ordered set falls due.
    pub fn start(&mut self, now: Time) -> Time {
        self.next_skip = self.end.max(now) + self.skip_interval;
        self.next_skip
    }

    /// The link is in Recovery from `now` until `until`: nothing is sent and no ordered set falls due. Those that waited for the end of a
    /// packet follow it. Where all that takes longer than Recovery, the wire goes on behind it.
    pub fn go_down(&mut self, now: Time, until: Time) {
        self.fall_silent(now);
        self.recovered = until;
        let mut behind = self.clone();
        behind.send_skips(behind.packet_end);
        if until > behind.end {
            *self = behind;
            (self.end, self.packet_end, self.down_until) = (until, until, until);
            self.next_skip = self.next_skip.max(until + self.skip_interval);
            if self.is_in_flits {
                self.boundary = until;
            }
        }
    }
}

/// Which packets of one direction arrive damaged.
pub struct Faults {
    listed: Vec<u64>,
    sent: u64,
    stream: RandomStream,
    rate: f64,
    /// Good bits before the next wrong one.
    good: u64,
    tokens: bool,
    /// Flits are damaged as a whole, where error correction did not help.
    of_flits: bool,
}

impl Faults {
    /// None for a direction on which nothing is damaged.
    pub fn new(config: &FaultConfig, mode: LinkMode, mut stream: RandomStream) -> Option<Self> {
        let mut rate = config.bit_error_rate;
        if rate <= 0.0 && config.corrupt_tlps.is_empty() {
            return None;
        }
        if mode.flit && rate > 0.0 {
            rate = flit_error_rate(mode, rate);
        }
        let good = if rate > 0.0 { stream.geometric(rate) } else { u64::MAX };
        let tokens = mode.line_code() == LineCode::Code128b130b && !mode.flit;
        Some(Self {
            listed: config.corrupt_tlps.clone(),
            sent: 0,
            stream,
            rate,
            good,
            tokens,
            of_flits: mode.flit,
        })
    }

    /// Another bit error rate: the next wrong bit is drawn anew.
    pub fn change(&mut self, config: &FaultConfig, mode: LinkMode) {
        let rate = config.bit_error_rate;
        let rate = if mode.flit && rate > 0.0 { flit_error_rate(mode, rate) } else { rate };
        if self.rate > 0.0 && rate > 0.0 && rate != self.rate {
            self.rate = rate;
            self.good = self.stream.geometric(rate);
        }
    }

    /// In which state a TLP of so many bytes, framing included, arrives.
    pub fn of_tlp(&mut self, bytes: u64) -> Fate {
        let listed = self.listed.contains(&self.sent);
        self.sent += 1;
        match self.first_wrong_bit(bytes * 8) {
            Some(bit) if self.tokens && bit < 32 => Fate::Misframed,
            Some(_) => Fate::Damaged,
            None if listed => Fate::Damaged,
            None => Fate::Good,
        }
    }

    /// Whether a DLLP is lost.
    pub fn of_dllp(&mut self) -> bool {
        self.first_wrong_bit(64).is_some()
    }

    fn first_wrong_bit(&mut self, bits: u64) -> Option<u64> {
        let bits = if self.of_flits { 1 } else { bits };
        if self.rate <= 0.0 {
            return None;
        }
        let mut first = None;
        let mut at = self.good;
        while at < bits {
            first.get_or_insert(at);
            at = at.saturating_add(1).saturating_add(self.stream.geometric(self.rate));
        }
        self.good = at - bits;
        first
    }
}
