//! Throughput and latency of one flow.

use crate::latency::{LatencySummary, LatencyTally};
use lanewise_units::{Bytes, Span};

/// Which workload of a scenario something belongs to: its place in the file, from 0. One may stand for several loads, one on each of its
/// devices, and one load for several workloads, such as all jobs of fio.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct WorkloadEntry(pub u32);

/// What a flow is called and what its latency means.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Name in results.
    pub name: String,
    /// Which workload asks for it.
    pub entry: WorkloadEntry,
    /// Devices that the flow belongs to.
    pub devices: FlowDevices,
    /// `read`, `write`, or the instrument's own word.
    pub direction: &'static str,
    /// What its latencies are of.
    pub latency: LatencyOf,
    /// Whether another flow counts the same bytes, so that a sum over all leaves these out: an adapter reads what goes over a wire, and
    /// the one at the other end writes it.
    pub repeats: bool,
}

/// Devices that a flow belongs to, one or several.
#[derive(Clone, Debug)]
pub struct FlowDevices {
    /// Their names.
    pub names: Vec<String>,
    /// As results have them: `ssd[0]`, `ssd[0]+ssd[1]`, or the ports of a way, `nic0.0 > nic0.1`.
    pub label: String,
}

impl FlowDevices {
    /// Several that a flow belongs to alike.
    pub fn together(names: Vec<String>) -> Self {
        Self { label: names.join("+"), names }
    }
}

impl<Name: Into<String>> From<Name> for FlowDevices {
    fn from(name: Name) -> Self {
        let label = name.into();
        Self { names: vec![label.clone()], label }
    }
}

impl std::fmt::Display for FlowDevices {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.label)
    }
}

/// `direction` of a flow that carries no data: doorbells, commands, descriptors.
pub const CONTROL: &str = "control";

/// Which latencies are those of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LatencyOf {
    /// One entry per request (TLP): reads from issue to last completion, writes from issue to arrival, both tail.
    Request,
    /// One entry per operation as its instrument counts it.
    Operation,
    /// Requests, and operations apart from them. What the flow counts are its requests.
    Both,
    /// The same of operations that follow each other with pauses between: what is moved in a part of one says nothing about its rate.
    BothInTurn,
    /// One entry per frame of a network.
    Frame,
    /// One entry per frame of a picture, each of which begins when the one before it ends.
    FrameInTurn,
}

impl LatencyOf {
    /// Whether operations are apart from requests.
    fn is_both(self) -> bool {
        matches!(self, Self::Both | Self::BothInTurn)
    }

    /// Whether operations follow each other, so that few are open at a time.
    pub fn is_in_turn(self) -> bool {
        matches!(self, Self::BothInTurn | Self::FrameInTurn)
    }

    /// What a flow counts, in a word.
    fn counted(self) -> &'static str {
        match self {
            Self::Request | Self::Both | Self::BothInTurn => "requests",
            Self::Operation => "operations",
            Self::Frame | Self::FrameInTurn => "frames",
        }
    }
}

/// Requests for which a long operation counts again.
const LONG: u64 = 1 << 14;

/// Payload and latencies of one flow since the window started; what every packet changes is in the first cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct FlowTally {
    payload: u64,
    counts_requests: bool,
    latency: LatencyTally,
    /// Of operations, where they are apart from requests.
    whole: Option<Box<LatencyTally>>,
    /// Whether any request was complete before the window started.
    made_requests: bool,
    /// Name and meaning.
    pub spec: FlowSpec,
}

impl FlowTally {
    pub(crate) fn new(spec: FlowSpec) -> Self {
        Self {
            payload: 0,
            counts_requests: spec.latency == LatencyOf::Request || spec.latency.is_both(),
            latency: LatencyTally::default(),
            whole: spec.latency.is_both().then(Box::default),
            made_requests: false,
            spec,
        }
    }

    pub(crate) fn restart(&mut self) {
        let made_requests = self.made_requests || self.latency.count() > 0;
        *self = Self { made_requests, ..Self::new(self.spec.clone()) };
    }

    #[inline]
    pub(crate) fn deliver(&mut self, payload: Bytes) {
        self.payload += payload.get();
    }

    /// A request is complete, which counts when the flow's latencies are those of requests.
    #[inline]
    pub(crate) fn request_done(&mut self, latency: Span) {
        if self.counts_requests {
            self.latency.enter(latency);
        }
    }

    /// An operation is complete.
    #[inline]
    pub(crate) fn operation_done(&mut self, latency: Span) {
        match &mut self.whole {
            None => self.latency.enter(latency),
            Some(whole) => whole.enter(latency),
        }
    }

    /// Payload delivered.
    pub fn payload(&self) -> Bytes {
        Bytes::new(self.payload)
    }

    /// Whether operations alone are counted of a flow that has both: no requests are made over a side link. An operation whose
    /// requests were complete before the window started says nothing about that.
    fn is_without_requests(&self) -> bool {
        let has_none = !self.made_requests && self.latency.count() == 0;
        has_none && self.whole.as_ref().is_some_and(|whole| whole.count() > 0)
    }

