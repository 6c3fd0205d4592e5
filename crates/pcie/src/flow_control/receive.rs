//! The receiver's side of one credit class, and when it owes the transmitter an UpdateFC. PCIe Base §2.6.1.2.

use super::{CreditPool, Scale};
use crate::tlp::Credits;

/// A TLP arrived for which the transmitter had no credits: a Receiver Overflow error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Overflow {
    /// More headers than were allocated.
    Header,
    /// More data than was allocated.
    Data,
}

/// One counter pair with what the peer was last told. They count on and on; what they say is modulo the counter width.
///
/// An infinite kind counts modulo one: it always says zero, and everything fits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Counter {
    allocated: u16,
    received: u16,
    reported: u16,
    /// The initial allocation; zero when infinite, as on the wire.
    capacity: u16,
    /// All ones in the counter's width; none when infinite.
    mask: u16,
}

impl Counter {
    const fn new(credits: Option<u16>, scale: Scale, mask: u16) -> Self {
        match credits {
            Some(pool) => {
                let reported = scale.whole_steps(pool);
                Self { allocated: pool, received: 0, reported, capacity: pool, mask }
            }
            None => Self { allocated: 0, received: 0, reported: 0, capacity: 0, mask: 0 },
        }
    }

    /// As after [`Self::new`] with the same pool.
    const fn reset(&mut self, scale: Scale) {
        (self.allocated, self.received) = (self.capacity, 0);
        self.reported = scale.whole_steps(self.capacity);
    }

    #[inline]
    const fn is_infinite(&self) -> bool {
        self.mask == 0
    }

    /// Allocated and not received: room that no TLP has taken.
    #[inline]
    const fn free(&self) -> u16 {
        self.allocated.wrapping_sub(self.received) & self.mask
    }

    #[inline]
    const fn held(&self) -> u16 {
        self.capacity - self.free()
    }

    #[inline]
    const fn accepts(&self, need: u16) -> bool {
        need <= self.free() || self.is_infinite()
    }

    #[inline]
    const fn receive(&mut self, need: u16) {
        self.received = self.received.wrapping_add(need);
    }

    #[inline]
    const fn release(&mut self, credits: u16) {
        assert!(credits <= self.held() || self.is_infinite(), "more credits freed than TLPs held");
        self.allocated = self.allocated.wrapping_add(credits);
    }

    /// What an UpdateFC says: whole steps of the scale.
    #[inline]
    const fn limit(&self, scale: Scale) -> u16 {
        scale.whole_steps(self.allocated & self.mask)
    }

    #[inline]
    const fn available_to_peer(&self) -> u16 {
        self.reported.wrapping_sub(self.received) & self.mask
    }

    /// Whether the peer, given what it was last told, may have less than `least` left.
    #[inline]
    const fn peer_has_less_than(&self, least: u16) -> bool {
        !self.is_infinite() && self.available_to_peer() < least
    }

    #[inline]
    const fn unreported(&self, scale: Scale) -> u16 {
        scale.whole_steps(self.allocated).wrapping_sub(self.reported) & self.mask
    }
}

/// CREDITS_ALLOCATED and CREDITS_RECEIVED of one class, headers and data, and what the peer was last told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReceiveCredits {
    header: Counter,
    data: Counter,
    scale: Scale,
}

impl ReceiveCredits {
    /// A receiver that advertises `pool` and counts as having told the peer so.
    ///
    /// # Panics
    /// When a finite pool is less than one step of the scale, which on the wire would say infinite, or larger
    /// than [`super::largest_advertisement`].
    pub const fn new(scale: Scale, pool: CreditPool) -> Self {
        const fn check(credits: Option<u16>, scale: Scale, most_steps: u16) {
            if let Some(credits) = credits {
                assert!(credits >= scale.factor(), "an advertisement of zero credits says infinite");
                assert!(credits <= most_steps * scale.factor(), "more credits than the counters allow");
            }
        }
        check(pool.header, scale, 127);
        check(pool.data, scale, 2047);
        Self {
            header: Counter::new(pool.header, scale, scale.header_mask()),
            data: Counter::new(pool.data, scale, scale.data_mask()),
            scale,
        }
    }

    /// Counts anew because the link went down: the same pool, as if nothing had been received.
    pub const fn reset(&mut self) {
        self.header.reset(self.scale);
        self.data.reset(self.scale);
    }

    /// Accounts a TLP that arrived.
    ///
    /// # Errors
    /// [`Overflow`] when it was sent without credits; nothing is accounted then.
    #[inline]
    pub const fn receive(&mut self, need: Credits) -> Result<(), Overflow> {
        if !self.header.accepts(need.header) {
            return Err(Overflow::Header);
        }
        if !self.data.accepts(need.data) {
            return Err(Overflow::Data);
        }
        self.header.receive(need.header);
        self.data.receive(need.data);
        Ok(())
    }

    /// Allocates again what a TLP that left the buffer had held.
    ///
    /// # Panics
    /// When more is freed than was received.
    #[inline]
    pub const fn release(&mut self, credits: Credits) {
        self.header.release(credits.header);
        self.data.release(credits.data);
    }

    /// Header and data limits to put into an UpdateFC, in whole steps of the scale; zero where infinite.
    #[inline]
    pub const fn limit(&self) -> (u16, u16) {
        (self.header.limit(self.scale), self.data.limit(self.scale))
    }

    /// Notes that the peer was told [`Self::limit`].
    #[inline]
    pub const fn mark_reported(&mut self) {
        let (header, data) = self.limit();
        self.header.reported = header;
        self.data.reported = data;
    }

