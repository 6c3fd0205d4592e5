//! How quickly a host turns data around: a device and an analyzer on its link, two readings.
//!
//! - [`Reading::Poll`]: the device writes a line that a CPU polls; the CPU sees it and stores back to the device. The
//!   write crosses the host bridge into the cache, or into memory; a load that was issued after that finds it there;
//!   the store crosses the bridge the other way.
//! - [`Reading::Read`]: the device reads memory. The fabric's root complex answers, from its cache or from memory.
//!
//! Times are those on the link at the device: from the first byte that leaves it to the last byte that reaches its
//! pins. Tests start at random times, so that they fall at random into the loop that polls.
//!
//! Leaves out: what else the core and its caches do; coherence is the two latencies given for it.

use crate::latency::LatencyTally;
use crate::load::{Enlarge, HeldUp, LoadConfig, LoadName, Tool};
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::token::{self, kinds};
use lanewise_engine::random::RandomStream;
use lanewise_fabric::workload::{
    DeviceId, Direction, DmaQueueId, Metric, Notify, Target, Transfer, Workload,
};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, Time};

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// From the device's write to the store of the CPU that polls for it.
    Poll,
    /// From the device's read request to its completion.
    Read,
}

/// What the host takes to see a line and to answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PollingConfig {
    /// From the write at the root port until a load finds it.
    pub landing: Span,
    /// Load that finds it.
    pub load: Span,
    /// Time between two loads of the loop that polls.
    pub interval: Span,
    /// From the load's end until the store is at the root port.
    pub store: Span,
    /// Mean of an exponentially distributed time on top, for everything else on the chip.
    pub noise: Span,
}

/// Settings of a turn-around test.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnaroundConfig {
    /// Name of its flow.
    pub name: LoadName,
    /// The device.
    pub device: DeviceId,
    /// The endpoint's name.
    pub device_name: String,
    /// What is timed.
    pub reading: Reading,
    /// Bytes that the device writes or reads.
    pub size: Bytes,
    /// Bytes of the CPU's store.
    pub answer: Bytes,
    /// Shortest pause between two tests; the longest is twice that.
    pub pause: Span,
    /// What the host takes.
    pub host: PollingConfig,
    /// What the device takes from its pins until it knows, which an analyzer does not see.
    pub unseen: Span,
}

kinds! {
    /// What may happen.
    pub(crate) enum Kind {
        /// The pause is over.
        Start,
        /// The line is where it was to go.
        Moved,
        /// The CPU's store is at the root port.
        Store,
        /// It is at the device.
        Answered,
    }
}

type Token = token::Token<Kind>;
needs!(pub(crate) Needs: Timers, Dma, Mmio, Tally, Randomness);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

/// The instrument.
#[derive(Debug)]
pub struct TurnaroundWorkload {
    config: TurnaroundConfig,
    flow: Option<FlowId>,
    queue: Option<DmaQueueId>,
    pauses: Option<RandomStream>,
    noise: Option<RandomStream>,
    started: Time,
    /// Everything measured so far.
    tally: LatencyTally,
}

impl TurnaroundWorkload {
    /// An instrument with no test under way.
    ///
    /// # Panics
    /// When nothing is moved, or the loop that polls takes no time.
    pub fn new(config: TurnaroundConfig) -> Self {
        assert!(config.size > Bytes::ZERO && config.answer > Bytes::ZERO, "{}: nothing moves", config.name);
        assert!(!config.host.interval.is_zero(), "{}: a loop takes time", config.name);
        let (flow, queue, pauses, noise) = (None, None, None, None);
        Self { config, flow, queue, pauses, noise, started: Time::ZERO, tally: LatencyTally::default() }
    }

    fn pause<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let shortest = self.config.pause;
        let more = self.pauses.as_mut().map_or(0, |stream| stream.below(shortest.ticks().max(1)));
        ports.set_timer(ports.now() + shortest + Span::from_ticks(more), Token::of(Kind::Start, 0));
    }

    fn start<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let (Some(queue), Some(flow)) = (self.queue, self.flow) else { return };
        self.started = ports.now();
        let direction = match self.config.reading {
            Reading::Poll => Direction::Write,
            Reading::Read => Direction::Read,
        };
        let transfer = Transfer {
            direction,
            target: Target::HostMemory,
            offset: 0,
            length: self.config.size,
            flow,
            token: Token::of(Kind::Moved, 0),
            notify: Notify::Done,
        };
        ports.submit(queue, transfer);
    }

    /// The line is at the root port: when does the CPU's store get there?
    fn answer<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let host = self.config.host;
        let visible = ports.now() + host.landing;
        let interval = host.interval.ticks();
        let poll = Time::from_ticks(visible.ticks().div_ceil(interval) * interval);
        let noise = match &mut self.noise {
            Some(stream) if !host.noise.is_zero() => stream.exponential(host.noise),
            _ => Span::ZERO,
        };
        ports.set_timer(poll + host.load + noise + host.store, Token::of(Kind::Store, 0));
    }

    fn finish<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let time = (ports.now() - self.started).saturating_sub(self.config.unseen);
        self.tally.add(time);
        if let Some(flow) = self.flow {
            ports.operation_done(flow, time);
        }
        self.pause(ports);
    }
}

