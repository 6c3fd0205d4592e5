//! CPU accesses to an endpoint: loads that wait for their data, and stores that are posted.
//!
//! Closed loop: a number of accesses that the core waits for, each followed by the next when it is over for the core and that has
//! had its time for it. A load is over when its data is back. A store is over when the root port has sent it and its answer is back:
//! uncached stores leave the core in program order (Intel 64 and IA-32 SDM, volume 3, "Strong Uncacheable"), but they are posted, so
//! that no core hears when they arrive at the device (PCIe Base 6.3 §2.4.1). Its latency is until it has arrived all the same. Open
//! loop: one access every interval, whatever becomes of the others. Combining: a core stores without a pause into write-combining
//! buffers; each line of 64 B goes out as one TLP when it is full, and its buffer is free when the root port has sent it (the same
//! volume, "Write Combining Memory"). Streaming loads of such memory (MOVNTDQA) bring a whole line into one of the same buffers, and the
//! other loads of that line find it there (volume 1, "Streaming Load Hint Instruction"): so many lines may be under way, each from its
//! first load until its data is back. Leaves out: buffers that are flushed half full, lines that are lost before all of them was loaded,
//! fences, and of combined stores the way of the answer.

use crate::load::{Demand, Draft, Enlarge, HeldUp, LoadConfig, LoadName, Owner, Step, Tool};
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::token::{self, kinds};
use lanewise_fabric::workload::{DeviceId, Workload, WorkloadEvent};
use lanewise_fabric::{Book, Level, LoadPart, Part, ResourceId, ResourceOwner, ResourceReading, Slots};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, SpanSum, Time};

/// What the CPU does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MmioDirection {
    /// Loads.
    Read,
    /// Stores.
    Write,
}

/// When the next access starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pacing {
    /// When one of so many is over for the core; at least one.
    Closed {
        /// Accesses that the core waits for.
        outstanding: u32,
    },
    /// One every interval; never zero.
    Open {
        /// Time between the starts of two accesses.
        interval: Span,
    },
    /// Lines of 64 B by way of so many buffers, one after another: stores, or streaming loads; at least one.
    Combining {
        /// Write-combining buffers of the core.
        buffers: u32,
    },
}

/// Bytes of a write-combining buffer: a cache line.
pub const COMBINED: Bytes = Bytes::new(64);

/// Settings of an MMIO instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct MmioConfig {
    /// Name of its flow.
    pub name: LoadName,
    /// The endpoint that is accessed, by the CPU of the root complex above it.
    pub device: DeviceId,
    /// The endpoint's name.
    pub device_name: String,
    /// Loads or stores.
    pub direction: MmioDirection,
    /// Bytes of one access; not zero.
    pub size: Bytes,
    /// Time of the core for each access: of a loop that polls, from one load's end to the next load; of a store.
    pub cost: Span,
    /// How long the root port's answer to a store takes to the core, which waits for it in a closed loop.
    pub answer: Span,
    /// When accesses start.
    pub pacing: Pacing,
}

kinds! {
    /// What may happen.
    pub(crate) enum Kind {
        /// The pacing timer is due.
        Next,
        /// Something about an access. The subject is its slot.
        Access,
    }
}

