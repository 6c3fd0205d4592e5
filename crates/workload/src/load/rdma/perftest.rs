//! perftest: `ib_write_bw`, `ib_read_bw`, `ib_send_bw` and their `_lat` sisters.
//!
//! Bandwidth: a thread posts to its queue pairs in turn, up to a depth, and polls for completions of every so many
//! requests; the receiver of sends takes each and posts a receive request anew, between two lists where it sends too. Latency:
//! `write` and `send` go back and forth, half a round trip is reported; `read` is one trip. A writer's peer polls the last byte, a
//! sender's the completion entry, and posts a receive request before it answers.
//! The peak of a bandwidth test is that of [`super::peak`].
//! Leaves out: start-up handshakes, huge page and NUMA choices, events instead of polling, fewer
//! reads outstanding than the adapter allows (`-o`), limits of the rate, and `-O`, which is a test on each of two networks.
//! Source: perftest (github.com/linux-rdma/perftest), its manual page and README; MB there are 2²⁰ bytes.

mod side;

use self::side::{Pair, Side};
use super::driver::{
    At, Driver, FEWEST_TRIPS, Samples, Throughput, ToolNeeds, metric, quantile_us, taking, threads,
};
use super::peak::{MOST_ITERATIONS, Peak};
use crate::device::rdma::NicPort;
use crate::device::rdma::{Completion, CompletionKind, EndId, Opcode, WorkRequest};
use crate::host::VerbsHostConfig;
use crate::host::memory::PAGE;
use crate::load::LoadName;
use lanewise_fabric::workload::{Metric, Target};
use lanewise_fabric::{ResourceReading, Station};
use lanewise_observe::FlowId;
use lanewise_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Which test.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PerftestTool {
    /// `ib_write_bw`.
    WriteBandwidth,
    /// `ib_read_bw`.
    ReadBandwidth,
    /// `ib_send_bw`.
    SendBandwidth,
    /// `ib_write_lat`.
    WriteLatency,
    /// `ib_read_lat`.
    ReadLatency,
    /// `ib_send_lat`.
    SendLatency,
}

impl PerftestTool {
    /// Whether it measures latency.
    pub const fn is_latency(self) -> bool {
        matches!(self, Self::WriteLatency | Self::ReadLatency | Self::SendLatency)
    }

    const fn opcode(self) -> Opcode {
        match self {
            Self::WriteBandwidth => Opcode::Write,
            Self::WriteLatency => Opcode::WritePolled,
            Self::ReadBandwidth | Self::ReadLatency => Opcode::Read,
            Self::SendBandwidth | Self::SendLatency => Opcode::Send,
        }
    }
}

/// Settings of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct PerftestConfig {
    /// Name of its flows.
    pub name: LoadName,
    /// Which test.
    pub tool: PerftestTool,
    /// Ports of client and server, which a wire joins.
    pub ports: [NicPort; 2],
    /// Their hosts.
    pub hosts: [VerbsHostConfig; 2],
    /// Where their buffers are: in memory of the host, or of a device that the adapter reaches peer to peer (`--use_cuda`).
    pub memory: [Target; 2],
    /// `-s`: bytes of a message; not zero.
    pub size: Bytes,
    /// `-n`: messages of each queue pair.
    pub iterations: u32,
    /// `-q`: queue pairs; latency tests have one.
    pub queue_pairs: u32,
    /// `-l`: requests posted with one doorbell.
    pub post_list: u32,
    /// `-t`: requests posted and not completed, of each queue pair.
    pub tx_depth: u32,
    /// `-Q`: a completion entry for every so many requests.
    pub completion_moderation: u32,
    /// `-I`: largest message that is sent inline.
    pub inline_size: Bytes,
    /// `-b`: both sides send.
    pub bidirectional: bool,
}

/// Bytes of perftest's MB.
const MEBIBYTE: f64 = 1_048_576.0;

/// A test that runs.
#[derive(Debug)]
pub(super) struct Perftest {
    config: PerftestConfig,
    sides: Vec<Side>,
    /// Side and queue pair of each end.
    places: BTreeMap<EndId, (usize, usize)>,
    base: u64,
    /// Flow of the messages of a latency test.
    flow: Option<FlowId>,
    cycle_started: Time,
    cycles: u32,
    samples: Samples,
}

/// Timers: what, and whose, in the lowest bit.
const POST: u32 = 0;
const POLL: u32 = 2;

impl Perftest {
    /// # Panics
    /// When there is nothing to send, or nothing may be sent.
    pub(super) fn new(config: PerftestConfig) -> Self {
        assert!(config.size > Bytes::ZERO, "{}: a message is something", config.name);
        let least = config.iterations.min(config.queue_pairs).min(config.tx_depth);
        assert!(least > 0 && config.completion_moderation > 0, "{}: nothing to do", config.name);
        let held = config.completion_moderation - 1 + config.post_list;
        assert!(config.post_list > 0 && held <= config.tx_depth, "{}: never a completion", config.name);
        let sides = config.hosts.iter().map(|host| Side {
            host: host.clone(),
            thread: Station::default(),
            pairs: Vec::new(),
            turn: 0,
            posting: false,
            first_post: None,
            last_look: Time::ZERO,
            peak: (config.iterations <= MOST_ITERATIONS).then(Peak::default),
            polled: VecDeque::new(),
            received: 0,
        });
        Self {
            sides: sides.collect(),
            places: BTreeMap::new(),
            config,
            base: 0,
            flow: None,
            cycle_started: Time::ZERO,
            cycles: 0,
            samples: Samples::default(),
        }
    }