    /// Credits freed since the last report, in whole steps of the scale.
    #[inline]
    pub const fn unreported(&self) -> Credits {
        Credits { header: self.header.unreported(self.scale), data: self.data.unreported(self.scale) }
    }

    /// What the transmitter may at most have left, given what it was last told; `None` where infinite.
    #[inline]
    pub const fn available_to_peer(&self) -> CreditPool {
        let (header, data) = (self.header.available_to_peer(), self.data.available_to_peer());
        CreditPool {
            header: if self.header.is_infinite() { None } else { Some(header) },
            data: if self.data.is_infinite() { None } else { Some(data) },
        }
    }

    /// Whether the peer, given what it was last told, may have fewer headers or less data left than this. Infinite
    /// kinds never run out.
    #[inline]
    pub const fn peer_has_less_than(&self, least: Credits) -> bool {
        self.header.peer_has_less_than(least.header) || self.data.peer_has_less_than(least.data)
    }

    /// Credits of TLPs still in the buffer; zero where infinite.
    #[inline]
    pub const fn held(&self) -> Credits {
        Credits { header: self.header.held(), data: self.data.held() }
    }

    /// Whether neither headers nor data are counted.
    #[inline]
    pub const fn is_infinite(&self) -> bool {
        self.header.is_infinite() && self.data.is_infinite()
    }

    /// Scale of the counters.
    pub const fn scale(&self) -> Scale {
        self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of posted requests at MPS 128 B.
    const STARVED: Credits = Credits::new(1, 8);

    fn received(pool: CreditPool, tlps: u16) -> ReceiveCredits {
        let mut credits = ReceiveCredits::new(Scale::One, pool);
        for _ in 0..tlps {
            credits.receive(Credits::new(1, 8)).expect("credits");
        }
        credits
    }

    #[test]
    fn a_peer_without_headers_starves_until_it_is_told() {
        let mut credits = received(CreditPool::finite(1, 64), 1);
        credits.release(Credits::new(1, 8));
        assert!(credits.peer_has_less_than(STARVED));
        credits.mark_reported();
        assert!(!credits.peer_has_less_than(STARVED));
        assert_eq!(credits.limit(), (2, 72));
    }

    #[test]
    fn a_peer_with_data_for_less_than_an_mps_starves() {
        let mut plenty = received(CreditPool::finite(16, 64), 2);
        plenty.release(Credits::new(1, 8));
        assert!(!plenty.peer_has_less_than(STARVED));
        assert_eq!(plenty.unreported(), Credits::new(1, 8));
        let mut short = received(CreditPool::finite(16, 15), 1);
        short.release(Credits::new(1, 8));
        assert_eq!(short.available_to_peer(), CreditPool::finite(15, 7));
        assert!(short.peer_has_less_than(STARVED));
    }

    #[test]
    fn the_peer_is_told_whole_steps_only() {
        let mut credits = ReceiveCredits::new(Scale::Four, CreditPool::finite(8, 64));
        for _ in 0..6 {
            credits.receive(Credits::new(1, 8)).expect("credits");
        }
        for _ in 0..3 {
            credits.release(Credits::new(1, 0));
        }
        assert_eq!(credits.available_to_peer().header, Some(2));
        assert_eq!(credits.unreported(), Credits::NONE, "three freed headers are not a step");
        credits.release(Credits::new(1, 0));
        assert_eq!(credits.unreported(), Credits::new(4, 0));
        assert_eq!(credits.limit(), (12, 64));
    }

    #[test]
    fn infinite_credits_never_overflow_nor_update() {
        let mut credits = received(CreditPool::INFINITE, 5000);
        credits.release(Credits::new(1, 8));
        assert!(credits.is_infinite() && !credits.peer_has_less_than(STARVED));
        assert_eq!((credits.limit(), credits.held()), ((0, 0), Credits::NONE));
    }

    #[test]
    fn either_kind_may_be_infinite_alone() {
        for (header, data) in [(None, Some(8)), (Some(2), None), (Some(2), Some(8))] {
            let credits = ReceiveCredits::new(Scale::One, CreditPool { header, data });
            assert!(!credits.is_infinite(), "{header:?} {data:?}");
            assert_eq!(credits.available_to_peer(), CreditPool { header, data });
        }
    }

    /// A link that comes up again initialises flow control anew: PCIe Base §2.6.1, §3.4.1.
    #[test]
    fn a_reset_receiver_is_as_a_new_one() {
        let of = |header, data| ReceiveCredits::new(Scale::Four, CreditPool { header, data });
        for new in [of(Some(9), Some(66)), of(None, Some(66)), of(Some(9), None)] {
            let mut used = new;
            used.receive(Credits::new(4, 32)).expect("credits");
            used.release(Credits::new(4, 32));
            used.mark_reported();
            used.receive(Credits::new(1, 8)).expect("credits");
            assert_ne!(used, new);
            used.reset();
            assert_eq!(used, new);
        }
    }

    #[test]
    fn overflow_is_an_error_that_changes_nothing() {
        let mut credits = received(CreditPool::finite(2, 8), 1);
        let before = credits;
        assert_eq!(credits.receive(Credits::new(1, 1)), Err(Overflow::Data));
        assert_eq!(credits.receive(Credits::new(2, 0)), Err(Overflow::Header));
        assert_eq!(credits, before);
    }

    #[test]
    #[should_panic(expected = "more credits freed")]
    fn a_credit_is_freed_once() {
        let mut credits = received(CreditPool::finite(2, 16), 1);
        credits.release(Credits::new(1, 8));
        credits.release(Credits::new(1, 8));
    }
}
