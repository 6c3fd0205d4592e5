//! What a run leaves behind, ready to be read: the tables behind `lanewise run --json`.
//!
//! GB/s is 10⁹ bytes per second, MiB/s is 2²⁰. Exact sums and counts become floats here, and means and percentiles in
//! `lanewise_observe`, which nothing of a run depends on.

use crate::EndName;
use crate::limits::{FlowLimit, LimitedBy, Why};
use crate::shape::Shares;
use lanewise_fabric::workload::Metric;
use lanewise_fabric::{ResourceId, ResourceKind};
use lanewise_observe::{LatencySummary, LatencyTally, WorkloadEntry};
use lanewise_scenario::Provenance;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Everything about one run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Results {
    /// Title of the scenario.
    pub title: String,
    /// Version that made it.
    pub lanewise_version: &'static str,
    /// File the scenario came from.
    pub scenario_path: String,
    /// Seed of the random streams.
    pub seed: u64,
    /// Why the run ended.
    pub end_reason: EndName,
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
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub fingerprint: String,
    /// Parameters that were changed while it went on; `fingerprint` covers them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub changes: Vec<ParameterChange>,
    /// What limits it, by the time that others waited; none when nothing moved.
    pub limited_by: Option<LimitedBy>,
    /// Parts of the run between changes of the machine; empty when nothing changed.
    pub phases: Vec<crate::phases::Phase>,
    /// Payload of all flows that are `in_total`, 10⁹ B/s: what one device reads and another writes counts once.
    pub goodput_gb_per_s: f64,
    /// Per flow.
    pub flows: Vec<Flow>,
    /// Per link.
    pub links: Vec<Link>,
    /// Per endpoint.
    pub requesters: Vec<Requester>,
    /// Per ingress buffer that was ever used.
    pub buffers: Vec<Buffer>,
    /// Per shared resource that was ever asked for.
    pub resources: Vec<Resource>,
    /// Errors of the transaction layer, by who detected them.
    pub errors: Vec<ErrorCount>,
    /// What each workload's instrument reports.
    pub instruments: Vec<Instrument>,
    /// Parameters in force that no specification or datasheet gives.
    pub assumptions: Vec<Assumption>,
    /// Values that the scenario states and that change nothing.
    pub remarks: Vec<lanewise_scenario::Remark>,
    /// What each candidate for the limit would bring if it were so many times larger; with `--why` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Why")]
    pub why: Option<Why>,
    /// How it was shared among threads, which changes nothing but `events`; with `--threads` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Threads")]
    pub threads: Option<Threads>,
}

/// Threads of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Threads {
    /// As many as were asked for.
    pub asked: usize,
    /// As many as took part.
    pub used: usize,
    /// Why only one took part; none where several did.
    pub why_one: Option<String>,
}

/// A parameter that was changed while the run went on.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ParameterChange {
    /// Simulated time.
    pub at_s: f64,
    /// The same in ticks of 2⁻¹⁰ ps.
    pub at_ticks: u64,
    /// Dotted path.
    pub path: String,
    /// As it was.
    pub before: String,
    /// As it was from then on.
    pub after: String,
}

/// Throughput and latency of a flow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// Device it belongs to.
    pub device: String,
    /// The same, one by one.
    #[serde(skip)]
    pub devices: Vec<String>,
    /// The workload of the scenario that asks for it.
    #[serde(skip)]
    pub entry: WorkloadEntry,
    /// The load that it is of, by its place in [`lanewise_scenario::Scenario::workloads`].
    #[serde(skip)]
    pub load: usize,
    /// `read`, `write`, or the instrument's word.
    pub direction: &'static str,
    /// Whether its payload is in the total: that of `control` is not, nor what another flow counts, such as the reads of an
    /// adapter, which the one at the other end of the wire writes.
    pub in_total: bool,
    /// Payload, 10⁹ B/s.
    pub goodput_gb_per_s: f64,
    /// Payload, 2²⁰ B/s.
    pub goodput_mib_per_s: f64,
    /// Half of the confidence interval of the goodput, percent of it; none when too little was measured.
    pub confidence_half_width_percent: Option<f64>,
    /// Payload bytes.
    pub bytes: u64,
    /// What `operations` are, and whose latency it is: requests (TLPs that ask), operations, as the instrument counts them, or frames.
    #[schemars(extend("enum" = ["requests", "operations", "frames"]))]
    pub counted: &'static str,
    /// Requests, operations as the instrument counts them, or frames.
    pub operations: u64,
    /// Of these, per second. Of frames of a game, in the time that whole ones took.
    pub operations_per_s: f64,
    /// Latency of what is counted.
    pub latency_ns: Latency,
    /// Latency of operations, where they are apart from the requests that are counted.
    pub operation_latency_ns: Option<Latency>,
    /// The confidence interval of a percentile, of operations where they are apart, when the run was to find it.
    pub percentile_interval: Option<PercentileInterval>,
    /// What limits it, by the time that it waited; none of `control`, and when nothing moved.
    pub limited_by: Option<FlowLimit>,
}

