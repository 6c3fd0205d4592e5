//! Cores that read and write lines of a memory expander: as many at a time as they can, or one after the other.
//!
//! A stream is what STREAM, Intel MLC and Mess do to memory: each core goes through lines of its own, some part of its accesses being
//! stores, and has as many in flight as it has buffers for; a pause after each access makes the load lighter, of one length or of a mean
//! length. A pointer chase is a
//! load whose address is in the line before: one in flight for each core, at random addresses. Bytes are those of lines that memory
//! reads and writes; a cached store is one of each. Latency is from issue to the data at the core, or the answer to the write.
//! Sources: J. McCalpin, STREAM; Intel Memory Latency Checker; Esmaili-Dokht et al., A Mess of Memory System Benchmarking, MICRO 2024. Left out:
//! what cores do with the data, page tables, and that lines of one page are near each other.

use crate::host::lines::{LineBuffers, Purpose, Store};
use crate::load::measured::{measured, per};
use crate::load::{Demand, Draft, Enlarge, LoadConfig, LoadName, Owner, Step, Tool};
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::token::{self, kinds};
use lanewise_engine::random::RandomStream;
use lanewise_fabric::ports::{LINE, LineAccess};
use lanewise_fabric::workload::{DeviceId, Direction, Metric, Workload};
use lanewise_fabric::{LoadPart, ResourceId, ResourceReading};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, TICKS_PER_NS, Time};

/// Parts that a share of stores is counted in.
pub const WHOLE: u64 = 1_000_000;

/// What the cores do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamKind {
    /// Lines one after another, many in flight.
    Stream,
    /// Loads that each wait for the one before.
    PointerChase,
}

impl StreamKind {
    /// Its word in scenarios.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::PointerChase => "pointer-chase",
        }
    }
}

/// Settings of a stream or a pointer chase.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamConfig {
    /// Name of its flows.
    pub name: LoadName,
    /// Which of the two it is.
    pub kind: StreamKind,
    /// The memory expander.
    pub device: DeviceId,
    /// The expander's name.
    pub device_name: String,
    /// Cores; at least one.
    pub cores: u32,
    /// Lines that each core has in flight; at least one.
    pub outstanding: u32,
    /// Accesses of a million that are stores.
    pub stores: u64,
    /// What a store does.
    pub store: Store,
    /// Least time between the starts of two accesses of a core.
    pub interval: Span,
    /// Whether that is a mean, and the spans are exponentially distributed.
    pub is_interval_random: bool,
    /// Memory of each core; a multiple of a line, and not zero.
    pub span: Bytes,
    /// Whether addresses are random.
    pub is_random: bool,
}

kinds! {
    /// What may happen.
    pub(crate) enum Kind {
        /// A core may access the next line. The subject is the core.
        Next,
        /// A line is done. The subject is its slot.
        Line,
    }
}

type Token = token::Token<Kind>;
needs!(pub(crate) Needs: Timers, CxlMem, Tally, Randomness);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

/// What a core does next.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    /// Lines that it has begun to access.
    accesses: u64,
    /// Stores that are owed, in parts of [`WHOLE`].
    owed: u64,
    /// When it may access the next.
    next_at: Time,
    is_timed: bool,
}

/// Lines since the last report began.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    loads: u64,
    stores: u64,
    reads: u64,
    writes: u64,
    /// From issue to the data, of all loads together, in ticks.
    loading: u128,
}

/// The instrument.
#[derive(Debug)]
pub struct StreamWorkload {
    config: StreamConfig,
    buffers: LineBuffers,
    courses: Vec<Course>,
    random: Option<RandomStream>,
    pace: Option<RandomStream>,
    flows: Option<[FlowId; 2]>,
    counts: Counts,
}

