//! One port: what its transmitter may send, and what its receiver owes.
//!
//! All counters count up without an end: there are no modular comparisons to get wrong. Rules: docs/explanation/data-link.md;
//! PCIe Base 6.3 §2.6.1 (credits, UpdateFC), §3.6.2 and §3.6.3 (sequence numbers, Ack, Nak, retry buffer).

use super::channel::{Channel, Turns};
use super::flits::Flits;
use super::tlp::{Credits, Tlp};
use super::wire::{Faults, Wire};
use lanewise_fabric::config::{LinkConfig, LinkPower, PortConfig};
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::virtual_channel::ChannelMap;
use lanewise_units::Time;
use std::collections::VecDeque;

/// Credit limits of headers and data; none where infinite.
pub type Limits = [Option<u64>; 2];

/// A DLLP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dllp {
    /// So many TLPs have arrived.
    Ack(u64),
    /// The same, and what comes next was bad.
    Nak(u64),
    Update {
        channel: usize,
        class: usize,
        limits: Limits,
    },
    Init1 {
        channel: usize,
        class: usize,
        limits: Limits,
    },
    Init2 {
        channel: usize,
        class: usize,
        limits: Limits,
    },
}

/// Flow control initialisation: PCIe Base 6.3 §3.4.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Init1,
    Init2,
    Active,
}

/// The transmitter's credits of one class.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    limits: Limits,
    consumed: Credits,
}

impl Allowance {
    /// Nothing may be sent before the peer's advertisement has come.
    pub fn none() -> Self {
        Self::of([Some(0); 2])
    }

    /// What the peer advertises first.
    pub fn of(limits: Limits) -> Self {
        Self { limits, consumed: [0; 2] }
    }

    pub fn allows(&self, credits: Credits) -> bool {
        (0..2).all(|part| self.limits[part].is_none_or(|limit| self.consumed[part] + credits[part] <= limit))
    }

    pub fn consume(&mut self, credits: Credits) {
        (0..2).for_each(|part| self.consumed[part] += credits[part]);
    }

    /// Takes the limits of an UpdateFC: infinite parts stay infinite.
    pub fn update(&mut self, limits: Limits) {
        for (known, told) in self.limits.iter_mut().zip(limits) {
            if let (Some(known), Some(told)) = (known, told) {
                *known = told;
            }
        }
    }
}

/// The receiver's buffer of one class: what the peer may send, and when it must hear of more.
#[derive(Clone, Debug)]
pub struct Buffer {
    infinite: [bool; 2],
    size: Credits,
    allocated: Credits,
    received: Credits,
    told: Credits,
    /// TLPs freed since the last UpdateFC.
    freed: u64,
    /// An UpdateFC is due after so many.
    every: u64,
    /// With less than this the peer may lack credits for its next TLP.
    least: Credits,
    step: u64,
    pub update_due: Time,
}

impl Buffer {
    pub fn new(config: &PortConfig, pool: CreditPool, class: usize) -> Self {
        let pool = [pool.header, pool.data];
        let step = u64::from(config.scale[class].factor());
        // The largest TLP of the class: an MPS of data, or one unit of a non-posted request (PCIe Base 6.3 §2.6.1.2).
        let data = if class == super::tlp::NON_POSTED { 1 } else { config.mps.get().div_ceil(16) };
        // A quarter of the pool, in TLPs of full size, but at least what a step of the scale is (docs/explanation/data-link.md).
        let quarter = |pool: Option<u16>, each: u64| {
            pool.map_or(u64::MAX, |pool| (u64::from(pool) / each / 4).max(step.div_ceil(each)))
        };
        let every = u64::from(config.update_flow_control.every_tlps);
        let allocated = pool.map(|credits| u64::from(credits.unwrap_or(0)));
        Self {
            infinite: pool.map(|credits| credits.is_none()),
            size: allocated,
            allocated,
            received: [0; 2],
            told: allocated.map(|credits| credits / step * step),
            freed: 0,
            every: every.min(quarter(pool[0], 1)).min(quarter(pool[1], data)).max(1),
            least: [step, data.max(step)],
            step,
            update_due: Time::NEVER,
        }
    }

    /// Whether the peer needs no credits at all.
    pub fn is_infinite(&self) -> bool {
        self.infinite == [true; 2]
    }

