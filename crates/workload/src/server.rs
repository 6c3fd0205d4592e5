//! Paths that may be without a limit, and what stations side by side have done: readings for results.

use lanewise_fabric::{Book, ResourceId, ResourceReading, Server, Station};
use lanewise_units::{Bytes, Rate, Span, Time};

/// A path that bytes cross at a given rate; or no limit at all.
#[derive(Clone, Debug)]
pub(crate) struct RateServer(Option<Server>);

impl RateServer {
    /// A path of this rate; without one it takes no time.
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self(rate.map(Server::new))
    }

    /// Takes `bytes` that arrive now; returns when the last of them has crossed.
    #[inline]
    pub(crate) fn reserve(&mut self, now: Time, bytes: Bytes) -> Time {
        self.0.as_mut().map_or(now, |server| server.serve(now, bytes))
    }

    /// What it has done up to `at`, under this name; none for a path without a limit.
    pub(crate) fn reading(&self, id: ResourceId, name: String, at: Time) -> Option<ResourceReading> {
        let server = self.0?;
        Some(ResourceReading::of_rate(id, name, server.rate(), server.book_at(at)))
    }

    /// Whether something is crossing, or waits to.
    pub(crate) fn is_busy(&self, now: Time) -> bool {
        self.0.is_some_and(|server| server.is_busy(now))
    }
}

/// What several that serve side by side have done up to `at`, together: cores, dies. `limit` says how much there is of them.
pub(crate) fn reading(
    id: ResourceId,
    name: String,
    limit: String,
    stations: &[Station],
    at: Time,
) -> ResourceReading {
    let book = stations.iter().map(|station| station.book_at(at)).sum();
    ResourceReading { id, name, places: stations.len() as u32, limit, book }
}

/// A buffer under this name: a place for each byte.
pub(crate) fn of_buffer(id: ResourceId, name: String, size: Bytes, book: Book) -> ResourceReading {
    let places = u32::try_from(size.get()).unwrap_or(u32::MAX);
    ResourceReading { id, name, places, limit: size.to_string(), book }
}

/// For how long something has stood still for want of room.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Blocked {
    since: Option<Time>,
    ended: Span,
}

impl Blocked {
    /// It lacks room from `at` on, which may be later than now, if it did not before.
    pub(crate) fn begin(&mut self, at: Time) {
        self.since.get_or_insert(at);
    }

    /// It has room, or lacks something else first.
    pub(crate) fn end(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.ended += now.saturating_since(since);
        }
    }

    pub(crate) fn is_now(&self) -> bool {
        self.since.is_some()
    }

    /// All in all, up to `at`.
    pub(crate) fn up_to(&self, at: Time) -> Span {
        self.ended + self.since.map_or(Span::ZERO, |since| at.saturating_since(since))
    }
}

/// Whether it was ever asked for.
pub(crate) fn asked_for(reading: &ResourceReading) -> bool {
    reading.book.served > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_units::Span;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn bytes_queue_at_the_rate() {
        let mut path = RateServer::new(Some(Rate::from_bytes_per_second(1_000_000_000)));
        assert_eq!(path.reserve(at(0), Bytes::new(100)), at(100));
        assert_eq!(path.reserve(at(50), Bytes::new(100)), at(200));
        assert_eq!(path.reserve(at(500), Bytes::new(100)), at(600));
    }

    #[test]
    fn no_rate_is_no_time() {
        let mut path = RateServer::new(None);
        assert_eq!(path.reserve(at(7), Bytes::from_kib(1024)), at(7));
        assert!(!path.is_busy(at(7)));
    }
}
