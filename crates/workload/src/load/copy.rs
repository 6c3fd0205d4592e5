//! Copies between host memory and a device, or between two devices, by the device's copy engines or by its kernels.
//!
//! A stream has one copy under way at a time and starts the next as it ends, as bandwidthTest and nvbandwidth time them. A copy
//! costs an overhead before its first request (driver, submission, engine or kernel start), its data, and what its end takes to
//! be known. Streams share the engines of a direction in turn; copies of one engine follow each other. From or to pageable
//! memory, a copy goes through buffers that a core of the host fills or empties chunk by chunk, while the engine moves others.
//! Leaves out: copies that are queued behind each other within a stream, memory of the device as a limit of its own (that is
//! `memory_read_rate` and the like of the endpoint), translation of addresses inside the device.

use crate::latency::LatencyTally;
use crate::load::{Demand, LoadConfig, Tool};
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::token::{self, kinds};
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::workload::{ChannelId, DeviceId, Direction, Metric, Notify, Target, Transfer, Workload};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Rate, Span, Time};

/// One way that copies go.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyWay {
    /// Name of its flow: `host-to-device`, `device-to-host`, `peer write`, `peer read`.
    pub word: &'static str,
    /// What the device does for it.
    pub direction: Direction,
    /// With whose memory.
    pub target: Target,
}

/// How copies of pageable memory are staged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Staging {
    /// Rate at which a core copies between pageable memory and a buffer.
    pub rate: Rate,
    /// Bytes of a buffer.
    pub chunk: Bytes,
    /// Buffers of a stream.
    pub buffers: u32,
    /// Time of a core for each chunk beside its bytes.
    pub cost: Span,
}

/// Settings of a copy instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyConfig {
    /// Name of its flows.
    pub name: String,
    /// The device that copies.
    pub device: DeviceId,
    /// Its name.
    pub device_name: String,
    /// Which ways, at the same time; at least one.
    pub ways: Vec<CopyWay>,
    /// Units and bytes in flight of an engine.
    pub engine: EngineConfig,
    /// Engines of each way; at least one.
    pub engines: u32,
    /// Time of each copy before its first request.
    pub overhead: Span,
    /// Time from the last byte until the copy is known to be over.
    pub completion: Span,
    /// Bytes of a copy; several are measured one after another.
    pub sizes: Vec<Bytes>,
    /// Copies of each size in each stream; none for as many as the run has time for, of one size.
    pub copies: Option<u32>,
    /// Streams of each way; at least one.
    pub streams: u32,
    /// Buffers between, for pageable memory.
    pub staging: Option<Staging>,
}

kinds! {
    /// What a timer or transfer was for. The subject is a stream.
    pub(crate) enum Step {
        /// The overhead of a copy has passed.
        Begun,
        /// Data have been moved by the engine.
        Moved,
        /// A core has copied a chunk.
        Staged,
        /// The end of a copy is known.
        Ended,
    }
}