type Token = token::Token<Kind>;
needs!(pub(crate) Needs: Timers, Mmio, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

/// The MMIO instrument.
#[derive(Debug)]
pub struct MmioWorkload {
    config: MmioConfig,
    flow: Option<FlowId>,
    /// When each access in flight started.
    in_flight: Slots<Time>,
    /// Combining: when the core began with the line that it is busy with.
    filling_since: Option<Time>,
    /// Combining: buffers that wait for the root port, or for their data.
    waiting: u32,
    /// Combining: buffers in use, that which is being filled with stores among them.
    taken: Level,
    /// Combining: lines that were begun, and the time that the core has spent on those that it is done with.
    begun: u64,
    stored: SpanSum,
}

impl MmioWorkload {
    /// An instrument with nothing in flight yet.
    ///
    /// # Panics
    /// When the size, the number in flight or the interval is zero.
    pub fn new(config: MmioConfig) -> Self {
        assert!(config.size > Bytes::ZERO, "{}: an access moves something", config.name);
        match config.pacing {
            Pacing::Closed { outstanding } => assert!(outstanding > 0, "{}: nothing in flight", config.name),
            Pacing::Open { interval } => assert!(!interval.is_zero(), "{}: interval of zero", config.name),
            Pacing::Combining { buffers } => assert!(buffers > 0, "{}: no buffers", config.name),
        }
        Self {
            config,
            flow: None,
            in_flight: Slots::default(),
            filling_since: None,
            waiting: 0,
            taken: Level::default(),
            begun: 0,
            stored: SpanSum::default(),
        }
    }

    fn issue<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let token = Token::of(Kind::Access, self.in_flight.insert(ports.now()));
        match self.config.direction {
            MmioDirection::Read => ports.mmio_read(self.config.device, self.config.size, token),
            MmioDirection::Write if self.waits_for_stores() => {
                ports.mmio_write_followed(self.config.device, self.config.size, token)
            }
            MmioDirection::Write => ports.mmio_write(self.config.device, self.config.size, token),
        }
    }

    /// Whether a store is followed by the next when it has left.
    fn waits_for_stores(&self) -> bool {
        let is_closed = matches!(self.config.pacing, Pacing::Closed { .. });
        is_closed && self.config.direction == MmioDirection::Write
    }

    fn finish<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let latency = ports.now() - self.in_flight.take(slot);
        let combines = matches!(self.config.pacing, Pacing::Combining { .. });
        if let Some(flow) = self.flow {
            ports.payload_delivered(flow, if combines { COMBINED } else { self.config.size });
            ports.operation_done(flow, latency);
        }
        if matches!(self.config.pacing, Pacing::Closed { .. }) && !self.waits_for_stores() {
            self.go_on(ports);
        }
    }

    /// An access is over for the core, which goes on to the next.
    fn go_on<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let answer = if self.waits_for_stores() { self.config.answer } else { Span::ZERO };
        match answer + self.config.cost {
            Span::ZERO => self.issue(ports),
            pause => ports.set_timer(ports.now() + pause, Token::of(Kind::Next, 0)),
        }
    }

    /// The core goes on to the next line, if there is a buffer for it: its first load asks for all of it.
    fn fill<M: Needs>(&mut self, buffers: u32, ports: &mut Ports<'_, M>) {
        if self.filling_since.is_none() && self.waiting < buffers {
            let now = ports.now();
            self.filling_since = Some(now);
            self.begun += 1;
            if self.config.direction == MmioDirection::Read {
                self.waiting += 1;
                let token = Token::of(Kind::Access, self.in_flight.insert(now));
                ports.mmio_read(self.config.device, COMBINED, token);
            }
            self.count_taken(now);
            ports.set_timer(now + self.line_time(), Token::of(Kind::Next, 0));
        }
    }

    /// A buffer is free again.
    fn freed<M: Needs>(&mut self, buffers: u32, ports: &mut Ports<'_, M>) {
        self.waiting -= 1;
        self.count_taken(ports.now());
        self.fill(buffers, ports);
    }

    /// Time of the core for a line.
    fn line_time(&self) -> Span {
        self.config.cost * COMBINED.div_ceil(self.config.size)
    }

    fn count_taken(&mut self, now: Time) {
        let filled = self.config.direction == MmioDirection::Write && self.filling_since.is_some();
        self.taken.set(u64::from(self.waiting) + u64::from(filled), now);
    }

    /// The core is done with a line: one that is full of stores goes out.
    fn flush<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        if let Some(since) = self.filling_since.take() {
            self.stored += ports.now() - since;
            if self.config.direction == MmioDirection::Write {
                self.waiting += 1;
                let token = Token::of(Kind::Access, self.in_flight.insert(since));
                ports.mmio_write_followed(self.config.device, COMBINED, token);
            }
        }
    }

    fn issue_and_wait<M: Needs>(&mut self, interval: Span, ports: &mut Ports<'_, M>) {
        self.issue(ports);
        let next = ports.now() + interval;
        ports.set_timer(next, Token::of(Kind::Next, 0));
    }
}