impl StreamWorkload {
    /// One with nothing in flight yet.
    ///
    /// # Panics
    /// When a number or the span is zero, or the share of stores is more than all.
    pub fn new(config: StreamConfig) -> Self {
        assert!(config.cores > 0 && config.outstanding > 0, "{}: nothing in flight", config.name);
        assert!(
            config.span >= LINE && config.stores <= WHOLE,
            "{}: no memory, or too many stores",
            config.name
        );
        let buffers = LineBuffers::new(config.cores, config.outstanding);
        let courses = vec![Course::default(); config.cores as usize];
        Self { config, buffers, courses, random: None, pace: None, flows: None, counts: Counts::default() }
    }

    /// A core accesses lines for as long as it has buffers, and as its pace allows.
    fn go_on<M: Needs>(&mut self, core: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        while self.buffers.has_room(core) {
            let course = &mut self.courses[core as usize];
            if course.next_at > now {
                if !std::mem::replace(&mut course.is_timed, true) {
                    ports.set_timer(course.next_at, Token::of(Kind::Next, core));
                }
                return;
            }
            let interval = self.config.interval;
            course.next_at = now + self.pace.as_mut().map_or(interval, |pace| pace.exponential(interval));
            let (purpose, address) = self.next_access(core);
            let slot = self.buffers.take(core, purpose, address, now);
            self.issue(slot, ports);
        }
    }

    fn next_access(&mut self, core: u32) -> (Purpose, u64) {
        let lines = self.config.span.div_floor(LINE);
        let course = &mut self.courses[core as usize];
        let place = match &mut self.random {
            Some(random) => random.below(lines),
            None => course.accesses % lines,
        };
        course.accesses += 1;
        course.owed += self.config.stores;
        let is_store = course.owed >= WHOLE;
        if is_store {
            course.owed -= WHOLE;
        }
        let address = (u64::from(core) * lines + place) * LINE.get();
        let purpose = match (is_store, self.config.store) {
            (false, _) => Purpose::Load,
            (true, Store::Cached) => Purpose::Ownership,
            (true, Store::NonTemporal) => Purpose::NonTemporalStore,
        };
        (purpose, address)
    }

    fn issue<M: Needs>(&self, slot: u32, ports: &mut Ports<'_, M>) {
        let line = self.buffers.line(slot);
        let direction = if line.purpose.is_read() { Direction::Read } else { Direction::Write };
        let access = LineAccess { direction, address: line.address };
        ports.line(self.config.device, access, Token::of(Kind::Line, slot));
    }

    fn done<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let line = self.buffers.done(slot);
        if let Some(flows) = self.flows {
            let flow = flows[usize::from(!line.purpose.is_read())];
            ports.payload_delivered(flow, LINE);
            ports.operation_done(flow, now - line.since);
        }
        let counted = if line.purpose.is_read() { &mut self.counts.reads } else { &mut self.counts.writes };
        *counted += 1;
        let next = match line.purpose {
            Purpose::Load => {
                self.counts.loads += 1;
                self.counts.loading += u128::from((now - line.since).ticks());
                self.buffers.free(line.core, now);
                None
            }
            Purpose::NonTemporalStore => {
                self.counts.stores += 1;
                self.buffers.free(line.core, now);
                None
            }
            // The line that goes for it is far behind, in the other half of the core's memory.
            Purpose::Ownership => {
                self.counts.stores += 1;
                let span = self.config.span.div_floor(LINE) * LINE.get();
                let start = u64::from(line.core) * span;
                // Whole lines of half of it.
                let half = self.config.span.div_floor(LINE * 2) * LINE.get();
                let behind = (line.address - start + half) % span;
                self.buffers.write_back(line.core, start + behind, now)
            }
            Purpose::WriteBack => self.buffers.written_back(line.core, now),
        };
        if let Some(slot) = next {
            self.issue(slot, ports);
        }
        self.go_on(line.core, ports);
    }
}