/// A percentile of latencies, ns, and between which latencies it lies with the confidence of the run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PercentileInterval {
    /// Which, in percent: 99 for p99.
    pub percentile: f64,
    /// Lower end.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
}

/// Latency, ns; null where nothing was completed. A percentile that there are too few latencies for is null.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Latency {
    /// The shortest, ns; null with none.
    pub min: Option<f64>,
    /// Arithmetic mean, ns; null with none.
    pub mean: Option<f64>,
    /// Standard deviation, ns; null with none.
    pub stddev: Option<f64>,
    /// Median, ns; null with too few latencies.
    pub p50: Option<f64>,
    /// 90th percentile, ns; null with too few latencies.
    pub p90: Option<f64>,
    /// 95th percentile, ns; null with too few latencies.
    pub p95: Option<f64>,
    /// 99th percentile, ns; null with fewer than 100 latencies.
    pub p99: Option<f64>,
    /// 99.9th percentile, ns; null with fewer than 1,000 latencies.
    pub p99_9: Option<f64>,
    /// The longest, ns; null with none.
    pub max: Option<f64>,
    /// How many latencies there are.
    pub count: u64,
    /// All of them, as a histogram that percentiles were read from: exact to 1 %.
    pub buckets: LatencyBuckets,
}

/// How many latencies there were in each bucket that had any, the shortest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LatencyBuckets {
    /// Where each bucket begins, ns: what took so long is in it.
    pub from_ns: Vec<u64>,
    /// Where each ends, ns: what took so long is in the next.
    pub below_ns: Vec<u64>,
    /// How many are in each.
    pub counts: Vec<u32>,
}

impl From<&LatencyTally> for Latency {
    fn from(tally: &LatencyTally) -> Self {
        let LatencySummary { count, min_ns, mean_ns, stddev_ns, percentiles_ns, max_ns } = tally.summary();
        let [p50, p90, p95, p99, p99_9] = percentiles_ns;
        let buckets = tally.buckets();
        let of_some = |ns: f64| (count > 0).then_some(ns);
        Self {
            min: of_some(min_ns),
            mean: of_some(mean_ns),
            stddev: of_some(stddev_ns),
            p50,
            p90,
            p95,
            p99,
            p99_9,
            max: of_some(max_ns),
            count,
            buckets: LatencyBuckets {
                from_ns: buckets.iter().map(|bucket| bucket.from_ns).collect(),
                below_ns: buckets.iter().map(|bucket| bucket.below_ns).collect(),
                counts: buckets.iter().map(|bucket| bucket.count).collect(),
            },
        }
    }
}

