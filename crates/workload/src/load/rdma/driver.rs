//! What an instrument over the network has at hand: the network, the machine, and timers of its own.

use crate::device::rdma as network;
use crate::device::rdma::NicPort;
use crate::device::rdma::RdmaNetwork;
use crate::device::rdma::{Completion, CompletionKind, EndId, WorkRequest};
use crate::flows::{Flows, Repeats};
use crate::host::VerbsHostConfig;
use crate::load::LoadName;
use crate::load::measured::per;
use crate::ports::{self, needs};
use crate::server::reading;
use crate::token::{self, Joined, kinds};
use lanewise_fabric::workload::Metric;
use lanewise_fabric::{LoadPart, ResourceId, ResourceReading, Station};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Span, Time, order};

kinds! {
    /// What may happen to a tool by itself.
    pub(crate) enum Kind {
        /// A timer of its own. Its detail; the number of the tool.
        Timer,
    }
}

/// That, or something of the network's.
pub(crate) type Kinds = Joined<Kind, network::Kind>;
type Token = token::Token<Kinds>;

needs!(pub(crate) ToolNeeds: Timers, Dma, Mmio, Tally);

/// One tool between two ports.
pub(super) trait Driver {
    /// Called once, when adapters are ready: make connections and flows.
    fn connect<M: ToolNeeds>(&mut self, at: &mut At<'_, M>);
    /// Called once, when every tool has connected: buffers may be placed, requests posted.
    fn start<M: ToolNeeds>(&mut self, at: &mut At<'_, M>);
    /// Software of one of its ends sees something.
    fn completion<M: ToolNeeds>(&mut self, completion: Completion, at: &mut At<'_, M>);
    /// A timer of its own.
    fn timer<M: ToolNeeds>(&mut self, detail: u32, at: &mut At<'_, M>);
    /// Its threads, with what they have done up to `at`.
    fn threads(&self, at: Time) -> Vec<ResourceReading>;
    /// The warm-up is over.
    fn start_measuring(&mut self, now: Time);
    /// Whether it has measured enough for a report.
    fn has_measured(&self) -> bool;
    /// What the tool prints.
    fn report(&self, window: (Time, Time)) -> Vec<Metric>;
}

/// Everything around a tool while it acts.
pub(super) struct At<'a, M> {
    pub network: &'a mut RdmaNetwork,
    pub ports: ports::Ports<'a, M, Kinds>,
    /// Number of the tool, for its timers.
    pub tool: u32,
}

impl<M: ToolNeeds> At<'_, M> {
    pub(super) fn now(&self) -> Time {
        self.ports.now()
    }

    /// [`Driver::timer`] is called at `at`, which is not before now.
    pub(super) fn set_timer(&mut self, at: Time, detail: u32) {
        self.ports.set_timer(at, Token::with(Kind::Timer, detail, self.tool));
    }

    pub(super) fn post(&mut self, at: Time, end: EndId, request: WorkRequest) {
        self.network.post(at, end, request, &mut self.ports.second());
    }

    pub(super) fn post_list(
        &mut self,
        at: Time,
        end: EndId,
        requests: impl IntoIterator<Item = WorkRequest>,
    ) {
        self.network.post_list(at, end, requests, &mut self.ports.second());
    }

    /// A flow of one adapter, for operations of the tool.
    pub(super) fn add_flow(&mut self, name: &LoadName, nic: usize, direction: &'static str) -> FlowId {
        let device = self.network.config().nics[nic].name.clone();
        let latency = LatencyOf::Operation;
        self.ports.add_flow(FlowSpec {
            name: name.to_string(),
            entry: name.entry(),
            devices: device.into(),
            direction,
            latency,
            repeats: false,
        })
    }

    /// Flows for the traffic of a tool at both of its ports.
    pub(super) fn add_end_flows(&mut self, name: &LoadName, ports: [NicPort; 2]) -> [Flows; 2] {
        let nics = &self.network.config().nics;
        let at = |port: NicPort| {
            let name_of_nic = &nics[port.nic].name;
            Flows::add(name, name_of_nic, LatencyOf::Request, Repeats::READ, &mut self.ports)
        };
        ports.map(at)
    }
}

/// Core time to take what software sees.
pub(super) fn taking(host: &VerbsHostConfig, kind: CompletionKind) -> Span {
    match kind {
        CompletionKind::Received => host.receive_cost,
        CompletionKind::Done | CompletionKind::Written => host.poll_cost,
    }
}

/// The threads of a tool at its two ends, with what they have done up to `at`.
pub(super) fn threads<'t>(
    name: &str,
    threads: impl IntoIterator<Item = &'t Station>,
    at: Time,
) -> Vec<ResourceReading> {
    let of = |((part, side), thread): ((LoadPart, &str), &'t Station)| {
        let (id, thread) = (ResourceId::of_load(name, part), std::slice::from_ref(thread));
        reading(id, format!("{name}.{side}"), "one thread".to_owned(), thread, at)
    };
    let sides = [(LoadPart::FirstThread, "first_thread"), (LoadPart::SecondThread, "second_thread")];
    sides.into_iter().zip(threads).map(of).collect()
}

/// Fewest trips that a latency is reported from.
pub(super) const FEWEST_TRIPS: usize = 20;

/// A number of a report.
pub(super) fn metric(name: &str, value: f64) -> Metric {
    Metric { name: name.to_owned(), value }
}

/// What ended in the measured window: how much, between the first and the last.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Throughput {
    messages: u64,
    bytes: u64,
    first: Option<Time>,
    last: Time,
}

