//! Copies between host memory and a device, or between two devices, by the device's copy engines or by its kernels.
//!
//! A stream starts the next copy as one ends: by a program that waits for each, or by the engine where copies are queued, as
//! bandwidthTest and nvbandwidth have them. What a copy is made of, and what is left out, is in [`crate::device::gpu`].

use crate::device::gpu::{Copies, CopyCosts, Kind, Way};
use crate::latency::LatencyTally;
use crate::load::{Demand, Draft, Enlarge, LoadConfig, LoadName, Owner, Reached, Step, Tool};
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::server::asked_for;
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::workload::{DeviceId, Direction, DmaQueueId, Metric, Target, Workload};
use lanewise_fabric::{LoadPart, ResourceId, ResourceReading};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, Time};

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

/// Settings of a copy instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyConfig {
    /// Name of its flows.
    pub name: LoadName,
    /// The device that copies.
    pub device: DeviceId,
    /// Its name.
    pub device_name: String,
    /// Which ways, at the same time; at least one.
    pub ways: Vec<CopyWay>,
    /// Whether kernels of the device copy, rather than its copy engines.
    pub is_kernel: bool,
    /// Units and bytes in flight of an engine.
    pub engine: EngineConfig,
    /// Engines of each way; at least one.
    pub engines: u32,
    /// What each costs beside its data.
    pub costs: CopyCosts,
    /// Bytes of a copy; several are measured one after another.
    pub sizes: Vec<Bytes>,
    /// Copies of each size in each stream; none for as many as the run has time for, of one size.
    pub copies: Option<u32>,
    /// Streams of each way; at least one.
    pub streams: u32,
    /// Whether copies of a stream are queued: their overhead is the engine's, not that of software.
    pub queued: bool,
}

needs!(pub(crate) Needs: Timers, Dma, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

#[derive(Debug)]
struct Stream {
    way: usize,
    started: Time,
    /// Copies of this size that it has begun.
    begun: u32,
}

/// What was measured of one size in one stream. Copies of a stream follow each other, so what ends after the first has ended was
/// moved since then, however many streams end together.
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
    copies: Copies,
    /// As they are numbered there.
    streams: Vec<Stream>,
    /// Which size is being measured.
    phase: usize,
    /// Streams that have copies of this size to make.
    busy: usize,
    /// By size, then by stream.
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
        assert!(config.costs.can_stage(), "{name}: no buffer to stage in");
        let measured = vec![vec![Measured::default(); ways.len() * *streams as usize]; sizes.len()];
        Self {
            config,
            flows: Vec::new(),
            copies: Copies::default(),
            streams: Vec::new(),
            phase: 0,
            busy: 0,
            measured,
        }
    }

    fn open<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        for (way, CopyWay { word, direction, target }) in self.config.ways.iter().enumerate() {
            self.flows.push(ports.add_flow(FlowSpec {
                name: self.config.name.to_string(),
                entry: self.config.name.entry(),
                devices: self.config.device_name.as_str().into(),
                direction: word,
                latency: LatencyOf::BothInTurn,
                repeats: false,
            }));
            let open = |_| ports.open_queue_with(self.config.device, &self.config.engine);
            let dma_queues: Vec<DmaQueueId> = (0..self.config.engines).map(open).collect();
            for stream in 0..self.config.streams {
                let dma_queue = dma_queues[(stream % self.config.engines) as usize];
                let offset = self.streams.len() as u64 * STREAM_SPAN;
                let (direction, target, flow) = (*direction, *target, self.flows[way]);
                let CopyConfig { costs, queued, .. } = self.config;
                self.copies.open(Way { direction, target, dma_queue, flow, offset, costs, queued });
                self.streams.push(Stream { way, started: Time::ZERO, begun: 0 });
            }
        }
    }

    fn size(&self) -> Bytes {
        self.config.sizes[self.phase]
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
        let it = &mut self.streams[stream];
        it.started = ports.now();
        it.begun += 1;
        self.copies.start(stream as u32, self.size(), ports);
    }

    fn copy_ended<M: Needs>(&mut self, stream: usize, ports: &mut Ports<'_, M>) {
        let (now, size) = (ports.now(), self.size());
        let Stream { way, started, begun, .. } = self.streams[stream];
        ports.operation_done(self.flows[way], now - started);
        let measured = &mut self.measured[self.phase][stream];
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
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.open(ports);
        self.start_phase(ports);
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        self.copies.react(event, ports);
        while let Some(stream) = self.copies.poll() {
            self.copy_ended(stream as usize, ports);
        }
    }
}

impl Workload for CopyWorkload {
    called_by_fabric!();

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let several = self.config.sizes.len() > 1;
        for (size, by_stream) in self.config.sizes.iter().zip(&self.measured) {
            let by_way = by_stream.chunks(self.config.streams as usize);
            for (way, measured) in self.config.ways.iter().zip(by_way) {
                let what = if several { format!("{} {size}", way.word) } else { way.word.to_owned() };
                metrics.extend(metrics_of_way(&what, measured, self.config.copies.is_some()));
            }
        }
        metrics
    }

    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let part = if self.config.queued { "gap" } else { "core" };
        let (id, name) = (self.config.between_copies(), format!("{}.{part}", self.config.name));
        self.copies.software(id, name, at).into_iter().filter(asked_for).collect()
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
    fn span(&self) -> Span {
        self.since.map_or(Span::ZERO, |since| self.until.saturating_since(since))
    }
}