    /// What an InitFC or UpdateFC says now: whole steps of the scale.
    pub fn limits(&self) -> Limits {
        let limit =
            |part: usize| (!self.infinite[part]).then(|| self.allocated[part] / self.step * self.step);
        [limit(0), limit(1)]
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        (0..2).all(|part| self.received[part] + self.size[part] == self.allocated[part])
    }

    /// Whether an UpdateFC would tell the peer what it knows.
    pub fn repeats(&self) -> bool {
        self.freed == 0
    }

    /// Whether the peer may lack credits for its next TLP, given what it was told.
    fn peer_may_starve(&self) -> bool {
        (0..2).any(|part| !self.infinite[part] && self.told[part] - self.received[part] < self.least[part])
    }

    /// A TLP came at `now`: what was freed and not told may now be what the peer needs.
    pub fn fill(&mut self, credits: Credits, now: Time) {
        if self.is_infinite() {
            return;
        }
        (0..2).for_each(|part| self.received[part] += credits[part]);
        let fits = |part: usize| self.infinite[part] || self.received[part] <= self.allocated[part];
        assert!(fits(0) && fits(1), "the buffer overflows at {now:?}");
        if self.freed > 0 && self.peer_may_starve() {
            self.update_due = self.update_due.min(now);
        }
    }

    /// The space of a TLP is free at `now` (PCIe Base 6.3 §2.6.1.2: at once when the peer may starve, else by count and time).
    pub fn free(&mut self, credits: Credits, now: Time, config: &PortConfig) {
        (0..2).for_each(|part| self.allocated[part] += credits[part]);
        self.freed += 1;
        let at_once = self.freed >= self.every || self.peer_may_starve();
        let due = if at_once { now } else { now + config.update_flow_control.latency };
        self.update_due = self.update_due.min(due);
    }

    /// An UpdateFC goes out at `now`.
    pub fn told(&mut self, now: Time, config: &PortConfig) {
        self.told = self.allocated.map(|credits| credits / self.step * self.step);
        self.freed = 0;
        self.update_due = now + config.update_flow_control.period;
    }
}

/// A TLP in the retry buffer.
#[derive(Clone, Debug)]
pub struct Kept {
    pub sequence: u64,
    pub tlp: Tlp,
}

impl Kept {
    /// TLP, sequence number and LCRC (docs/explanation/data-link.md).
    pub fn bytes(tlp: &Tlp) -> u64 {
        tlp.bytes() + 6
    }
}

/// One port.
pub struct Port {
    pub device: usize,
    /// Index among the ports of its device.
    pub number: usize,
    pub peer: usize,
    pub config: PortConfig,
    pub wire: Wire,
    pub faults: Option<Faults>,
    /// Nothing is ever damaged on either direction of its link.
    pub error_free: bool,

    /// Of a host, whose ports share no queue here: a completion has left last.
    pub requests_turn: bool,
    /// How often its link has gone down.
    pub lives: u32,
    /// Flit Mode.
    pub flits: Option<Flits>,
    pub phase: Phase,
    pub init_due: Time,
    /// Virtual channels, VC0 first; which traffic class each carries; whose turn it is.
    pub channels: Vec<Channel>,
    pub map: ChannelMap,
    pub turns: Turns,

    pub power: LinkPower,
    /// A TLP waits for credits or room in the retry buffer, as the last look found.
    pub waits: bool,
    /// It came up, or ceased to wait, then: silence counts from then at the earliest.
    pub silent_from: Time,
    /// When the last Ack came that told of something, or Recovery ended.
    pub acknowledged_at: Time,
    /// A link below wakes, and this one is to be awake from then on.
    pub called_at: Time,

    /// DLLPs that arrived and were not read, with their times.
    pub inbox: VecDeque<(Time, Dllp)>,
    pub kept: VecDeque<Kept>,
    pub next_sequence: u64,
    /// The TLP that a replay sends next.
    pub replay_from: Option<u64>,
    pub replays: u32,
    /// When the last replay began.
    pub replay_began: Time,
    pub replay_deadline: Time,
    /// When DLLPs were last put on the wire.
    pub dllps_begun: Time,
    /// When a TLP was last put on the wire.
    pub tlp_begun: Time,

