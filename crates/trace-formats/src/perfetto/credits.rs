//! Credits that a transmitter has left, over time: after each TLP as the simulator says it, and from each UpdateFC on as it adds up.
//!
//! Leaves out, where they rise: links in Flit Mode and with faults, on which it is not known from the rows when an UpdateFC arrives. There
//! the counter is right after each TLP.

use super::packets::{Packets, Track};
use lanewise_pcie::flow_control::Scale;
use lanewise_pcie::tlp::FlowClass;
use std::collections::VecDeque;

/// Header or data credits of one class and channel of one direction.
pub(super) struct Credits {
    track: Track,
    /// Bits of the counters that limits are said of.
    mask: u16,
    left: Option<u16>,
    limit: Option<u16>,
    /// An UpdateFC has come since the last InitFC.
    is_updated: bool,
    /// Limits on their way: when they arrive, and what they say.
    coming: VecDeque<(u64, Limit)>,
    /// What limits that arrived since the last TLP gave.
    given: Vec<u16>,
}

/// What a DLLP says of credits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    /// So many there are in the beginning.
    First(u16),
    /// So many there have been, over all time, modulo the width of the counter.
    Then(u16),
}

impl Credits {
    pub(super) fn headers(track: Track, scale: Scale) -> Self {
        Self::of(track, scale.widths().header)
    }

    pub(super) fn data(track: Track, scale: Scale) -> Self {
        Self::of(track, scale.widths().data)
    }

    fn of(track: Track, bits: u8) -> Self {
        Self {
            track,
            mask: u16::MAX >> (16 - bits),
            left: None,
            limit: None,
            is_updated: false,
            coming: VecDeque::new(),
            given: Vec::new(),
        }
    }

    /// A TLP that costs so many left so many when it was chosen. What arrived between that and its start comes on top.
    pub(super) fn after_tlp(&mut self, packets: &mut Packets, at: u64, (cost, left): (u16, u16)) {
        self.arrive(packets, at);
        let counted = self.left.and_then(|before| before.checked_sub(cost));
        let unseen = counted.and_then(|counted| counted.checked_sub(left));
        let unseen = unseen.map(u32::from);
        let mut given = 0;
        let came_late = unseen == Some(0)
            || self.given.drain(..).rev().any(|more| {
                given += u32::from(more);
                Some(given) == unseen
            });
        self.given.clear();
        let left = counted.filter(|_| came_late).unwrap_or(left);
        self.left = Some(left);
        packets.count(self.track, at, i64::from(left))
    }

    /// A limit is on its way.
    pub(super) fn comes(&mut self, arrives_at: u64, limit: Limit) {
        self.coming.push_back((arrives_at, limit));
    }

    /// Everything up to a tick has arrived.
    pub(super) fn arrive(&mut self, packets: &mut Packets, until: u64) {
        while let Some((at, limit)) = self.coming.front().copied().filter(|(at, _)| *at <= until) {
            self.coming.pop_front();
            let before = self.left;
            match limit {
                // It is said again and again until both sides have heard it; after an UpdateFC the link has come up anew.
                Limit::First(credits) if self.limit.is_none() || self.is_updated => {
                    (self.left, self.limit) = (Some(credits), Some(credits & self.mask));
                    self.given.clear();
                    self.is_updated = false;
                }
                Limit::First(_) => {}
                Limit::Then(limit) => {
                    let more = self.limit.map(|before| limit.wrapping_sub(before) & self.mask);
                    (self.limit, self.is_updated) = (Some(limit), true);
                    self.left = self.left.zip(more).map(|(left, more)| left.saturating_add(more));
                    self.given.extend(more);
                }
            }
            if let Some(left) = self.left.filter(|_| self.left != before) {
                packets.count(self.track, at, i64::from(left));
            }
        }
    }
}

/// A flow class as tracks are named.
pub(super) const fn class_name(class: FlowClass) -> &'static str {
    match class {
        FlowClass::Posted => "posted",
        FlowClass::NonPosted => "non-posted",
        FlowClass::Completion => "completion",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> (Packets, Credits) {
        let mut packets = Packets::default();
        let link = packets.track(None, "link", 0);
        let track = packets.counter(link, "posted data credits left, VC0", 0, "credits of 16 B");
        (packets, Credits::data(track, Scale::One))
    }

    #[test]
    fn credits_begin_anew_when_the_link_comes_up_again() {
        let (mut packets, mut credits) = data();
        let mut says = |at, limit| {
            credits.comes(at, limit);
            credits.arrive(&mut packets, at);
            (credits.left, credits.limit)
        };
        assert_eq!(says(1, Limit::First(100)), (Some(100), Some(100)));
        assert_eq!(says(2, Limit::First(100)), (Some(100), Some(100)));
        assert_eq!(says(3, Limit::Then(140)), (Some(140), Some(140)));
        assert_eq!(says(4, Limit::First(64)), (Some(64), Some(64)));
        assert_eq!(says(5, Limit::First(64)), (Some(64), Some(64)));
        assert_eq!(says(6, Limit::Then(70)), (Some(70), Some(70)));
        // All but 20 of the 70 are gone: the 40 that were given before the link came up anew are not among what came late.
        credits.after_tlp(&mut packets, 7, (4, 20));
        assert_eq!(credits.left, Some(20));
    }

    #[test]
    fn limits_that_give_more_than_a_counter_holds_are_added_up() {
        let (mut packets, mut credits) = data();
        credits.mask = u16::MAX;
        credits.comes(1, Limit::First(10));
        for at in 2..6 {
            credits.comes(at, Limit::Then((at * 40_000) as u16));
        }
        credits.after_tlp(&mut packets, 9, (0, 1));
        assert_eq!((credits.left, credits.given.len()), (Some(1), 0));
    }
}
