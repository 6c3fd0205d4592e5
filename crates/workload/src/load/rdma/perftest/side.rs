//! Client or server of a test: its thread, its queue pairs, and what came of them.

use crate::device::rdma::EndId;
use crate::host::VerbsHostConfig;
use crate::load::rdma::driver::Throughput;
use crate::load::rdma::peak::Peak;
use lanewise_fabric::Station;
use lanewise_units::{Span, Time};
use std::collections::VecDeque;

/// Shortest time between two completions of a pair that makes a rate: the thread sees them a little sooner or later, by
/// what it does besides and by what is before their entries on the link.
const SHORTEST_WINDOW: Span = Span::from_us(200);

/// One queue pair, seen from the side that posts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) end: EndId,
    pub(super) posted: u32,
    pub(super) completed: u32,
    /// Between its first and its last completion in the measured window. Requests of a pair end in order, so what ends
    /// after the first completion has crossed the wire after what that one told of: the rates of the pairs, added up,
    /// are what the wire carries, however many of them end together.
    pub(super) throughput: Throughput,
}

/// Client or server.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) host: VerbsHostConfig,
    pub(super) thread: Station,
    pub(super) pairs: Vec<Pair>,
    /// Queue pair whose turn it is.
    pub(super) turn: usize,
    /// A timer for the end of the present piece of work is running.
    pub(super) posting: bool,
    /// When its first request was posted, and when its last completion was seen.
    pub(super) first_post: Option<Time>,
    pub(super) last_look: Time,
    /// For the peak; none when the test is too long for the tool to look for one.
    pub(super) peak: Option<Peak>,
    /// Received and not yet looked at: completions of each pair, in order.
    pub(super) polled: VecDeque<(usize, u32)>,
    /// Messages of the other side's sends that it has not taken.
    pub(super) received: u64,
}

impl Side {
    /// The thread takes what it received, and posts as many receive requests.
    pub(super) fn take_received(&mut self, at: Time) {
        let messages = std::mem::take(&mut self.received);
        if messages > 0 {
            self.thread.occupy(at, self.host.receive_cost * messages);
        }
    }

    /// Best rate from a post to a completion, messages a second; zero where the tool looks for none. The tool's average
    /// is from its first post to its last completion, so it is never above the peak; ours is over a window of a longer
    /// test, which leaves out the wait of the first message, so that it is the limit of both. It is all there is when
    /// no message was both posted and completed in the window.
    pub(super) fn peak(&self, average: f64) -> f64 {
        let Some(peak) = &self.peak else { return 0.0 };
        let rate = |(messages, span): (u64, Span)| messages as f64 / span.as_seconds();
        peak.best().map_or(0.0, rate).max(average)
    }

    /// Messages that an average is of.
    pub(super) fn messages(&self, iterations: u32) -> u64 {
        if self.is_over(iterations) {
            return u64::from(iterations) * self.pairs.len() as u64;
        }
        self.pairs.iter().map(|pair| pair.throughput.messages()).sum()
    }

    pub(super) fn is_over(&self, iterations: u32) -> bool {
        self.pairs.iter().all(|pair| pair.completed == iterations)
    }

    /// Messages a second: of a test that is over what the tool prints, all of it from the first post to the last
    /// completion; else what its pairs do in the measured window. None before each of them has done something.
    pub(super) fn average(&self, iterations: u32) -> Option<f64> {
        if self.is_over(iterations) {
            return Some(self.messages(iterations) as f64 / (self.last_look - self.first_post?).as_seconds());
        }
        // When some have ended, the others go faster: that is no rate of all of them.
        let moving = |pair: &Pair| pair.throughput.span() >= SHORTEST_WINDOW && pair.completed < iterations;
        let rate = |pair: &Pair| pair.throughput.rates().map(|(_, messages)| messages);
        self.pairs.iter().map(|pair| rate(pair).filter(|_| moving(pair))).sum()
    }
}