impl<M: Needs> Instrument<M> for StreamWorkload {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        let mut flow = |direction: Direction| {
            ports.add_flow(FlowSpec {
                name: self.config.name.to_string(),
                entry: self.config.name.entry(),
                devices: self.config.device_name.as_str().into(),
                direction: direction.name(),
                latency: LatencyOf::Operation,
                repeats: false,
            })
        };
        let read = flow(Direction::Read);
        let write = if self.config.stores > 0 { flow(Direction::Write) } else { read };
        self.flows = Some([read, write]);
        if self.config.is_random {
            self.random = Some(ports.random_stream(&self.config.name, "addresses"));
        }
        if self.config.is_interval_random {
            self.pace = Some(ports.random_stream(&self.config.name, "pace"));
        }
        (0..self.config.cores).for_each(|core| self.go_on(core, ports));
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        let token = event.token();
        match token.kind {
            Kind::Next => {
                self.courses[token.subject as usize].is_timed = false;
                self.go_on(token.subject, ports);
            }
            Kind::Line => self.done(token.subject, ports),
        }
    }
}

impl Workload for StreamWorkload {
    called_by_fabric!();

    fn report(&self, window: (Time, Time)) -> Vec<Metric> {
        let seconds = (window.1 - window.0).as_seconds();
        let Counts { loads, stores, reads, writes, loading } = self.counts;
        let lines = reads + writes;
        let rate = |of: u64| per(of as f64 * LINE.get() as f64 / 1e9, seconds).filter(|_| lines > 0);
        let metrics = match self.config.kind {
            StreamKind::PointerChase => vec![
                measured("Latency (ns)", per(loading as f64 / TICKS_PER_NS as f64, loads as f64)),
                measured("Loads (GB/s)", rate(loads)),
            ],
            StreamKind::Stream => vec![
                measured("Loads (GB/s)", rate(loads)),
                measured("Stores (GB/s)", rate(stores)),
                measured("Lines read and written (GB/s)", rate(lines)),
                measured("Lines read, share", per(reads as f64, lines as f64)),
            ],
        };
        metrics.into_iter().flatten().collect()
    }

    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let id = ResourceId::of_load(&self.config.name, LoadPart::Lines);
        vec![self.buffers.reading(id, format!("{}.lines", self.config.name), at)]
    }

    fn bytes_under_way(&self) -> u64 {
        self.buffers.bytes()
    }

    fn start_measuring(&mut self, _: Time) {
        self.counts = Counts::default();
    }
}

impl LoadConfig for StreamConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(StreamWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::of(&self.name, self.kind.word())]
    }

    fn demands(&self) -> Vec<Demand> {
        let of = match self.kind {
            StreamKind::Stream => format!("{0}.cores × {0}.outstanding", self.name),
            StreamKind::PointerChase => format!("{}.cores", self.name),
        };
        vec![Demand { operations: u64::from(self.cores) * u64::from(self.outstanding), of }]
    }

    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        let is_mine = *resource == ResourceId::of_load(&self.name, LoadPart::Lines);
        is_mine.then(|| larger.count(&mut self.outstanding))
    }

    fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        if *resource != ResourceId::of_load(&self.name, LoadPart::Lines) {
            return Vec::new();
        }
        let twice = |what, key| Draft::one(what, Owner::Workload(self.name.entry()), key, Step::Double);
        vec![twice("twice the cores", "cores"), twice("twice the lines of a core", "outstanding")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(kind: StreamKind) -> StreamConfig {
        StreamConfig {
            name: "stream".into(),
            kind,
            device: DeviceId(0),
            device_name: "cxl0".into(),
            cores: 1,
            outstanding: 1,
            stores: 0,
            store: Store::Cached,
            interval: Span::ZERO,
            is_interval_random: false,
            span: LINE,
            is_random: false,
        }
    }

    #[test]
    fn no_line_has_no_rate_and_no_latency() {
        for kind in [StreamKind::Stream, StreamKind::PointerChase] {
            for span in [Span::ZERO, Span::from_us(1)] {
                let found = StreamWorkload::new(config(kind)).report((Time::ZERO, Time::ZERO + span));
                assert!(found.is_empty(), "{kind:?}: {found:?}");
            }
        }
    }
}