    /// Buffers are aligned to pages and each queue pair has its own, which all its messages use.
    fn request(&self, side: usize, pair: usize, id: u32) -> WorkRequest {
        let opcode = self.config.tool.opcode();
        let stride = self.config.size.round_up_to(PAGE).get();
        let buffer = self.base + pair as u64 * stride;
        let last = id + 1 == self.config.iterations;
        let latency = self.config.tool.is_latency();
        WorkRequest {
            opcode,
            length: self.config.size,
            local: buffer,
            remote: buffer,
            memory: [side, 1 - side].map(|side| self.config.memory[side]),
            inline: opcode != Opcode::Read && self.config.size <= self.config.inline_size,
            signaled: latency || last || (id + 1).is_multiple_of(self.config.completion_moderation),
            id: u64::from(id),
        }
    }

    /// Posts the next request of a bandwidth test, if any queue pair has room.
    fn post_next<M: ToolNeeds>(&mut self, side: usize, at: &mut At<'_, M>) {
        let config = &self.config;
        let state = &mut self.sides[side];
        state.take_received(at.now());
        let count = state.pairs.len();
        let list = |pair: &Pair| config.post_list.min(config.iterations - pair.posted);
        let open = |pair: &Pair| {
            let list = list(pair);
            list > 0 && pair.posted - pair.completed + list <= config.tx_depth
        };
        let turn = (0..count).map(|step| (state.turn + step) % count).find(|pair| open(&state.pairs[*pair]));
        let Some(turn) = turn else {
            state.posting = false;
            return;
        };
        state.posting = true;
        state.turn = (turn + 1) % count;
        let list = list(&state.pairs[turn]);
        let each = state.host.post_cost;
        let made = state.thread.occupy(at.now(), each * u64::from(list));
        let done = state.thread.occupy(made, state.host.doorbell_cost);
        // When the thread begins with it, which may have other work to end first.
        let begun = made - each * u64::from(list);
        state.first_post.get_or_insert(begun);
        if let Some(peak) = &mut state.peak {
            (0..list).for_each(|number| peak.posted(begun + each * u64::from(number)));
        }
        let pair = &mut state.pairs[turn];
        let (end, first) = (pair.end, pair.posted);
        pair.posted += list;
        at.post_list(made, end, (first..first + list).map(|id| self.request(side, turn, id)));
        at.set_timer(done, POST + side as u32);
    }

    /// The sides that post in a bandwidth test.
    fn posting_sides(&self) -> impl Iterator<Item = &Side> {
        self.sides.iter().take(1 + usize::from(self.config.bidirectional))
    }

    /// Starts a trip of a latency test from one side.
    fn post_one<M: ToolNeeds>(&mut self, side: usize, at: &mut At<'_, M>) {
        let state = &mut self.sides[side];
        let made = state.thread.occupy(at.now(), state.host.post_cost);
        state.thread.occupy(made, state.host.doorbell_cost);
        let end = state.pairs[0].end;
        at.post(made, end, self.request(side, 0, self.cycles));
    }

    /// The thread of a side has looked at what came.
    fn look<M: ToolNeeds>(&mut self, side: usize, at: &mut At<'_, M>) {
        if self.config.tool.is_latency() {
            return self.trip_over(side, at);
        }
        let now = at.now();
        let state = &mut self.sides[side];
        let (pair, id) = state.polled.pop_front().expect("a timer for each completion");
        let pair = &mut state.pairs[pair];
        let messages = u64::from(id + 1 - pair.completed);
        pair.completed = id + 1;
        pair.throughput.add(now, messages, messages * self.config.size.get());
        state.last_look = now;
        if let Some(peak) = &mut state.peak {
            peak.completed(now, messages);
        }
        if !state.posting {
            self.post_next(side, at);
        }
    }

    /// A message of a latency test has arrived at a side.
    fn trip_over<M: ToolNeeds>(&mut self, side: usize, at: &mut At<'_, M>) {
        if side == 1 {
            return self.post_one(1, at);
        }
        let now = at.now();
        let trip = now - self.cycle_started;
        let one_way = self.config.tool != PerftestTool::ReadLatency;
        let latency = if one_way { Span::from_ticks(trip.ticks() / 2) } else { trip };
        self.samples.add(latency);
        let flow = self.flow.expect("latency tests have one");
        at.ports.operation_done(flow, latency);
        self.cycles += 1;
        self.cycle_started = now;
        if self.cycles < self.config.iterations {
            self.post_one(0, at);
        }
    }

