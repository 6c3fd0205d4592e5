//! OSU Micro-Benchmarks: `osu_latency`, `osu_bw`, `osu_bibw` between two ranks on two hosts.
//!
//! `osu_bw` sends a window of messages and waits for an answer of 4 B; `osu_bibw` does so from both ranks, without the
//! answer; `osu_latency` goes to and fro and reports half of it. MB are 10⁶ bytes. One size a run; the sweep over sizes
//! is as many runs (`python/lanewise/tools/instruments/sizes.py`).
//! Leaves out: validation, buffers on accelerators.
//! Source: OSU Micro-Benchmarks 5, `mpi/pt2pt`; that 3.1.1 is the same is Assumed.

use super::driver::{At, Driver, FEWEST_TRIPS, Samples, Throughput, ToolNeeds, metric, threads};
use super::mpi::{Mpi, MpiConfig, MpiEvent};
use crate::device::rdma::Completion;
use crate::device::rdma::NicPort;
use crate::host::{MpiHostConfig, VerbsHostConfig};
use crate::load::LoadName;
use crate::load::measured::measured;
use lanewise_fabric::ResourceReading;
use lanewise_fabric::workload::Metric;
use lanewise_observe::FlowId;
use lanewise_units::{Bytes, Span, Time};

/// Which benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OsuTool {
    /// `osu_latency`.
    Latency,
    /// `osu_bw`.
    Bandwidth,
    /// `osu_bibw`.
    BidirectionalBandwidth,
}

/// Settings of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct OsuConfig {
    /// Name of its flows.
    pub name: LoadName,
    /// Which benchmark.
    pub tool: OsuTool,
    /// Ports of rank 0 and rank 1, which a wire joins.
    pub ports: [NicPort; 2],
    /// Their hosts.
    pub hosts: [(VerbsHostConfig, MpiHostConfig); 2],
    /// The library.
    pub mpi: MpiConfig,
    /// Bytes of a message; not zero.
    pub size: Bytes,
    /// Messages of a window.
    pub window: u32,
}

/// The answer to a window.
const ANSWER: Bytes = Bytes::new(4);

/// What a rank has done of the present window.
#[derive(Clone, Copy, Default, Debug)]
struct Progress {
    sent: u32,
    received: u32,
}

/// A benchmark that runs.
#[derive(Debug)]
pub(super) struct Osu {
    config: OsuConfig,
    mpi: Mpi,
    progress: [Progress; 2],
    flow: Option<FlowId>,
    trip_started: Time,
    throughput: Throughput,
    samples: Samples,
}

impl Osu {
    /// # Panics
    /// When a window or a message is empty.
    pub(super) fn new(config: OsuConfig) -> Self {
        assert!(config.size > Bytes::ZERO && config.window > 0, "{}: a message is something", config.name);
        Self {
            mpi: Mpi::new(config.mpi.clone(), config.hosts.clone()),
            config,
            progress: [Progress::default(); 2],
            flow: None,
            trip_started: Time::ZERO,
            throughput: Throughput::default(),
            samples: Samples::default(),
        }
    }

    fn send_window<M: ToolNeeds>(&mut self, rank: usize, at: &mut At<'_, M>) {
        self.progress[rank] = Progress::default();
        for _ in 0..self.config.window {
            self.mpi.send(rank, self.config.size, at);
        }
    }

    /// `osu_bw`: rank 0 sends a window, rank 1 answers when it has all of it.
    fn one_way<M: ToolNeeds>(&mut self, rank: usize, event: MpiEvent, at: &mut At<'_, M>) {
        let window = self.config.window;
        match (rank, event) {
            (1, MpiEvent::Received) => {
                self.progress[1].received += 1;
                if self.progress[1].received == window {
                    self.progress[1].received = 0;
                    self.mpi.send(1, ANSWER, at);
                }
            }
            (0, MpiEvent::Received) => {
                self.window_over(window, at.now());
                self.send_window(0, at);
            }
            _ => {}
        }
    }