/// A link and its two directions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    /// As many lanes as that.
    pub lanes: u64,
    /// Transfers of one lane, 10⁹ a second.
    pub gt_per_s: f64,
    /// Of so many bits that a lane sends as `line_code_sent_bits` says, the line code leaves these to data.
    pub line_code_data_bits: u64,
    /// Bits that a lane sends, data and what the line code adds.
    pub line_code_sent_bits: u64,
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Direction {
    /// From line rate to goodput.
    pub ladder: Ladder,
    /// Part of the time for each use; sums to one.
    #[schemars(with = "Shares")]
    pub time_attribution: Map<String, Value>,
    /// The same in ticks of 2⁻¹⁰ ps; sums to `measured_ticks` exactly.
    #[schemars(with = "BTreeMap<String, u64>")]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ladder {
    /// Transfers per second × lanes ÷ 8.
    pub line_rate_gb_per_s: f64,
    /// After the line code: a share of the time is that share of this.
    pub coded_gb_per_s: f64,
    /// After coding and the ordered sets that were sent.
    pub link_bandwidth_gb_per_s: f64,
    /// After the DLLPs that were sent: what TLPs with their framing could use.
    pub tlp_bandwidth_gb_per_s: f64,
    /// After what was sent again.
    pub after_replays_gb_per_s: f64,
    /// After silence: TLPs that were sent for the first time, with headers and framing.
    pub sent_gb_per_s: f64,
    /// Payload that was sent.
    pub goodput_gb_per_s: f64,
}

/// What held an endpoint's requester back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Requester {
    /// Endpoint.
    pub device: String,
    /// Part of the time in each state; sums to one.
    #[schemars(with = "Shares")]
    pub time_attribution: Map<String, Value>,
}

/// Occupancy of an ingress buffer, counted as credits count: 16 B per header and per begun 16 B of data.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Buffer {
    /// `device.port`.
    pub port: String,
    /// Flow class.
    #[schemars(extend("enum" = ["posted", "non_posted", "completion"]))]
    pub class: String,
    /// Mean over the measured time.
    pub mean_bytes: f64,
    /// Highest.
    pub max_bytes: u32,
    /// What the advertised credits stand for; none when infinite.
    pub capacity_bytes: Option<u32>,
}

/// Something that several share: how much of it was in use, and how long others waited for it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Resource {
    /// Which one it is, for those who read results in Rust.
    #[serde(skip)]
    pub id: ResourceId,
    /// Path of names: `server.memory`, `sw0.core.port3`.
    pub name: String,
    /// Kind: `memory`, `read_trackers`, `walkers`, `core` and so on.
    #[serde(serialize_with = "name_of_kind")]
    #[schemars(with = "String")]
    pub kind: ResourceKind,
    /// How many it serves at a time.
    pub places: u32,
    /// How much there is of it, in words: `180 GB/s`, `64 engines`.
    pub limit: String,
    /// Part of the measured time, times places, that it was in use.
    pub utilisation: f64,
    /// How often it was asked in the measured time.
    pub served: u64,
    /// Time that others waited for it, added up, s; none for inputs of a crossbar: egresses that wait for one are held by the
    /// core, in their link's attribution.
    pub waited_s: Option<f64>,
    /// The same per time that it was asked, ns.
    pub waited_ns_mean: Option<f64>,
    /// How many waited at a time, mean.
    pub waiting_mean: Option<f64>,
}

/// Errors of the transaction layer that one port detected.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorCount {
    /// `device.port`.
    pub port: String,
    /// `poisoned_tlp`, `ecrc_error`, `completion_timeout`, `unexpected_completion` or `unsupported_request`.
    pub error: &'static str,
    /// Bit in the Uncorrectable Error Status register.
    pub status_bit: u8,
    /// How often, over the whole run.
    pub count: u64,
}

/// Numbers in an instrument's own words.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Instrument {
    /// Name of the workload.
    pub workload: String,
    /// Kind of the workload.
    pub kind: String,
    /// Name and value.
    pub metrics: Vec<NamedValue>,
}

/// One number of an instrument.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NamedValue {
    /// Name with unit.
    pub name: String,
    /// Value.
    pub value: f64,
}

/// A parameter without a specification or datasheet behind it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Assumption {
    /// Dotted path.
    pub path: String,
    /// Value in force.
    pub value: String,
    /// How it is known.
    #[schemars(with = "Provenance")]
    pub provenance: String,
    /// Where it comes from.
    pub source: String,
    /// Chosen so that nothing depends on it: something is switched off, or never the limit.
    pub is_out_of_the_way: bool,
}

fn name_of_kind<S: Serializer>(kind: &ResourceKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

impl From<Metric> for NamedValue {
    fn from(metric: Metric) -> Self {
        Self { name: metric.name, value: metric.value }
    }
}