impl<M: Needs> Instrument<M> for TurnaroundWorkload {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.flow = Some(ports.add_flow(FlowSpec {
            name: self.config.name.to_string(),
            entry: self.config.name.entry(),
            devices: self.config.device_name.as_str().into(),
            direction: "turnaround",
            latency: LatencyOf::Operation,
            repeats: false,
        }));
        self.queue = Some(ports.open_queue(self.config.device));
        self.pauses = Some(ports.random_stream(&self.config.name, "pauses"));
        self.noise = Some(ports.random_stream(&self.config.name, "noise"));
        self.pause(ports);
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        match (event.token().kind, self.config.reading) {
            (Kind::Start, _) => self.start(ports),
            (Kind::Moved, Reading::Poll) => self.answer(ports),
            (Kind::Moved, Reading::Read) => self.finish(ports),
            (Kind::Store, _) => {
                let token = Token::of(Kind::Answered, 0);
                ports.mmio_write(self.config.device, self.config.answer, token);
            }
            (Kind::Answered, _) => self.finish(ports),
        }
    }
}

impl Workload for TurnaroundWorkload {
    called_by_fabric!();

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        const NANOSECOND: Span = Span::from_ns(1);
        let tally = &self.tally;
        if tally.count() == 0 {
            return Vec::new();
        }
        let rows = [
            ("turnaround mean (ns)", tally.mean(NANOSECOND)),
            ("turnaround standard deviation (ns)", tally.deviation(NANOSECOND)),
            ("turnaround minimum (ns)", tally.least(NANOSECOND)),
            ("turnaround maximum (ns)", tally.largest(NANOSECOND)),
            ("tests", tally.count() as f64),
        ];
        rows.into_iter().map(|(name, value)| Metric { name: name.to_owned(), value }).collect()
    }

    fn start_measuring(&mut self, _now: Time) {
        self.tally = LatencyTally::default();
    }
}

impl LoadConfig for TurnaroundConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(TurnaroundWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::of(&self.name, "turnaround")]
    }

    /// One test at a time, and pauses between them; while the host answers, the device has nothing to ask for.
    fn held_up(&self, operations_per_s: f64, latency_ns: f64) -> Option<HeldUp> {
        let under_way = (operations_per_s * (latency_ns + self.unseen.as_ns()) / 1e9).min(1.0);
        let (outstanding, paused) = (Some(under_way), Some(1.0 - under_way));
        Some(HeldUp { device: self.device, outstanding, paused })
    }

    fn shorten_pauses(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        (self.device == device).then(|| larger.shorten(&mut self.pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use lanewise_units::Rate;

    fn config(reading: Reading) -> TurnaroundConfig {
        TurnaroundConfig {
            name: "test".into(),
            device: DeviceId(0),
            device_name: "fpga0".into(),
            reading,
            size: Bytes::new(100),
            answer: Bytes::new(8),
            pause: Span::from_us(3),
            host: PollingConfig {
                landing: Span::from_ns(60),
                load: Span::from_ns(30),
                interval: Span::from_ns(10),
                store: Span::from_ns(70),
                noise: Span::ZERO,
            },
            unseen: Span::from_ns(20),
        }
    }

    fn run(config: TurnaroundConfig) -> Vec<Metric> {
        let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
        let mut workload = TurnaroundWorkload::new(config);
        bench.run(&mut workload, Span::from_ms(20));
        workload.report((Time::ZERO, Time::ZERO + Span::from_ms(20)))
    }

    fn value(metrics: &[Metric], name: &str) -> f64 {
        metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("{name}")).value
    }

    #[test]
    fn polling_adds_half_a_loop_and_scatters_over_one() {
        let metrics = run(config(Reading::Poll));
        // 100 ns of data and 500 of wire, 60 + 30 + 70 in the host, 500 back, less the 20 that nobody sees.
        let least = 100.0 + 500.0 + 160.0 + 500.0 - 20.0;
        let mean = value(&metrics, "turnaround mean (ns)");
        assert!((mean - least - 5.0).abs() < 0.5, "{mean}");
        let deviation = value(&metrics, "turnaround standard deviation (ns)");
        assert!((deviation - 10.0 / 12f64.sqrt()).abs() < 0.3, "{deviation}");
        assert!(value(&metrics, "turnaround minimum (ns)") >= least);
        assert!(value(&metrics, "turnaround maximum (ns)") <= least + 10.0);
    }

    #[test]
    fn reading_is_the_round_trip() {
        let metrics = run(config(Reading::Read));
        assert_eq!(value(&metrics, "turnaround mean (ns)"), 500.0 + 100.0 - 20.0);
        assert_eq!(value(&metrics, "turnaround standard deviation (ns)"), 0.0);
    }

    #[test]
    fn noise_widens_the_scatter() {
        let noisy = config(Reading::Poll);
        let noisy =
            TurnaroundConfig { host: PollingConfig { noise: Span::from_ns(40), ..noisy.host }, ..noisy };
        let metrics = run(noisy);
        let deviation = value(&metrics, "turnaround standard deviation (ns)");
        assert!((37.0..=43.0).contains(&deviation), "{deviation}");
    }
}