impl<M: Needs> Instrument<M> for MmioWorkload {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        let direction = match self.config.direction {
            MmioDirection::Read => "mmio read",
            MmioDirection::Write => "mmio write",
        };
        self.flow = Some(ports.add_flow(FlowSpec {
            name: self.config.name.to_string(),
            entry: self.config.name.entry(),
            devices: self.config.device_name.as_str().into(),
            direction,
            latency: LatencyOf::Operation,
            repeats: false,
        }));
        match self.config.pacing {
            Pacing::Closed { outstanding } => (0..outstanding).for_each(|_| self.issue(ports)),
            Pacing::Open { interval } => self.issue_and_wait(interval, ports),
            Pacing::Combining { buffers } => self.fill(buffers, ports),
        }
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        match (event, self.config.pacing) {
            (WorkloadEvent::Timer { .. }, Pacing::Open { interval }) => self.issue_and_wait(interval, ports),
            (WorkloadEvent::Timer { .. }, Pacing::Closed { .. }) => self.issue(ports),
            (WorkloadEvent::Timer { .. }, Pacing::Combining { buffers }) => {
                self.flush(ports);
                self.fill(buffers, ports);
            }
            (WorkloadEvent::MmioWriteLeft { .. }, Pacing::Combining { buffers }) => {
                self.freed(buffers, ports)
            }
            (WorkloadEvent::MmioReadDone { token }, Pacing::Combining { buffers }) => {
                self.finish(token.subject, ports);
                self.freed(buffers, ports);
            }
            (WorkloadEvent::MmioWriteLeft { .. }, Pacing::Closed { .. }) => self.go_on(ports),
            (WorkloadEvent::MmioReadDone { token } | WorkloadEvent::MmioWriteArrived { token }, _) => {
                self.finish(token.subject, ports);
            }
            _ => {}
        }
    }
}

impl Workload for MmioWorkload {
    called_by_fabric!();

    /// With write combining the buffers, and the core that fills them.
    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let Pacing::Combining { buffers } = self.config.pacing else { return Vec::new() };
        let filling = self.filling_since.map_or(Span::ZERO, |since| at - since);
        let of = |what: &str, part, places, limit: String, busy| ResourceReading {
            id: ResourceId::of_load(&self.config.name, part),
            name: format!("{}.{what}", self.config.name),
            places,
            limit,
            book: Book { busy, served: self.begun, ..Book::default() },
        };
        let lines = format!("{buffers} write-combining buffers");
        vec![
            of("lines", LoadPart::CombiningBuffers, buffers, lines, self.taken.area_at(at)),
            of("core", LoadPart::Stores, 1, "one core".to_owned(), self.stored + SpanSum::from(filling)),
        ]
    }

    fn bytes_under_way(&self) -> u64 {
        self.in_flight.bytes()
    }
}

