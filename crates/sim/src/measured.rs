//! What a run has measured, read out of its observers into [`crate::results`].
//!
//! Shares are of the measured time; what a direction did in it adds up to it exactly.

use crate::results::{
    Buffer, Direction, ErrorCount, Flow, Ladder, Latency, Link, PercentileInterval, Requester, Resource,
};
use lanewise_fabric::config::{FabricConfig, LinkConfig, PortConfig};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{Part, ResourceKind, ResourceReading, Simulation, StorageAdapterPart};
use lanewise_observe::{CONTROL, DirectionTally, FlowSpec, RequesterState, Use};
use lanewise_units::{Span, SpanSum, Time};
use serde_json::{Map, Value};

const CLASS_NAMES: [&str; 3] = ["posted", "non_posted", "completion"];

/// Flows of a run. `half_width` gives the confidence interval of each flow, as a part of the mean.
pub(crate) fn flows(
    simulation: &Simulation,
    measured: Span,
    half_width: impl Fn(usize) -> Option<f64>,
    percentile: impl Fn(usize) -> Option<PercentileInterval>,
) -> Vec<Flow> {
    let seconds = measured.as_seconds().max(f64::MIN_POSITIVE);
    let tallies = simulation.fabric.observers().flows();
    let flow = |index: usize| {
        let tally = &tallies[index];
        let bytes = tally.payload().get();
        Flow {
            name: tally.spec.name.clone(),
            device: tally.spec.devices.label.clone(),
            devices: tally.spec.devices.names.clone(),
            entry: tally.spec.entry,
            load: simulation.added_by(index),
            direction: tally.spec.direction,
            in_total: is_in_total(&tally.spec),
            goodput_gb_per_s: bytes as f64 / seconds / 1e9,
            goodput_mib_per_s: bytes as f64 / seconds / f64::from(1 << 20),
            confidence_half_width_percent: half_width(index).map(|width| width * 100.0),
            bytes,
            counted: tally.counted(),
            operations: tally.operations(),
            operations_per_s: tally.operations_per_second(seconds),
            latency_ns: tally.latencies().into(),
            operation_latency_ns: tally.operation_latencies().map(Latency::from),
            percentile_interval: percentile(index),
            limited_by: None,
        }
    };
    simulation.listed_flows().map(flow).collect()
}

/// Whether the payload of a flow is in the total of a run.
pub(crate) fn is_in_total(flow: &FlowSpec) -> bool {
    flow.direction != CONTROL && !flow.repeats
}

/// Payload of flows, counted once, 10⁹ B/s.
pub(crate) fn total(flows: &[Flow], measured: Span) -> f64 {
    let bytes: u64 = flows.iter().filter(|flow| flow.in_total).map(|flow| flow.bytes).sum();
    bytes as f64 / measured.as_seconds().max(f64::MIN_POSITIVE) / 1e9
}

/// Links of a run.
pub(crate) fn links(simulation: &Simulation, config: &FabricConfig) -> Vec<Link> {
    let link = |link: &LinkConfig| Link {
        name: config.devices[link.lower.0].name.clone(),
        upper: config.port_path(link.upper),
        lower: config.port_path(link.lower),
        generation: link.mode.generation.to_string(),
        width: link.mode.width.to_string(),
        lanes: link.mode.width.lanes(),
        gt_per_s: link.mode.generation.transfers_e8_per_second() as f64 / 10.0,
        line_code_data_bits: link.mode.line_code().share().0,
        line_code_sent_bits: link.mode.line_code().share().1,
        flit: link.mode.flit,
        mps_bytes: config.devices[link.lower.0].ports[link.lower.1].mps.get(),
        upstream: direction(simulation, link, link.lower, link.upper),
        downstream: direction(simulation, link, link.upper, link.lower),
    };
    config.links.iter().map(link).collect()
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
    Direction {
        ladder: ladder(link, &tally),
        time_attribution: named(&|on| tally.share(on).into()),
        time_attribution_ticks: named(&|on| tally.spent_on(on).ticks().into()),
        measured_ticks: tally.total().ticks(),
        utilisation: 1.0 - silence(&tally),
        tlps: sent.tlps_sent,
        dllps: sent.dllps_sent,
        naks: observers.counters(index(receiver)).errors.naks_sent,
        replays: sent.errors.replays,
    }
}

