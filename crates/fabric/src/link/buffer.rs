//! A receiver's buffer of one class: its credits, what is draining, and when the transmitter must hear of it.
//!
//! Everything that the arrival and the departure of a TLP touch, in one cache line.

use super::effect::{Effect, Effects};

use crate::config::{PortConfig, UpdatePolicy};
use crate::ring::Ring;
use lanewise_pcie::flow_control::{CreditPool, Credits, ReceiveCredits, Scale, low_credit_threshold};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

/// The buffer of one class: 64 bytes, which its receiver puts into one cache line.
pub(crate) struct IngressBuffer {
    /// Space that will be free by then, in order of time.
    pub(crate) draining: Ring<(Time, Credits)>,
    pub(crate) credits: ReceiveCredits,
    /// What the peer must have left to be able to send any TLP: a step of the scale, and data for the largest payload.
    low_credit_threshold: Credits,
    /// TLPs whose credits were freed since the last UpdateFC.
    pub(crate) freed_tlps: u32,
    /// An UpdateFC goes out once so many are free.
    update_every_tlps: u32,
}

impl IngressBuffer {
    pub(crate) fn new(class: FlowClass, pools: &[CreditPool; 3], config: &PortConfig) -> Self {
        Self {
            draining: Ring::default(),
            credits: ReceiveCredits::new(config.scale[class.index()], pools[class.index()]),
            low_credit_threshold: low_credit_threshold(class, config.mps, config.scale[class.index()]),
            freed_tlps: 0,
            update_every_tlps: update_every(class, &pools[class.index()], config),
        }
    }

    /// As at the start: the link went down with nothing in the buffer.
    pub(crate) fn reset(&mut self) {
        assert!(self.draining.is_empty(), "a buffer is empty when its link goes down");
        self.freed_tlps = 0;
        self.credits.reset();
    }

    /// Whether nothing is in it at `now`, nor still to be drained then.
    pub(crate) fn is_empty_by(&self, now: Time) -> bool {
        let mut held = self.credits.held();
        for (at, credits) in self.draining.iter() {
            if *at > now {
                return false;
            }
            // Of an infinite kind none is ever held.
            held.header = held.header.saturating_sub(credits.header);
            held.data = held.data.saturating_sub(credits.data);
        }
        held == Credits::NONE
    }

    /// Notes that space will be free at `free_at`. Packets of one ingress leave a switch through several ports, so
    /// times come almost in order.
    #[inline(always)]
    pub(crate) fn will_drain(&mut self, credits: Credits, free_at: Time) {
        self.draining.push_before((free_at, credits), |(at, _)| *at > free_at);
        self.freed_tlps += 1;
    }

    /// Takes the oldest space that is free by `now`, and allocates its credits again.
    #[inline(always)]
    fn take_drained(&mut self, now: Time) -> Option<(Time, Credits)> {
        let (at, credits) = *self.draining.front()?;
        if at > now {
            return None;
        }
        self.draining.drop_front();
        self.credits.release(credits);
        Some((at, credits))
    }

    /// Buffer space that devices have drained by now is allocated again.
    #[inline(always)]
    pub(crate) fn release_drained(&mut self, class: FlowClass, now: Time, effects: &mut impl Effects) {
        while let Some((at, credits)) = self.take_drained(now) {
            effects.push(at, Effect::BufferFreed { class, bytes: buffer_bytes(credits) });
        }
    }

    /// When the next UpdateFC, which is due at `update_at`, goes out given that credits are free from `free_at` on.
    ///
    /// PCIe Base 6.3 §2.6.1.2: at once when the peer may be starved, else coalesced by count and by time.
    #[inline(always)]
    pub(crate) fn schedule_update_fc(&self, update_at: Time, policy: &UpdatePolicy, free_at: Time) -> Time {
        if update_at <= free_at {
            return update_at; // It is due before these credits are free, whatever the reason.
        }
        let due = if self.credits_are_low() { free_at } else { free_at + policy.latency };
        let by_count = if self.freed_tlps < self.update_every_tlps { Time::NEVER } else { self.counted_at() };
        update_at.min(due).min(by_count)
    }

    /// When as many TLPs are free as one UpdateFC tells of. Those that came first are not always free first.
    #[inline(always)]
    fn counted_at(&self) -> Time {
        let free = self.freed_tlps as usize - self.draining.len();
        let last = (self.update_every_tlps as usize).saturating_sub(free + 1);
        self.draining.iter().nth(last).map_or(Time::NEVER, |(at, _)| *at)
    }

    /// When the first credits that the peer has not been told of are free; `already` if they are.
    #[inline(always)]
    pub(crate) fn first_untold(&self, already: Time) -> Time {
        match self.draining.front() {
            Some((free_at, _)) if self.freed_tlps as usize <= self.draining.len() => *free_at,
            _ => already,
        }
    }

    /// Whether an UpdateFC at `at` would tell what the last one did: what was freed since is still draining.
    pub(crate) fn would_repeat(&self, at: Time) -> bool {
        self.freed_tlps == 0 || self.first_untold(Time::ZERO) > at
    }

    /// The same after an UpdateFC, given what is still draining.
    #[inline(always)]
    pub(crate) fn update_after_update(&self, update_at: Time, policy: &UpdatePolicy) -> Time {
        let Some((first, _)) = self.draining.front() else { return update_at };
        let due = if self.credits_are_low() { *first } else { *first + policy.latency };
        let counted = self.draining.iter().nth((self.update_every_tlps as usize).saturating_sub(1));
        update_at.min(due).min(counted.map_or(Time::NEVER, |(at, _)| *at))
    }

    /// Whether the peer may be starved of what it has been told.
    #[inline(always)]
    pub(crate) fn credits_are_low(&self) -> bool {
        self.credits.peer_has_less_than(self.low_credit_threshold)
    }
}

/// TLPs of a class whose credits one UpdateFC gives back: what the port asks for, but no more than a quarter of its pool
/// in TLPs of full size, so that the peer never waits for most of a small one. A step of the scale can always be told.
fn update_every(class: FlowClass, pool: &CreditPool, config: &PortConfig) -> u32 {
    let data = low_credit_threshold(class, config.mps, Scale::One).data.max(1);
    let step = config.scale[class.index()].factor();
    let quarter = |credits: Option<u16>, each: u16| match credits {
        Some(credits) => u32::from(credits / each / 4).max(u32::from(step.div_ceil(each))),
        None => u32::MAX,
    };
    config.update_flow_control.every_tlps.min(quarter(pool.header, 1)).min(quarter(pool.data, data)).max(1)
}

/// Ingress buffer bytes that credits stand for.
pub(crate) fn buffer_bytes(credits: Credits) -> u32 {
    credits.buffer_space().get() as u32
}