/// Bytes a second of a way: of a list all that has ended over its time; of endless rows what each stream does, added up. None
/// before each has done something.
fn rate(streams: &[Measured], is_list: bool) -> Option<f64> {
    if is_list {
        let span = streams.iter().map(Measured::span).max().filter(|span| !span.is_zero())?;
        return Some(streams.iter().map(|stream| stream.bytes).sum::<u64>() as f64 / span.as_seconds());
    }
    let rates = streams.iter().map(|stream| {
        let span = stream.span();
        (!span.is_zero()).then(|| stream.bytes as f64 / span.as_seconds())
    });
    rates.sum()
}

/// GB/s are 10^9 bytes a second, as bandwidthTest and nvbandwidth print them. Of no copy, a rate and latencies say nothing.
fn metrics_of_way(what: &str, streams: &[Measured], is_list: bool) -> Vec<Metric> {
    let latency = streams.iter().fold(LatencyTally::default(), |sum, stream| sum.plus(stream.latency));
    let us = Span::from_us(1);
    let metric = |unit: &str, value| Metric { name: format!("{what} {unit}"), value };
    let rate = rate(streams, is_list).map(|rate| metric("(GB/s)", rate / 1e9));
    let copies = metric("copies", latency.count() as f64);
    if latency.count() == 0 {
        return vec![copies];
    }
    let latencies = [
        metric("mean latency of a copy (us)", latency.mean(us)),
        metric("least latency of a copy (us)", latency.least(us)),
        metric("largest latency of a copy (us)", latency.largest(us)),
    ];
    rate.into_iter().chain(latencies).chain([copies]).collect()
}

impl CopyConfig {
    /// What is at work between copies: the host's software for its streams, or the engine itself.
    fn between_copies(&self) -> ResourceId {
        ResourceId::of_load(&self.name, if self.queued { LoadPart::QueuedCopies } else { LoadPart::Copies })
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
        vec![Tool::of(&self.name, "copy")]
    }

    fn demands(&self) -> Vec<Demand> {
        vec![Demand { operations: u64::from(self.streams), of: format!("{}.streams", self.name) }]
    }

    fn posts_only(&self) -> bool {
        true
    }

    /// More copies at a time, and more of each in flight.
    fn more_outstanding(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        (self.device == device).then(|| {
            larger.count(&mut self.streams);
            self.engine.outstanding.iter_mut().for_each(|bytes| larger.bytes(bytes));
        })
    }

    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        if *resource != self.between_copies() {
            return None;
        }
        let CopyCosts { overhead, call, completion, staging } = &mut self.costs;
        larger.shorten_all([overhead, call, completion]);
        if let Some(staging) = staging {
            larger.rate(&mut staging.rate);
            larger.shorten(&mut staging.cost);
        }
        Some(())
    }

    /// What copies cost beside their data: of the parts of that the longer first; or more of them at a time.
    fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        if *resource != self.between_copies() {
            return Vec::new();
        }
        let (what, overhead) = match (self.queued, self.is_kernel) {
            (true, _) => ("half the time between copies", "copy_engine.gap"),
            (false, true) => ("half the overhead of a copy", "kernel.overhead"),
            (false, false) if self.costs.call > self.costs.overhead => {
                ("half the time of the runtime's call", "copy_engine.call")
            }
            (false, false) => ("half the overhead of a copy", "copy_engine.overhead"),
        };
        let mut drafts = vec![Draft::one(what, Owner::Device(self.device), overhead, Step::Halve)];
        if let Some(staging) = self.costs.staging {
            let bytes = self.sizes.iter().copied().max().unwrap_or_default();
            let chunks = bytes.div_ceil(staging.chunk.min(bytes)) as f64;
            let staged = staging.rate.span_ceil(bytes).as_seconds() + chunks * staging.cost.as_seconds();
            let host = Owner::HostAbove(self.device);
            let rate = "twice the rate at which a core stages copies";
            drafts.push(Draft::one(rate, host, "pageable.copy_rate", Step::Double));
            let chunk = "half the time of a core for each chunk";
            drafts.push(Draft::one(chunk, host, "pageable.chunk_cost", Step::Halve));
            if staged > self.costs.overhead.max(self.costs.call).as_seconds() {
                drafts.rotate_left(1);
            }
        }
        // Copies of one engine follow each other, whatever stream queues them.
        if !self.queued {
            let streams = Owner::Workload(self.name.entry());
            drafts.push(Draft::one("twice as many streams", streams, "streams", Step::Double));
        }
        drafts
    }

    fn targets(&self) -> Vec<Reached<'_>> {
        let peer = |way: &CopyWay| match way.target {
            Target::Endpoint(device) => Some(Reached { flow: &self.name, by: Some(self.device), device }),
            Target::HostMemory | Target::Nobody => None,
        };
        self.ways.iter().filter_map(peer).collect()
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