/// Part of the time that nothing was on the wire.
fn silence(tally: &DirectionTally) -> f64 {
    Use::ALL.iter().filter(|on| on.is_silent()).map(|on| tally.share(*on)).sum()
}

/// What is left at each rung. Floats: none is below the next.
fn ladder(link: &LinkConfig, tally: &DirectionTally) -> Ladder {
    let coded = link.mode.coded_gb_per_s();
    let goodput = coded * tally.share(Use::Payload);
    let link_bandwidth = coded * (1.0 - tally.share(Use::OrderedSet));
    let tlp_bandwidth = link_bandwidth - coded * tally.share(Use::Dllp);
    let after_replays = (tlp_bandwidth - coded * tally.share(Use::Replay)).max(goodput);
    Ladder {
        line_rate_gb_per_s: link.mode.line_rate_bits_per_second() as f64 / 8e9,
        coded_gb_per_s: coded,
        link_bandwidth_gb_per_s: link_bandwidth,
        tlp_bandwidth_gb_per_s: tlp_bandwidth,
        after_replays_gb_per_s: after_replays,
        sent_gb_per_s: (after_replays - coded * silence(tally)).max(goodput),
        goodput_gb_per_s: goodput,
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
            for (number, (level, class)) in levels.iter().zip(&CLASS_NAMES).enumerate() {
                if level.max() > 0 {
                    buffers.push(Buffer {
                        port: config.port_path((index, port)),
                        class: (*class).to_owned(),
                        mean_bytes: level.mean(until),
                        max_bytes: level.max(),
                        capacity_bytes: capacity(settings, number),
                    });
                }
            }
        }
    }
    buffers
}

/// Bytes that the buffers of a class hold, over all virtual channels, as levels are; none where anything is infinite.
fn capacity(port: &PortConfig, class: usize) -> Option<u32> {
    let pools = std::iter::once(&port.credits).chain(&port.more_credits);
    pools.map(|pools| Some(16 * (u32::from(pools[class].header?) + u32::from(pools[class].data?)))).sum()
}

/// Shared resources of a run that were ever asked for.
pub(crate) fn resources(simulation: &Simulation, measured: Span, until: Time) -> Vec<Resource> {
    let resource = |reading: ResourceReading| {
        let ResourceReading { id, name, places, limit, book } = reading;
        let kind = id.kind();
        let seconds = measured.as_seconds().max(f64::MIN_POSITIVE);
        use StorageAdapterPart::{WireIn, WireOut};
        let is_seen_elsewhere = matches!(kind, ResourceKind::SwitchCore | ResourceKind::RequestMetering)
            || matches!(id.part, Part::StorageAdapter(WireIn { .. } | WireOut { .. }));
        let waited = (!is_seen_elsewhere).then_some(book.waited);
        Resource {
            id,
            name,
            kind,
            places,
            limit,
            utilisation: book.busy.as_seconds() / seconds / f64::from(places.max(1)),
            served: book.served,
            waited_s: waited.map(SpanSum::as_seconds),
            waited_ns_mean: waited.map(|waited| waited.as_ns() / book.served.max(1) as f64),
            waiting_mean: waited.map(|waited| waited.as_seconds() / seconds),
        }
    };
    simulation.resources(until).into_iter().map(resource).collect()
}

/// Errors of the transaction layer, by port and kind.
pub(crate) fn errors(simulation: &Simulation, config: &FabricConfig) -> Vec<ErrorCount> {
    let mut found: Vec<_> = simulation.fabric.observers().errors().collect();
    let mut errors = Vec::new();
    for (index, device) in config.devices.iter().enumerate() {
        for port in 0..device.ports.len() {
            let number = simulation.fabric.port_index(DeviceId(index as u32), port);
            for (_, error, count) in found.extract_if(.., |(at, ..)| *at == number) {
                let port = config.port_path((index, port));
                errors.push(ErrorCount { port, error: error.name(), status_bit: error.status_bit(), count });
            }
        }
    }
    errors
}
