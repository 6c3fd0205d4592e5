//! Requests and responses over TCP, which runs in the kernel or in user space: what a database of small records does.
//!
//! A client keeps a number of connections, each with one request in flight; one server thread serves them all. The
//! kernel is told of a segment by an interrupt and wakes the thread; a stack in user space polls. Each send and each
//! receive costs its stack on the thread's core. Segments carry TCP's own acknowledgements.
//! Leaves out: interrupt moderation and the interrupt's own packet, losses, congestion control, stacks on cores of
//! their own, delayed acknowledgements: with one request in flight they travel with responses.

use super::driver::{At, Driver, FEWEST_TRIPS, Samples, Throughput, ToolNeeds, quantile_us, threads};
use crate::device::rdma::NicPort;
use crate::device::rdma::{Completion, CompletionKind, EndId, HOST_MEMORY, Opcode, WorkRequest};
use crate::host::memory::PAGE;
use crate::load::LoadName;
use crate::load::measured::measured;
use lanewise_fabric::workload::Metric;
use lanewise_fabric::{ResourceReading, Station};
use lanewise_observe::FlowId;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// What a TCP costs on a core.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpStackConfig {
    /// Core time from the call of send to the doorbell.
    pub send_cost: Span,
    /// Core time from a segment seen to its data in the application.
    pub receive_cost: Span,
    /// From a completion entry at the root port until the thread goes on, when it waits: polling, or interrupt and
    /// wake-up.
    pub wake_latency: Span,
}

/// Settings of the instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionsConfig {
    /// Name of its flows.
    pub name: LoadName,
    /// Ports of client and server, which a wire joins.
    pub ports: [NicPort; 2],
    /// Their stacks.
    pub stacks: [TcpStackConfig; 2],
    /// Bytes of a request; not zero.
    pub request: Bytes,
    /// Bytes of a response; not zero.
    pub response: Bytes,
    /// Connections, each with one request in flight; at least one.
    pub connections: u32,
    /// The server's own work on a request.
    pub service_time: Span,
}

/// Client or server: its thread, and connections whose messages it has not dealt with.
#[derive(Clone, Debug)]
struct Party {
    thread: Station,
    waiting: VecDeque<usize>,
}

/// The instrument while it runs.
#[derive(Debug)]
pub(super) struct Transactions {
    config: TransactionsConfig,
    parties: [Party; 2],
    ends: Vec<[EndId; 2]>,
    started: Vec<Time>,
    base: u64,
    flow: Option<FlowId>,
    samples: Samples,
    throughput: Throughput,
}

impl Transactions {
    /// # Panics
    /// When a message is empty or nobody asks.
    pub(super) fn new(config: TransactionsConfig) -> Self {
        let least = config.request.min(config.response);
        assert!(least > Bytes::ZERO && config.connections > 0, "{}: somebody asks something", config.name);
        let party = || Party { thread: Station::default(), waiting: VecDeque::new() };
        Self {
            parties: [party(), party()],
            ends: Vec::new(),
            started: vec![Time::ZERO; config.connections as usize],
            base: 0,
            flow: None,
            samples: Samples::default(),
            throughput: Throughput::default(),
            config,
        }
    }

    /// A party sends on a connection, after `work` of its own.
    fn send<M: ToolNeeds>(&mut self, party: usize, connection: usize, work: Span, at: &mut At<'_, M>) {
        let stack = &self.config.stacks[party];
        let length = if party == 0 { self.config.request } else { self.config.response };
        let done = self.parties[party].thread.occupy(at.now(), work + stack.send_cost);
        let stride = self.config.request.max(self.config.response).round_up_to(PAGE);
        let buffer = self.base + connection as u64 * stride.get();
        let request = WorkRequest {
            opcode: Opcode::Datagram,
            length,
            local: buffer,
            remote: buffer,
            memory: HOST_MEMORY,
            inline: false,
            signaled: false,
            id: connection as u64,
        };
        at.post(done, self.ends[connection][party], request);
    }

    /// The client has a response.
    fn answered<M: ToolNeeds>(&mut self, connection: usize, at: &mut At<'_, M>) {
        let now = at.now();
        let latency = now - self.started[connection];
        self.samples.add(latency);
        self.throughput.add(now, 1, (self.config.request + self.config.response).get());
        let flow = self.flow.expect("made when it connected");
        at.ports.operation_done(flow, latency);
        self.started[connection] = now;
        self.send(0, connection, Span::ZERO, at);
    }
}

impl Driver for Transactions {
    fn connect<M: ToolNeeds>(&mut self, at: &mut At<'_, M>) {
        let ports = self.config.ports;
        let flows = at.add_end_flows(&self.config.name, ports);
        self.flow = Some(at.add_flow(&self.config.name, ports[0].nic, "transaction"));
        for _ in 0..self.config.connections {
            self.ends.push(at.network.connect(ports, flows));
        }
    }

    fn start<M: ToolNeeds>(&mut self, at: &mut At<'_, M>) {
        self.base = at.network.first_buffer();
        for connection in 0..self.ends.len() {
            self.started[connection] = at.now();
            self.send(0, connection, Span::ZERO, at);
        }
    }

    fn completion<M: ToolNeeds>(&mut self, completion: Completion, at: &mut At<'_, M>) {
        if completion.kind != CompletionKind::Received {
            return;
        }
        let connection = completion.id as usize;
        let party = usize::from(self.ends[connection][1] == completion.end);
        let stack = &self.config.stacks[party];
        let state = &mut self.parties[party];
        // A thread that is busy finds the segment when it is done, and need not be woken.
        let awake = if state.thread.is_busy(at.now()) { at.now() } else { at.now() + stack.wake_latency };
        let done = state.thread.occupy(awake, stack.receive_cost);
        state.waiting.push_back(connection);
        at.set_timer(done, party as u32);
    }

    fn timer<M: ToolNeeds>(&mut self, detail: u32, at: &mut At<'_, M>) {
        let party = detail as usize;
        let connection = self.parties[party].waiting.pop_front().expect("a timer for each message");
        match party {
            0 => self.answered(connection, at),
            _ => self.send(1, connection, self.config.service_time, at),
        }
    }

    fn threads(&self, at: Time) -> Vec<ResourceReading> {
        threads(&self.config.name, self.parties.iter().map(|party| &party.thread), at)
    }

    fn start_measuring(&mut self, _now: Time) {
        self.samples.clear();
        self.throughput = Throughput::default();
    }

    fn has_measured(&self) -> bool {
        self.samples.len() >= FEWEST_TRIPS
    }

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let sorted = self.samples.sorted();
        let half = |samples: &Samples| samples.mean_us() / 2.0;
        let metrics = [
            measured("Transactions per second", self.throughput.rates().map(|(_, messages)| messages)),
            measured("Mean response time (us)", self.samples.of(Samples::mean_us)),
            measured("Median response time (us)", self.samples.of(|_| quantile_us(&sorted, 0.5))),
            measured("99 % response time (us)", self.samples.of(|_| quantile_us(&sorted, 0.99))),
            measured("Half round trip (us)", self.samples.of(half)),
        ];
        metrics.into_iter().flatten().collect()
    }
}