type Token = token::Token<Step>;
needs!(pub(crate) Needs: Timers, Dma, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Step>;

/// A copy as chunks: how many have gone how far.
#[derive(Clone, Copy, Default, Debug)]
struct Chunks {
    all: u64,
    submitted: u64,
    moved: u64,
    staging: bool,
    staged: u64,
}

#[derive(Debug)]
struct Stream {
    way: usize,
    channel: ChannelId,
    started: Time,
    /// Copies of this size that it has begun.
    begun: u32,
    /// First byte of its memory.
    offset: u64,
    chunks: Chunks,
}

/// What was measured of one size and way.
#[derive(Clone, Copy, Default, Debug)]
struct Measured {
    bytes: u64,
    since: Option<Time>,
    until: Time,
    latency: LatencyTally,
}

/// The copy instrument.
#[derive(Debug)]
pub struct CopyWorkload {
    config: CopyConfig,
    flows: Vec<FlowId>,
    streams: Vec<Stream>,
    /// Which size is being measured.
    phase: usize,
    /// Streams that have copies of this size to make.
    busy: usize,
    /// By size, then by way.
    measured: Vec<Vec<Measured>>,
}

/// Memory of one stream.
const STREAM_SPAN: u64 = 1 << 32;

impl CopyWorkload {
    /// An instrument with nothing under way yet.
    ///
    /// # Panics
    /// When there is no way, engine, stream or size, a size or chunk is zero, or several sizes would never end.
    pub fn new(config: CopyConfig) -> Self {
        let CopyConfig { name, ways, engines, streams, sizes, copies, .. } = &config;
        assert!(!ways.is_empty() && *engines > 0 && *streams > 0, "{name}: nobody copies");
        assert!(sizes.iter().all(|size| *size > Bytes::ZERO) && !sizes.is_empty(), "{name}: nothing to copy");
        assert!(copies.map_or(sizes.len() == 1, |copies| copies > 0), "{name}: a size without an end");
        let chunks = config.staging.is_none_or(|staging| staging.chunk > Bytes::ZERO && staging.buffers > 0);
        assert!(chunks, "{name}: no buffer to stage in");
        let measured = vec![vec![Measured::default(); ways.len()]; sizes.len()];
        Self { config, flows: Vec::new(), streams: Vec::new(), phase: 0, busy: 0, measured }
    }

    fn open<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        for (way, CopyWay { word, .. }) in self.config.ways.iter().enumerate() {
            self.flows.push(ports.add_flow(FlowSpec {
                name: self.config.name.clone(),
                device: self.config.device_name.clone(),
                direction: word,
                latency: LatencyOf::Operation,
            }));
            let open = |_| ports.open_channel_with(self.config.device, &self.config.engine);
            let channels: Vec<ChannelId> = (0..self.config.engines).map(open).collect();
            for stream in 0..self.config.streams {
                let channel = channels[(stream % self.config.engines) as usize];
                let offset = self.streams.len() as u64 * STREAM_SPAN;
                let (started, chunks) = (Time::ZERO, Chunks::default());
                self.streams.push(Stream { way, channel, started, begun: 0, offset, chunks });
            }
        }
    }

    fn size(&self) -> Bytes {
        self.config.sizes[self.phase]
    }

    /// Bytes that the engine moves at a time.
    fn chunk(&self) -> Bytes {
        self.config.staging.map_or(self.size(), |staging| staging.chunk.min(self.size()))
    }

    /// Every stream begins with copies of the present size.
    fn start_phase<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        self.busy = self.streams.len();
        for measured in &mut self.measured[self.phase] {
            measured.since = self.config.copies.map(|_| ports.now());
        }
        for stream in 0..self.streams.len() {
            self.streams[stream].begun = 0;
            self.start_copy(stream, ports);
        }
    }

    fn start_copy<M: Needs>(&mut self, stream: usize, ports: &mut Ports<'_, M>) {
        let all = self.size().div_ceil(self.chunk());
        let now = ports.now();
        let it = &mut self.streams[stream];
        it.started = now;
        it.begun += 1;
        it.chunks = Chunks { all, ..Chunks::default() };
        self.after(self.config.overhead, Step::Begun, stream, ports);
    }

    /// Goes on with a step after some time, or at once.
    fn after<M: Needs>(&mut self, delay: Span, step: Step, stream: usize, ports: &mut Ports<'_, M>) {
        if delay.is_zero() {
            self.step(step, stream, ports);
        } else {
            ports.set_timer(ports.now() + delay, Token::of(step, stream as u32));
        }
    }

    fn step<M: Needs>(&mut self, step: Step, stream: usize, ports: &mut Ports<'_, M>) {
        let chunks = &mut self.streams[stream].chunks;
        match step {
            Step::Begun => {}
            Step::Moved => chunks.moved += 1,
            Step::Staged => {
                chunks.staged += 1;
                chunks.staging = false;
            }
            Step::Ended => return self.copy_ended(stream, ports),
        }
        if self.is_moved(stream) {
            return self.after(self.config.completion, Step::Ended, stream, ports);
        }
        self.go_on(stream, ports);
    }

    /// Whether all of a copy is where it was to go.
    fn is_moved(&self, stream: usize) -> bool {
        let chunks = self.streams[stream].chunks;
        chunks.moved == chunks.all && (self.config.staging.is_none() || chunks.staged == chunks.all)
    }

    /// Starts whatever of a copy can be started: the core's next chunk, the engine's next.
    fn go_on<M: Needs>(&mut self, stream: usize, ports: &mut Ports<'_, M>) {
        let Chunks { all, submitted, moved, staging, staged } = self.streams[stream].chunks;
        let Some(buffers) = self.config.staging else {
            if submitted == 0 {
                self.submit(stream, ports);
            }
            return;
        };
        let room = u64::from(buffers.buffers);
        let to_device = self.config.ways[self.streams[stream].way].direction == Direction::Read;
        // What a core may start, and how many chunks the engine may have been given.
        let (may_stage, may_submit) = match to_device {
            true => (staged < all && staged - moved < room, staged),
            false => (staged < moved, (staged + room).min(all)),
        };
        if !staging && may_stage {
            let took = buffers.cost + buffers.rate.span_ceil(self.bytes_of(staged));
            self.streams[stream].chunks.staging = true;
            ports.set_timer(ports.now() + took, Token::of(Step::Staged, stream as u32));
        }
        for _ in submitted..may_submit {
            self.submit(stream, ports);
        }
    }

    /// Bytes of a chunk.
    fn bytes_of(&self, chunk: u64) -> Bytes {
        self.size().saturating_sub(self.chunk() * chunk).min(self.chunk())
    }

    /// Gives the engine the next chunk of a copy.
    fn submit<M: Needs>(&mut self, stream: usize, ports: &mut Ports<'_, M>) {
        let number = self.streams[stream].chunks.submitted;
        let length = self.bytes_of(number);
        let it = &mut self.streams[stream];
        it.chunks.submitted += 1;
        let CopyWay { direction, target, .. } = self.config.ways[it.way];
        let buffer = self.config.staging.map_or(0, |staging| number % u64::from(staging.buffers));
        let transfer = Transfer {
            direction,
            target,
            offset: it.offset + buffer * length.get(),
            length,
            flow: self.flows[it.way],
            token: Token::of(Step::Moved, stream as u32),
            notify: Notify::Done,
        };
        ports.submit(it.channel, transfer);
    }

    fn copy_ended<M: Needs>(&mut self, stream: usize, ports: &mut Ports<'_, M>) {
        let (now, size) = (ports.now(), self.size());
        let Stream { way, started, begun, .. } = self.streams[stream];
        ports.operation_done(self.flows[way], now - started);
        let measured = &mut self.measured[self.phase][way];
        measured.latency.add(now - started);
        match measured.since {
            // Whole copies only: the first of an endless row ends when measuring begins.
            None => measured.since = Some(now),
            Some(_) => measured.bytes += size.get(),
        }
        measured.until = now;
        if self.config.copies.is_none_or(|copies| begun < copies) {
            return self.start_copy(stream, ports);
        }
        self.busy -= 1;
        if self.busy == 0 && self.phase + 1 < self.config.sizes.len() {
            self.phase += 1;
            self.start_phase(ports);
        }
    }

    fn is_over(&self) -> bool {
        self.busy == 0 && self.phase + 1 == self.config.sizes.len()
    }
}