impl Throughput {
    /// So many messages with so many bytes are seen to have ended.
    pub(super) fn add(&mut self, now: Time, messages: u64, bytes: u64) {
        // What ended at the first look began before the window.
        if self.first.is_none() {
            self.first = Some(now);
        } else {
            self.messages += messages;
            self.bytes += bytes;
        }
        self.last = now;
    }

    /// Time from the first to the last look.
    pub(super) fn span(&self) -> Span {
        self.first.map_or(Span::ZERO, |first| self.last.saturating_since(first))
    }

    /// Bytes and messages a second; none before two looks.
    pub(super) fn rates(&self) -> Option<(f64, f64)> {
        let seconds = self.span().as_seconds();
        Some((per(self.bytes as f64, seconds)?, per(self.messages as f64, seconds)?))
    }

    pub(super) fn messages(&self) -> u64 {
        self.messages
    }
}

/// Latencies in the measured window, kept one by one: tools print exact medians.
#[derive(Clone, Default, Debug)]
pub(super) struct Samples {
    taken: Vec<Span>,
}

impl Samples {
    pub(super) fn add(&mut self, sample: Span) {
        self.taken.push(sample);
    }

    pub(super) fn clear(&mut self) {
        self.taken.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.taken.len()
    }

    /// What a figure is of them; none of none.
    pub(super) fn of(&self, figure: impl Fn(&Self) -> f64) -> Option<f64> {
        (!self.taken.is_empty()).then(|| figure(self))
    }

    pub(super) fn mean_us(&self) -> f64 {
        let sum: f64 = self.taken.iter().map(|sample| us(*sample)).sum();
        if self.taken.is_empty() { 0.0 } else { sum / self.taken.len() as f64 }
    }

    /// Standard deviation of the sample.
    pub(super) fn deviation_us(&self) -> f64 {
        if self.taken.len() < 2 {
            return 0.0;
        }
        let mean = self.mean_us();
        let squares: f64 = self.taken.iter().map(|sample| (us(*sample) - mean).powi(2)).sum();
        (squares / (self.taken.len() - 1) as f64).sqrt()
    }

    /// The samples in order, from which [`quantile_us`] picks.
    pub(super) fn sorted(&self) -> Vec<Span> {
        let mut sorted = self.taken.clone();
        order::sort(&mut sorted);
        sorted
    }
}

/// The sample that this part of all others does not exceed.
pub(super) fn quantile_us(sorted: &[Span], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let index = ((sorted.len() as f64 * part).ceil() as usize).saturating_sub(1).min(last);
    sorted.get(index).map_or(0.0, |sample| us(*sample))
}

fn us(span: Span) -> f64 {
    span.as_seconds() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_between_the_first_and_the_last_look() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut throughput = Throughput::default();
        throughput.add(at(10), 5, 5000);
        throughput.add(at(11), 1, 1000);
        throughput.add(at(13), 1, 1000);
        let (bytes, messages) = throughput.rates().expect("three looks");
        assert!((bytes - 2000.0 / 3e-6).abs() < 1.0 && (messages - 2.0 / 3e-6).abs() < 1e-3);
    }

    #[test]
    fn quantiles_are_samples() {
        let mut samples = Samples::default();
        for us in [4, 1, 3, 2] {
            samples.add(Span::from_us(us));
        }
        let sorted = samples.sorted();
        assert_eq!([0.0, 0.5, 0.75, 1.0].map(|part| quantile_us(&sorted, part)), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(samples.mean_us(), 2.5);
        assert!((samples.deviation_us() - 1.291).abs() < 1e-3);
        assert_eq!(quantile_us(&[], 0.5), 0.0);
    }
}