    /// Sequence number of the next new TLP, counted up for ever.
    pub expected: u64,
    /// A Nak is owed or on its way, and the TLP that it asks for has not come.
    pub nak_scheduled: bool,
    pub nak: Option<Time>,
    /// TLPs checked so far, and how many of them since the last Ack.
    pub checked: u64,
    pub unacknowledged: u32,
    pub ack_due: Time,
}

impl Port {
    pub fn new(device: usize, number: usize, peer: usize, config: &PortConfig, link: &LinkConfig) -> Self {
        let pools = [config.credits].into_iter().chain(config.more_credits.iter().copied());
        Self {
            device,
            number,
            peer,
            wire: Wire::new(link),
            faults: None,
            error_free: true,
            requests_turn: false,
            lives: 0,
            flits: Flits::new(link),
            phase: Phase::Init1,
            init_due: Time::ZERO,
            channels: pools.map(|pools| Channel::new(config, pools)).collect(),
            map: link.channels,
            turns: Turns::new(&config.channel_arbitration),
            power: link.power,
            waits: false,
            silent_from: Time::ZERO,
            acknowledged_at: Time::ZERO,
            called_at: Time::NEVER,
            inbox: VecDeque::new(),
            kept: VecDeque::new(),
            next_sequence: 0,
            replay_from: None,
            replays: 0,
            replay_began: Time::ZERO,
            replay_deadline: Time::NEVER,
            dllps_begun: Time::NEVER,
            tlp_begun: Time::NEVER,
            expected: 0,
            nak_scheduled: false,
            nak: None,
            checked: 0,
            unacknowledged: 0,
            ack_due: Time::NEVER,
            config: config.clone(),
        }
    }

    /// The oldest TLP, or flit, that is not acknowledged.
    pub fn oldest_kept(&self) -> Option<u64> {
        match &self.flits {
            Some(flits) => flits.oldest(),
            None => self.kept.front().map(|kept| kept.sequence),
        }
    }

    /// The peer has all before this one. Whether that is news.
    pub fn forget_before(&mut self, sequence: u64) -> bool {
        if let Some(flits) = &mut self.flits {
            return flits.forget_before(sequence);
        }
        let before = self.kept.len();
        self.kept.retain(|kept| kept.sequence >= sequence);
        self.kept.len() < before
    }

    /// The channel that carries a TLP on its link.
    pub fn channel_of(&self, tlp: &Tlp) -> usize {
        usize::from(self.map.channel_of(tlp.traffic_class))
    }

    /// TLPs of an endpoint or root port that wait, each first of its class and channel.
    pub fn heads(&self) -> impl Iterator<Item = &Tlp> {
        self.channels.iter().flat_map(|channel| &channel.queues).filter_map(|queue| queue.front())
    }

    /// Every class of every channel, in the order in which their DLLPs go.
    pub fn channels_and_classes(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..self.channels.len()).flat_map(|channel| (0..3).map(move |class| (channel, class)))
    }

    /// Whether the retry buffer has room, and the window of 2047 TLPs is open (PCIe Base 6.3 §3.6.2.1).
    pub fn has_room_for(&self, tlp: &Tlp) -> bool {
        let held: u64 = self.kept.iter().map(|kept| Kept::bytes(&kept.tlp)).sum();
        held + Kept::bytes(tlp) <= self.config.retry_buffer.get() && self.kept.len() < 2047
    }

    /// A TLP was accepted and has been checked at `now`: an Ack is due by count or by time (PCIe Base 6.3 §3.6.3.1).
    pub fn count_checked(&mut self, now: Time) {
        self.checked += 1;
        self.unacknowledged += 1;
        let by_count = self.unacknowledged >= self.config.ack.every_tlps;
        let due = if by_count { now } else { now + self.config.ack.latency };
        self.ack_due = self.ack_due.min(due);
    }

    /// When the next DLLP is due.
    pub fn dllp_due(&self) -> Time {
        let nak = self.nak.unwrap_or(Time::NEVER);
        let buffers = self.channels.iter().flat_map(|channel| &channel.buffers);
        let updates = buffers.map(|buffer| buffer.update_due);
        updates.fold(self.ack_due.min(nak), Time::min)
    }
}