    /// What the flow counts, in a word.
    pub fn counted(&self) -> &'static str {
        if self.is_without_requests() { "operations" } else { self.spec.latency.counted() }
    }

    /// Requests or operations completed, whichever the flow counts.
    pub fn operations(&self) -> u64 {
        self.latencies().count()
    }

    /// The same per second, where `seconds` were measured. Of frames in turn, over the time that the whole ones took: the first has
    /// begun before the measured time did, and at its end one is not done.
    pub fn operations_per_second(&self, seconds: f64) -> f64 {
        let time = match self.spec.latency {
            LatencyOf::FrameInTurn => self.latency_sum_seconds(),
            _ => seconds,
        };
        self.operations() as f64 / time.max(f64::MIN_POSITIVE)
    }

    /// Sum of all latencies, for Little's law.
    pub fn latency_sum_seconds(&self) -> f64 {
        self.latencies().sum_seconds()
    }

    /// Largest latency, ns; zero when there was none.
    pub fn latency_max_ns(&self) -> f64 {
        self.latencies().max_ns()
    }

    /// Summary of the latencies of what the flow counts; all zero when there were none.
    pub fn latency(&self) -> LatencySummary {
        self.latencies().summary()
    }

    /// Latencies of what the flow counts.
    pub fn latencies(&self) -> &LatencyTally {
        if self.is_without_requests() { self.widest() } else { &self.latency }
    }

    /// Latencies of operations, where they are apart from requests.
    pub fn operation_latencies(&self) -> Option<&LatencyTally> {
        self.whole.as_deref().filter(|_| !self.is_without_requests())
    }

    /// How often something was done that has to be done several times before a rate says anything: what the flow counts, or, where
    /// pauses are between them, operations. Of these a long one counts for as many as it has [`LONG`] requests, but no more
    /// than `most_of_one`.
    pub fn rounds(&self, most_of_one: u64) -> u64 {
        match (&self.whole, self.spec.latency) {
            (Some(whole), LatencyOf::BothInTurn) => {
                let whole = whole.count();
                (self.operations() / LONG).clamp(whole, most_of_one * whole)
            }
            _ => self.operations(),
        }
    }

    /// Latencies of operations; of requests where the flow has no others.
    pub fn widest(&self) -> &LatencyTally {
        self.whole.as_ref().map_or(&self.latency, |whole| whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    fn flow(latency: LatencyOf) -> FlowTally {
        FlowTally::new(FlowSpec {
            name: "f".into(),
            entry: WorkloadEntry::default(),
            devices: "d".into(),
            direction: "read",
            latency,
            repeats: false,
        })
    }

    #[test]
    fn what_every_packet_changes_is_in_one_cache_line() {
        assert_eq!(offset_of!(FlowTally, latency), 16);
    }

    #[test]
    fn frames_in_turn_have_the_rate_of_whole_ones() {
        let two_of_20_ms = |latency| {
            let mut flow = flow(latency);
            (0..2).for_each(|_| flow.operation_done(Span::from_ms(20)));
            flow.operations_per_second(0.03)
        };
        assert_eq!(two_of_20_ms(LatencyOf::FrameInTurn), 50.0);
        assert_eq!(two_of_20_ms(LatencyOf::Operation), 2.0 / 0.03);
        assert_eq!(flow(LatencyOf::FrameInTurn).operations_per_second(0.03), 0.0);
    }

    #[test]
    fn what_moves_without_requests_counts_operations() {
        let mut flow = flow(LatencyOf::BothInTurn);
        assert_eq!((flow.counted(), flow.operations()), ("requests", 0));
        flow.operation_done(Span::from_ns(30));
        assert_eq!((flow.counted(), flow.operations(), flow.latency_max_ns()), ("operations", 1, 30.0));
        assert!(flow.operation_latencies().is_none());
        flow.request_done(Span::from_ns(10));
        assert_eq!((flow.counted(), flow.operations(), flow.latency_max_ns()), ("requests", 1, 10.0));
        assert_eq!(flow.operation_latencies().map(LatencyTally::count), Some(1));
    }

    #[test]
    fn an_operation_whose_requests_were_before_the_window_is_not_one_without() {
        let mut flow = flow(LatencyOf::Both);
        flow.request_done(Span::from_ns(10));
        for _ in 0..2 {
            flow.restart();
            flow.operation_done(Span::from_ms(1));
            assert_eq!((flow.counted(), flow.operations()), ("requests", 0));
        }
    }

    #[test]
    fn a_long_operation_counts_for_several() {
        for (requests, copies, rounds) in
            [(100, 10, 10), (5 * LONG, 10, 10), (40 * LONG, 10, 40), (200 * LONG, 10, 80), (LONG, 0, 0)]
        {
            let mut flow = flow(LatencyOf::BothInTurn);
            (0..requests).for_each(|_| flow.request_done(Span::from_ns(1)));
            (0..copies).for_each(|_| flow.operation_done(Span::from_ms(1)));
            assert_eq!(flow.rounds(8), rounds, "{requests} requests of {copies}");
            assert_eq!(flow.rounds(1), copies, "{requests} requests of {copies}");
        }
    }

    #[test]
    fn operations_are_apart_from_requests_where_both_are_asked_for() {
        for (of, counted, apart, rounds) in [
            (LatencyOf::Request, 2, None, 2),
            (LatencyOf::Operation, 1, None, 1),
            (LatencyOf::Both, 2, Some(1), 2),
            (LatencyOf::BothInTurn, 2, Some(1), 1),
        ] {
            let mut flow = flow(of);
            [10, 20].into_iter().for_each(|ns| flow.request_done(Span::from_ns(ns)));
            if of != LatencyOf::Request {
                flow.operation_done(Span::from_ns(30));
            }
            assert_eq!(flow.operations(), counted, "{of:?}");
            assert_eq!(flow.operation_latencies().map(LatencyTally::count), apart, "{of:?}");
            assert_eq!(flow.rounds(8), rounds, "{of:?}");
        }
    }
}