    /// `osu_bibw`: each rank starts its next window when it has sent and received the present one.
    fn both_ways<M: ToolNeeds>(&mut self, rank: usize, event: MpiEvent, at: &mut At<'_, M>) {
        let window = self.config.window;
        let progress = &mut self.progress[rank];
        match event {
            MpiEvent::Sent => progress.sent += 1,
            MpiEvent::Received => progress.received += 1,
        }
        if progress.sent >= window && progress.received >= window {
            // What has come of the next window already counts for it.
            let ahead = progress.received - window;
            if rank == 0 {
                self.window_over(2 * window, at.now());
            }
            self.send_window(rank, at);
            self.progress[rank].received = ahead;
        }
    }

    fn window_over(&mut self, messages: u32, now: Time) {
        let messages = u64::from(messages);
        self.throughput.add(now, messages, messages * self.config.size.get());
    }

    /// `osu_latency`: to and fro.
    fn ping_pong<M: ToolNeeds>(&mut self, rank: usize, event: MpiEvent, at: &mut At<'_, M>) {
        if event != MpiEvent::Received {
            return;
        }
        if rank == 0 {
            let now = at.now();
            let latency = Span::from_ticks((now - self.trip_started).ticks() / 2);
            self.samples.add(latency);
            let flow = self.flow.expect("osu_latency has one");
            at.ports.operation_done(flow, latency);
            self.trip_started = now;
        }
        self.mpi.send(rank, self.config.size, at);
    }
}

impl Driver for Osu {
    fn connect<M: ToolNeeds>(&mut self, at: &mut At<'_, M>) {
        let ports = self.config.ports;
        let flows = at.add_end_flows(&self.config.name, ports);
        if self.config.tool == OsuTool::Latency {
            self.flow = Some(at.add_flow(&self.config.name, ports[0].nic, "message"));
        }
        let ends = at.network.connect(ports, flows);
        self.mpi.connected(ends);
    }

    fn start<M: ToolNeeds>(&mut self, at: &mut At<'_, M>) {
        self.mpi.place_buffers(at.network.first_buffer());
        self.trip_started = at.now();
        match self.config.tool {
            OsuTool::Latency => self.mpi.send(0, self.config.size, at),
            OsuTool::Bandwidth => self.send_window(0, at),
            OsuTool::BidirectionalBandwidth => {
                self.send_window(0, at);
                self.send_window(1, at);
            }
        }
    }

    fn completion<M: ToolNeeds>(&mut self, completion: Completion, at: &mut At<'_, M>) {
        self.mpi.completion(completion, at);
    }

    fn timer<M: ToolNeeds>(&mut self, detail: u32, at: &mut At<'_, M>) {
        let Some((rank, event)) = self.mpi.timer(detail, at) else { return };
        match self.config.tool {
            OsuTool::Latency => self.ping_pong(rank, event, at),
            OsuTool::Bandwidth => self.one_way(rank, event, at),
            OsuTool::BidirectionalBandwidth => self.both_ways(rank, event, at),
        }
    }

    fn threads(&self, at: Time) -> Vec<ResourceReading> {
        threads(&self.config.name, self.mpi.threads(), at)
    }

    fn start_measuring(&mut self, _now: Time) {
        self.samples.clear();
        self.throughput = Throughput::default();
    }

    fn has_measured(&self) -> bool {
        match self.config.tool {
            OsuTool::Latency => self.samples.len() >= FEWEST_TRIPS,
            OsuTool::Bandwidth | OsuTool::BidirectionalBandwidth => self.throughput.messages() > 0,
        }
    }

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let size = metric("Size (B)", self.config.size.get() as f64);
        // Without a measurement there is no number, rather than a zero.
        let numbers = match self.config.tool {
            OsuTool::Latency => vec![measured("Latency (us)", self.samples.of(Samples::mean_us))],
            OsuTool::Bandwidth | OsuTool::BidirectionalBandwidth => {
                let (bytes, messages) = self.throughput.rates().unzip();
                vec![
                    measured("Bandwidth (MB/s)", bytes.map(|bytes| bytes / 1e6)),
                    measured("Messages per second", messages),
                ]
            }
        };
        [size].into_iter().chain(numbers.into_iter().flatten()).collect()
    }
}
