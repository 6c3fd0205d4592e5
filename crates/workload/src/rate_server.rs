//! A path that bytes cross one after another at a given rate: arithmetic instead of events.

use lanewise_units::{Bytes, Rate, Span, Time};

/// First come, first served, at a rate; or no limit at all.
#[derive(Clone, Debug)]
pub(crate) struct RateServer {
    rate: Option<Rate>,
    free_at: Time,
}

impl RateServer {
    /// A server of this rate; without one it takes no time.
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self { rate, free_at: Time::ZERO }
    }

    /// Takes `bytes` that arrive now; returns when the last of them has crossed.
    #[inline]
    pub(crate) fn reserve(&mut self, now: Time, bytes: Bytes) -> Time {
        match self.rate {
            None => now,
            Some(rate) => self.occupy(now, rate.span_ceil(bytes)),
        }
    }

    /// Whether something is crossing, or waits to.
    pub(crate) fn is_busy(&self, now: Time) -> bool {
        self.free_at > now
    }

    /// Keeps the server busy for `span` from the earliest time it is free; returns the end.
    #[inline]
    pub(crate) fn occupy(&mut self, now: Time, span: Span) -> Time {
        self.free_at = self.free_at.max(now) + span;
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_queue_for_the_server_and_idle_time_is_lost() {
        let mut server = RateServer::new(Some(Rate::from_bytes_per_second(1_000_000_000)));
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        assert_eq!(server.reserve(at(0), Bytes::new(100)), at(100));
        assert_eq!(server.reserve(at(50), Bytes::new(100)), at(200));
        assert_eq!(server.reserve(at(500), Bytes::new(100)), at(600));
    }

    #[test]
    fn no_rate_is_no_time() {
        let now = Time::ZERO + Span::from_ns(7);
        assert_eq!(RateServer::new(None).reserve(now, Bytes::from_kib(1024)), now);
    }
}
