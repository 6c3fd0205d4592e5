//! What a run leaves behind, ready to be read: the tables behind `lanewise run --json`.
//!
//! GB/s is 10⁹ bytes per second, MiB/s is 2²⁰. Floats appear here and nowhere before.

use lanewise_fabric::Simulation;
use lanewise_fabric::config::{FabricConfig, LinkConfig};
use lanewise_fabric::workload::{DeviceId, Metric};
use lanewise_observe::{DirectionTally, LatencyOf, RequesterState, Use};
use lanewise_units::{Span, Time};
use serde::Serialize;
use serde_json::{Map, Value};

/// Everything about one run.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// Title of the scenario.
    pub title: String,
    /// Version that made it.
    pub lanewise_version: &'static str,
    /// File the scenario came from.
    pub scenario_path: String,
    /// Seed of the random streams.
    pub seed: u64,
    /// Why the run ended: `Converged`, `Finished`, `TimeLimit`, `EventLimit`, `Stalled` or `Interrupted`.
    pub end_reason: &'static str,
    /// The same in a sentence.
    pub end_detail: String,
    /// Of a stalled run, who waits for what.
    pub stalled_waiting: Vec<String>,
    /// Simulated time, with warm-up.
    pub simulated_s: f64,
    /// Simulated time before measuring began.
    pub warm_up_s: f64,
    /// Simulated time that results are about.
    pub measured_s: f64,
    /// Events handled.
    pub events: u64,
    /// TLPs sent over links, first transmissions.
    pub tlp_hops: u64,
    /// Hash of the trajectory, 16 hexadecimal digits.
    pub fingerprint: String,
    /// Parts of the run between changes of the machine; empty when nothing changed.
    pub phases: Vec<crate::phases::Phase>,
    /// Per flow.
    pub flows: Vec<Flow>,
    /// Per link.
    pub links: Vec<Link>,
    /// Per endpoint.
    pub requesters: Vec<Requester>,
    /// Per ingress buffer that was ever used.
    pub buffers: Vec<Buffer>,
    /// Errors of the transaction layer, by who detected them.
    pub errors: Vec<ErrorCount>,
    /// What each workload's instrument reports.
    pub instruments: Vec<Instrument>,
    /// Parameters in force that no specification or datasheet gives.
    pub assumptions: Vec<Assumption>,
}

/// Throughput and latency of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// Device it belongs to.
    pub device: String,
    /// `read`, `write`, or the instrument's word.
    pub direction: &'static str,
    /// Payload, 10⁹ B/s.
    pub goodput_gb_per_s: f64,
    /// Payload, 2²⁰ B/s.
    pub goodput_mib_per_s: f64,
    /// Half of the confidence interval of the goodput, percent of it; none when too little was measured.
    pub confidence_half_width_percent: Option<f64>,
    /// Payload bytes.
    pub bytes: u64,
    /// What `operations` are, and whose latency it is: `requests` (TLPs that ask) or `operations`, as the instrument
    /// counts them.
    pub counted: &'static str,
    /// Requests, or operations as the instrument counts them.
    pub operations: u64,
    /// Of these, per second.
    pub operations_per_s: f64,
    /// Latency of requests or operations.
    pub latency_ns: Latency,
}

/// Latency, ns.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it all")]
pub struct Latency {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
    pub stddev: f64,
    pub count: u64,
}

/// A link and its two directions.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// Name: that of the device below.
    pub name: String,
    /// Device above and its port, `device.port`.
    pub upper: String,
    /// Device below and its port.
    pub lower: String,
    /// Negotiated generation, `gen1` to `gen7`.
    pub generation: String,
    /// Negotiated width, `x1` to `x32`.
    pub width: String,
    /// Flit Mode.
    pub flit: bool,
    /// Maximum Payload Size in force.
    pub mps_bytes: u64,
    /// From the lower port to the upper port.
    pub upstream: Direction,
    /// From the upper port to the lower port.
    pub downstream: Direction,
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize)]
pub struct Direction {
    /// From line rate to goodput.
    pub ladder: Ladder,
    /// Part of the time for each use; sums to one.
    pub time_attribution: Map<String, Value>,
    /// The same in ticks of 2⁻¹⁰ ps; sums to `measured_ticks` exactly.
    pub time_attribution_ticks: Map<String, Value>,
    /// Ticks measured, from packet boundary to packet boundary.
    pub measured_ticks: u64,
    /// Part of the time that anything but silence was on the wire.
    pub utilisation: f64,
    /// TLPs sent for the first time, over the whole run.
    pub tlps: u64,
    /// DLLPs sent, over the whole run.
    pub dllps: u64,
    /// Naks sent by the receiver of this direction, over the whole run.
    pub naks: u32,
    /// Replays started, over the whole run.
    pub replays: u32,
}