impl<M: Needs> Instrument<M> for CopyWorkload {
    type Kind = Step;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.open(ports);
        self.start_phase(ports);
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind: step, subject: stream, .. } = event.token();
        self.step(step, stream as usize, ports);
    }
}

impl Workload for CopyWorkload {
    called_by_fabric!();

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let several = self.config.sizes.len() > 1;
        for (size, by_way) in self.config.sizes.iter().zip(&self.measured) {
            for (way, measured) in self.config.ways.iter().zip(by_way) {
                let what = if several { format!("{} {size}", way.word) } else { way.word.to_owned() };
                metrics.extend(measured.metrics(&what));
            }
        }
        metrics
    }

    fn has_ended(&self) -> Option<bool> {
        self.config.copies.map(|_| self.is_over())
    }

    fn start_measuring(&mut self, _now: Time) {
        if self.config.copies.is_none() {
            self.measured.iter_mut().flatten().for_each(|measured| *measured = Measured::default());
        }
    }
}

impl Measured {
    /// GB/s are 10^9 bytes a second, as bandwidthTest and nvbandwidth print them. Of no copy, a rate and latencies say nothing.
    fn metrics(&self, what: &str) -> Vec<Metric> {
        let span = self.since.map_or(Span::ZERO, |since| self.until.saturating_since(since));
        let rate = if span.is_zero() { 0.0 } else { self.bytes as f64 / span.as_seconds() / 1e9 };
        let us = Span::from_us(1);
        let metric = |unit: &str, value| Metric { name: format!("{what} {unit}"), value };
        let copies = metric("copies", self.latency.count() as f64);
        if self.latency.count() == 0 {
            return vec![copies];
        }
        vec![
            metric("(GB/s)", rate),
            metric("mean latency of a copy (us)", self.latency.mean(us)),
            metric("least latency of a copy (us)", self.latency.least(us)),
            metric("largest latency of a copy (us)", self.latency.largest(us)),
            copies,
        ]
    }
}

impl LoadConfig for CopyConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(CopyWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        Tool::one(&self.name, "copy")
    }

    fn demands(&self) -> Vec<Demand> {
        vec![Demand { operations: u64::from(self.streams), of: format!("{}.streams", self.name) }]
    }

    fn peer_memory(&self) -> Vec<(DeviceId, Bytes)> {
        let largest = self.sizes.iter().copied().max().unwrap_or(Bytes::ZERO);
        let peer = |way: &CopyWay| match way.target {
            Target::Endpoint(device) => Some((device, largest)),
            Target::HostMemory | Target::Nobody => None,
        };
        self.ways.iter().filter_map(peer).collect()
    }
}

#[cfg(test)]
mod tests;