    /// Whether what a side sees is what its thread waits for.
    fn is_awaited(&self, kind: CompletionKind) -> bool {
        match self.config.tool {
            PerftestTool::WriteLatency => kind == CompletionKind::Written,
            PerftestTool::SendLatency => kind == CompletionKind::Received,
            _ => kind == CompletionKind::Done,
        }
    }
}

impl Driver for Perftest {
    fn connect<M: ToolNeeds>(&mut self, at: &mut At<'_, M>) {
        let ports = self.config.ports;
        let flows = at.add_end_flows(&self.config.name, ports);
        if self.config.tool.is_latency() {
            self.flow = Some(at.add_flow(&self.config.name, ports[0].nic, "message"));
        }
        for _ in 0..self.config.queue_pairs {
            for (side, end) in at.network.connect(ports, flows).into_iter().enumerate() {
                self.places.insert(end, (side, self.sides[side].pairs.len()));
                self.sides[side].pairs.push(Pair {
                    end,
                    posted: 0,
                    completed: 0,
                    throughput: Throughput::default(),
                });
            }
        }
    }

    fn start<M: ToolNeeds>(&mut self, at: &mut At<'_, M>) {
        self.base = at.network.first_buffer();
        if self.config.tool.is_latency() {
            self.cycle_started = at.now();
            return self.post_one(0, at);
        }
        self.post_next(0, at);
        if self.config.bidirectional {
            self.post_next(1, at);
        }
    }

    fn completion<M: ToolNeeds>(&mut self, completion: Completion, at: &mut At<'_, M>) {
        let (side, pair) = self.places[&completion.end];
        let awaited = self.is_awaited(completion.kind);
        let state = &mut self.sides[side];
        let seen = at.now() + state.host.poll_latency;
        if !awaited {
            if self.config.tool == PerftestTool::SendBandwidth {
                state.received += 1;
                if !state.posting {
                    state.take_received(seen);
                }
            }
            return;
        }
        state.polled.push_back((pair, completion.id as u32));
        let done = state.thread.occupy(seen, taking(&state.host, completion.kind));
        at.set_timer(done, POLL + side as u32);
    }

    fn timer<M: ToolNeeds>(&mut self, detail: u32, at: &mut At<'_, M>) {
        let side = (detail & 1) as usize;
        if detail & POLL == 0 {
            self.post_next(side, at);
        } else {
            self.look(side, at);
        }
    }

    fn threads(&self, at: Time) -> Vec<ResourceReading> {
        threads(&self.config.name, self.sides.iter().map(|side| &side.thread), at)
    }

    fn start_measuring(&mut self, _now: Time) {
        self.samples.clear();
        for side in &mut self.sides {
            for pair in &mut side.pairs {
                pair.throughput = Throughput::default();
            }
            if let Some(peak) = &mut side.peak {
                peak.start_measuring();
            }
        }
    }

    fn has_measured(&self) -> bool {
        if self.config.tool.is_latency() {
            return self.samples.len() >= FEWEST_TRIPS || self.cycles >= self.config.iterations;
        }
        self.posting_sides().all(|side| side.average(self.config.iterations).is_some())
    }

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let size = metric("bytes (B)", self.config.size.get() as f64);
        if self.config.tool.is_latency() {
            let known = [size, metric("iterations", self.samples.len() as f64)];
            if self.samples.len() == 0 {
                return known.into();
            }
            let sorted = self.samples.sorted();
            let latencies = [
                metric("t_min (us)", quantile_us(&sorted, 0.0)),
                metric("t_max (us)", quantile_us(&sorted, 1.0)),
                metric("t_typical (us)", quantile_us(&sorted, 0.5)),
                metric("t_avg (us)", self.samples.mean_us()),
                metric("t_stdev (us)", self.samples.deviation_us()),
                metric("99 % percentile (us)", quantile_us(&sorted, 0.99)),
                metric("99.9 % percentile (us)", quantile_us(&sorted, 0.999)),
            ];
            return known.into_iter().chain(latencies).collect();
        }
        let messages: u64 = self.posting_sides().map(|side| side.messages(self.config.iterations)).sum();
        let mut metrics = vec![size, metric("iterations", messages as f64)];
        let averages: Option<Vec<f64>> =
            self.posting_sides().map(|side| side.average(self.config.iterations)).collect();
        // Without a measurement there is no number, rather than a zero.
        let Some(averages) = averages else { return metrics };
        let peak: f64 = self.posting_sides().zip(&averages).map(|(side, average)| side.peak(*average)).sum();
        let rate: f64 = averages.iter().sum();
        let bandwidth = rate * self.config.size.get() as f64;
        let peak = peak * self.config.size.get() as f64;
        metrics.extend([
            metric("BW peak (MiB/s)", peak / MEBIBYTE),
            metric("BW average (MiB/s)", bandwidth / MEBIBYTE),
            metric("BW average (Gb/s)", bandwidth * 8e-9),
            metric("MsgRate (Mpps)", rate / 1e6),
        ]);
        metrics
    }
}