/// The efficiency ladder of one direction: what is left at each rung, 10⁹ B/s.
#[derive(Clone, Debug, Serialize)]
pub struct Ladder {
    /// Transfers per second × lanes ÷ 8.
    pub line_rate_gb_per_s: f64,
    /// After coding and the ordered sets that were sent.
    pub link_bandwidth_gb_per_s: f64,
    /// After the DLLPs that were sent: what TLPs with their framing could use.
    pub tlp_bandwidth_gb_per_s: f64,
    /// Payload that was sent.
    pub goodput_gb_per_s: f64,
}

/// What held an endpoint's requester back.
#[derive(Clone, Debug, Serialize)]
pub struct Requester {
    /// Endpoint.
    pub device: String,
    /// Part of the time in each state; sums to one.
    pub time_attribution: Map<String, Value>,
}

/// Occupancy of an ingress buffer, counted as credits count: 16 B per header and per begun 16 B of data.
#[derive(Clone, Debug, Serialize)]
pub struct Buffer {
    /// `device.port`.
    pub port: String,
    /// `posted`, `non_posted` or `completion`.
    pub class: String,
    /// Mean over the measured time.
    pub mean_bytes: f64,
    /// Highest.
    pub max_bytes: u32,
    /// What the advertised credits stand for; none when infinite.
    pub capacity_bytes: Option<u32>,
}

/// Errors of the transaction layer that one port detected.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorCount {
    /// `device.port`.
    pub port: String,
    /// `poisoned_tlp`, `completion_timeout`, `unexpected_completion` or `unsupported_request`.
    pub error: &'static str,
    /// Bit in the Uncorrectable Error Status register.
    pub status_bit: u8,
    /// How often, over the whole run.
    pub count: u64,
}

/// Numbers in an instrument's own words.
#[derive(Clone, Debug, Serialize)]
pub struct Instrument {
    /// Name of the workload.
    pub workload: String,
    /// Kind of the workload.
    pub kind: String,
    /// Name and value.
    pub metrics: Vec<NamedValue>,
}

/// One number of an instrument.
#[derive(Clone, Debug, Serialize)]
pub struct NamedValue {
    /// Name with unit.
    pub name: String,
    /// Value.
    pub value: f64,
}

/// A parameter without a specification or datasheet behind it.
#[derive(Clone, Debug, Serialize)]
pub struct Assumption {
    /// Dotted path.
    pub path: String,
    /// Value in force.
    pub value: String,
    /// `published`, `calibrated` or `assumed`.
    pub provenance: String,
    /// Where it comes from.
    pub source: String,
}

impl From<Metric> for NamedValue {
    fn from(metric: Metric) -> Self {
        Self { name: metric.name, value: metric.value }
    }
}

/// Flows of a run. `half_width` gives the confidence interval of each flow, as a part of the mean.
pub(crate) fn flows(
    simulation: &Simulation,
    measured: Span,
    half_width: impl Fn(usize) -> Option<f64>,
) -> Vec<Flow> {
    let seconds = measured.as_seconds().max(f64::MIN_POSITIVE);
    let flow = |(index, tally): (usize, &lanewise_observe::FlowTally)| {
        let bytes = tally.payload().get();
        let latency = tally.latency();
        Flow {
            name: tally.spec.name.clone(),
            device: tally.spec.device.clone(),
            direction: tally.spec.direction,
            goodput_gb_per_s: bytes as f64 / seconds / 1e9,
            goodput_mib_per_s: bytes as f64 / seconds / f64::from(1 << 20),
            confidence_half_width_percent: half_width(index).map(|width| width * 100.0),
            bytes,
            counted: match tally.spec.latency {
                LatencyOf::Request => "requests",
                LatencyOf::Operation => "operations",
            },
            operations: tally.operations(),
            operations_per_s: tally.operations() as f64 / seconds,
            latency_ns: Latency {
                mean: latency.mean_ns,
                p50: latency.p50_ns,
                p90: latency.p90_ns,
                p99: latency.p99_ns,
                max: latency.max_ns,
                stddev: latency.stddev_ns,
                count: latency.count,
            },
        }
    };
    simulation.fabric.observers().flows().iter().enumerate().map(flow).collect()
}

/// Links of a run.
pub(crate) fn links(simulation: &Simulation, config: &FabricConfig) -> Vec<Link> {
    let link = |link: &LinkConfig| Link {
        name: config.devices[link.lower.0].name.clone(),
        upper: port_name(config, link.upper),
        lower: port_name(config, link.lower),
        generation: link.mode.generation.to_string(),
        width: link.mode.width.to_string(),
        flit: link.mode.flit,
        mps_bytes: config.devices[link.lower.0].ports[link.lower.1].mps.get(),
        upstream: direction(simulation, link, link.lower, link.upper),
        downstream: direction(simulation, link, link.upper, link.lower),
    };
    config.links.iter().map(link).collect()
}

fn port_name(config: &FabricConfig, (device, port): (usize, usize)) -> String {
    format!("{}.{}", config.devices[device].name, config.devices[device].port_name(port))
}