impl LoadConfig for MmioConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(MmioWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::of(&self.name, "mmio")]
    }

    fn demands(&self) -> Vec<Demand> {
        match self.pacing {
            Pacing::Closed { outstanding } => {
                let of = format!("{}.outstanding", self.name);
                vec![Demand { operations: u64::from(outstanding), of }]
            }
            Pacing::Open { .. } | Pacing::Combining { .. } => Vec::new(),
        }
    }

    /// The processor asks, and not the device: all the time but its own for each access.
    fn held_up(&self, operations_per_s: f64, _latency_ns: f64) -> Option<HeldUp> {
        let outstanding = match self.pacing {
            Pacing::Closed { outstanding } => {
                let own = operations_per_s * self.cost.as_seconds() / f64::from(outstanding);
                Some((1.0 - own).max(0.0))
            }
            Pacing::Combining { .. } => None,
            Pacing::Open { .. } => return None,
        };
        Some(HeldUp { device: self.device, outstanding, paused: None })
    }

    fn more_outstanding(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        match &mut self.pacing {
            Pacing::Closed { outstanding } if self.device == device => {
                larger.count(outstanding);
                Some(())
            }
            Pacing::Closed { .. } | Pacing::Open { .. } | Pacing::Combining { .. } => None,
        }
    }

    fn shorten_pauses(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        match &mut self.pacing {
            Pacing::Open { interval } if self.device == device => {
                larger.shorten(interval);
                Some(())
            }
            Pacing::Closed { .. } | Pacing::Open { .. } | Pacing::Combining { .. } => None,
        }
    }

    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        if resource.owner != ResourceOwner::Load(self.name.to_string()) {
            return None;
        }
        match (&mut self.pacing, resource.part) {
            (Pacing::Combining { buffers }, Part::Load(LoadPart::CombiningBuffers)) => larger.count(buffers),
            (Pacing::Combining { .. }, Part::Load(LoadPart::Stores)) => larger.shorten(&mut self.cost),
            _ => return None,
        }
        Some(())
    }

    fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        if resource.owner != ResourceOwner::Load(self.name.to_string()) {
            return Vec::new();
        }
        let host = Owner::HostAbove(self.device);
        vec![match resource.part {
            Part::Load(LoadPart::Stores) => {
                Draft::one("half the time of a store or streaming load", host, "store_cost", Step::Halve)
            }
            _ => {
                let what = "twice the write-combining buffers of a core";
                Draft::one(what, host, "combining_buffers", Step::Double)
            }
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use lanewise_units::Rate;

    fn run(direction: MmioDirection, pacing: Pacing) -> (u64, Span) {
        let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
        let mut instrument = MmioWorkload::new(MmioConfig {
            name: "registers".into(),
            device: DeviceId(0),
            device_name: "nic0".into(),
            direction,
            size: Bytes::new(4),
            cost: Span::ZERO,
            answer: Span::ZERO,
            pacing,
        });
        bench.run(&mut instrument, Span::from_us(100));
        let word = if direction == MmioDirection::Read { "mmio read" } else { "mmio write" };
        let (done, _) = bench.operations("registers", word);
        assert_eq!(bench.payload("registers", word), done * 4);
        (done, bench.worst_latency)
    }

    #[test]
    fn a_closed_loop_of_one_load_is_the_round_trip() {
        // 500 ns each way: one load every microsecond.
        let (done, latency) = run(MmioDirection::Read, Pacing::Closed { outstanding: 1 });
        assert_eq!((done, latency), (100, Span::from_us(1)));
    }

    #[test]
    fn more_in_flight_is_as_much_more() {
        let (done, _) = run(MmioDirection::Read, Pacing::Closed { outstanding: 4 });
        assert_eq!(done, 4 * 100);
    }

    /// 4 B take 4 ns on the wire, the answer and the core 96 ns more; where the store goes from there takes 500 ns and holds nothing up.
    #[test]
    fn an_uncached_store_waits_for_the_root_port_and_not_for_the_device() {
        let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
        let mut instrument = MmioWorkload::new(MmioConfig {
            direction: MmioDirection::Write,
            answer: Span::from_ns(60),
            cost: Span::from_ns(36),
            ..loads()
        });
        bench.run(&mut instrument, Span::from_us(100));
        assert_eq!(bench.operations("registers", "mmio write"), (995, 504.0));
    }

    #[test]
    fn a_polling_loop_has_its_own_time() {
        let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
        let mut instrument = MmioWorkload::new(MmioConfig { cost: Span::from_ns(250), ..loads() });
        bench.run(&mut instrument, Span::from_us(100));
        assert_eq!(bench.operations("registers", "mmio read"), (80, 1000.0));
    }

    /// 64 B take 16 stores; the link takes 64 ns for them. The slower of both decides.
    #[test]
    fn combined_stores_go_as_fast_as_the_core_or_the_link() {
        for (cost_ns, period_ns) in [(10, 160), (1, 64)] {
            let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
            let mut instrument = MmioWorkload::new(MmioConfig {
                direction: MmioDirection::Write,
                cost: Span::from_ns(cost_ns),
                pacing: Pacing::Combining { buffers: 10 },
                ..loads()
            });
            bench.run(&mut instrument, Span::from_us(100));
            let expected = (100_000 - 500) / period_ns * 64;
            let payload = bench.payload("registers", "mmio write");
            assert!(payload.abs_diff(expected) <= 128, "{cost_ns} ns: {payload} B, {expected}");
        }
    }

    /// Sixteen loads of 4 B bring a line; it is 1 us under way. As many lines as buffers are in flight, or as the core asks for.
    #[test]
    fn streaming_loads_are_as_many_lines_as_buffers_in_a_round_trip() {
        for (buffers, cost_ns, expected) in [(1, 0, 100), (10, 0, 1000), (10, 10, 620)] {
            let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
            let mut instrument = MmioWorkload::new(MmioConfig {
                cost: Span::from_ns(cost_ns),
                pacing: Pacing::Combining { buffers },
                ..loads()
            });
            bench.run(&mut instrument, Span::from_us(100));
            let (done, latency_ns) = bench.operations("registers", "mmio read");
            assert!(done.abs_diff(expected) <= 10, "{buffers} buffers, {cost_ns} ns: {done} lines");
            assert_eq!(latency_ns, 1000.0);
            assert_eq!(bench.payload("registers", "mmio read"), done * 64);
            let [lines, core] =
                instrument.resources(Time::ZERO + Span::from_us(100)).try_into().expect("lines and a core");
            let busy = if cost_ns == 0 { f64::from(buffers) } else { 1000.0 / 160.0 };
            assert!((lines.book.busy.as_ns() / 100_000.0 - busy).abs() < 0.1, "{}", lines.book.busy.as_ns());
            assert_eq!((lines.places, core.places), (buffers, 1));
        }
    }

    /// The link takes a line every 64 ns: ten buffers are full of what waits for it, but for the start; the core fills a line in 16 ns.
    #[test]
    fn buffers_and_the_core_say_how_much_they_were_in_use() {
        let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
        let mut instrument = MmioWorkload::new(MmioConfig {
            direction: MmioDirection::Write,
            cost: Span::from_ns(1),
            pacing: Pacing::Combining { buffers: 10 },
            ..loads()
        });
        bench.run(&mut instrument, Span::from_us(100));
        let end = Time::ZERO + Span::from_us(100);
        let [lines, core] = instrument.resources(end).try_into().expect("lines and a core");
        assert_eq!((lines.places, core.places), (10, 1));
        assert!((990_000.0..=1_000_000.0).contains(&lines.book.busy.as_ns()), "{}", lines.book.busy.as_ns());
        // The last line may not be full yet.
        let most = core.book.served as f64 * 16.0;
        assert!((most - 16.0..=most).contains(&core.book.busy.as_ns()), "{}", core.book.busy.as_ns());
    }

    fn loads() -> MmioConfig {
        MmioConfig {
            name: "registers".into(),
            device: DeviceId(0),
            device_name: "nic0".into(),
            direction: MmioDirection::Read,
            size: Bytes::new(4),
            cost: Span::ZERO,
            answer: Span::ZERO,
            pacing: Pacing::Closed { outstanding: 1 },
        }
    }

    #[test]
    fn an_open_loop_does_not_wait() {
        let interval = Span::from_ns(100);
        let (done, latency) = run(MmioDirection::Read, Pacing::Open { interval });
        // The last ten are still under way.
        assert_eq!((done, latency), (991, Span::from_us(1)));
    }
}