fn direction(
    simulation: &Simulation,
    link: &LinkConfig,
    transmitter: (usize, usize),
    receiver: (usize, usize),
) -> Direction {
    let index = |(device, port): (usize, usize)| simulation.fabric.port_index(DeviceId(device as u32), port);
    let observers = simulation.fabric.observers();
    let tally = observers.direction(index(transmitter));
    let sent = observers.counters(index(transmitter));
    let named = |value: &dyn Fn(Use) -> Value| {
        Use::ALL.iter().map(|on| (on.name().to_owned(), value(*on))).collect::<Map<String, Value>>()
    };
    let silent: f64 = SILENT.iter().map(|on| tally.share(*on)).sum();
    Direction {
        ladder: ladder(link, &tally),
        time_attribution: named(&|on| tally.share(on).into()),
        time_attribution_ticks: named(&|on| tally.spent_on(on).ticks().into()),
        measured_ticks: tally.total().ticks(),
        utilisation: 1.0 - silent,
        tlps: sent.tlps_sent,
        dllps: sent.dllps_sent,
        naks: observers.counters(index(receiver)).naks_sent,
        replays: sent.replays,
    }
}

/// Uses in which nothing is on the wire.
const SILENT: [Use; 12] = [
    Use::Idle,
    Use::BlockedPostedHeader,
    Use::BlockedPostedData,
    Use::BlockedNonPostedHeader,
    Use::BlockedNonPostedData,
    Use::BlockedCompletionHeader,
    Use::BlockedCompletionData,
    Use::BlockedRetryBuffer,
    Use::BlockedCore,
    Use::Down,
    Use::Asleep,
    Use::Waking,
];

fn ladder(link: &LinkConfig, tally: &DirectionTally) -> Ladder {
    let coded = link.mode.coded_gb_per_s();
    let link_bandwidth = coded * (1.0 - tally.share(Use::OrderedSet));
    Ladder {
        line_rate_gb_per_s: link.mode.line_rate_bits_per_second() as f64 / 8e9,
        link_bandwidth_gb_per_s: link_bandwidth,
        tlp_bandwidth_gb_per_s: link_bandwidth - coded * tally.share(Use::Dllp),
        goodput_gb_per_s: coded * tally.share(Use::Payload),
    }
}

/// Requesters of a run.
pub(crate) fn requesters(simulation: &Simulation, config: &FabricConfig, until: Time) -> Vec<Requester> {
    let requester = |(index, device): (usize, &lanewise_fabric::config::DeviceConfig)| {
        let endpoint = simulation.fabric.requester_index(DeviceId(index as u32))?;
        let spans = simulation.fabric.observers().requester(endpoint, until);
        let total: Span = spans.iter().copied().sum();
        let share = |state: RequesterState| {
            let share = spans[state as usize].ticks() as f64 / total.ticks().max(1) as f64;
            (state.name().to_owned(), share.into())
        };
        Some(Requester {
            device: device.name.clone(),
            time_attribution: RequesterState::ALL.iter().map(|state| share(*state)).collect(),
        })
    };
    config.devices.iter().enumerate().filter_map(requester).collect()
}

/// Ingress buffers of a run that were used.
pub(crate) fn buffers(simulation: &Simulation, config: &FabricConfig, until: Time) -> Vec<Buffer> {
    let mut buffers = Vec::new();
    for (index, device) in config.devices.iter().enumerate() {
        for (port, settings) in device.ports.iter().enumerate() {
            let levels = simulation
                .fabric
                .observers()
                .buffers(simulation.fabric.port_index(DeviceId(index as u32), port));
            for (level, (class, pool)) in levels.iter().zip(CLASS_NAMES.iter().zip(&settings.credits)) {
                if level.max() > 0 {
                    let capacity = pool.header.zip(pool.data);
                    buffers.push(Buffer {
                        port: port_name(config, (index, port)),
                        class: (*class).to_owned(),
                        mean_bytes: level.mean(until),
                        max_bytes: level.max(),
                        capacity_bytes: capacity.map(|(h, d)| 16 * (u32::from(h) + u32::from(d))),
                    });
                }
            }
        }
    }
    buffers
}

/// Errors of the transaction layer, by port and kind.
pub(crate) fn errors(simulation: &Simulation, config: &FabricConfig) -> Vec<ErrorCount> {
    let mut found: Vec<_> = simulation.fabric.observers().errors().collect();
    let mut errors = Vec::new();
    for (index, device) in config.devices.iter().enumerate() {
        for port in 0..device.ports.len() {
            let number = simulation.fabric.port_index(DeviceId(index as u32), port);
            for (_, error, count) in found.extract_if(.., |(at, ..)| *at == number) {
                let port = port_name(config, (index, port));
                errors.push(ErrorCount { port, error: error.name(), status_bit: error.status_bit(), count });
            }
        }
    }
    errors
}

const CLASS_NAMES: [&str; 3] = ["posted", "non_posted", "completion"];
