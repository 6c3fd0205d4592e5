//! CXL.mem: which links carry it, what is at their ends, and the loads of cores on it.

use super::kinds::{WorkloadKind, kind};
use super::workload::{Seat, place, seats};
use super::{Inputs, Settings};
use crate::file::WrittenWorkload;
use crate::parameter::{Output, ParameterTable};
use crate::parameters::{
    ExpanderParameters, LineOrderChoice, PaceChoice, PointerChaseParameters, StoreChoice, StreamParameters,
};
use crate::problem::Problem;
use lanewise_fabric::config::{
    BankConfig, CxlConfig, CxlLinkConfig, ExpanderConfig, FabricConfig, LinkConfig, MemoryConfig,
};
use lanewise_units::{Bytes, Generation, Span, order};
use lanewise_workload::host::lines::Store;
use lanewise_workload::load::stream::{StreamConfig, StreamKind, WHOLE};
use std::collections::BTreeSet;

/// Cores that read and write lines.
pub(super) const STREAM: WorkloadKind =
    kind("stream", &StreamParameters::SCHEMA, &[], |reading, workload| {
        let read = streams(reading.inputs, workload, reading.output);
        reading.add(read);
    })
    .on_lines();

/// Cores that load lines one after the other.
pub(super) const POINTER_CHASE: WorkloadKind =
    kind("pointer-chase", &PointerChaseParameters::SCHEMA, &[], |reading, workload| {
        let read = chases(reading.inputs, workload, reading.output);
        reading.add(read);
    })
    .on_lines();

fn expander_of<'r>(inputs: &'r Inputs<'_>, instance: usize) -> Option<&'r ExpanderParameters> {
    inputs
        .endpoint(instance)
        .map(|endpoint| &endpoint.expander)
        .filter(|expander| expander.capacity.is_some())
}

/// Expanders and the links up to their root ports. A path that does not carry CXL.mem is reported.
pub(super) fn config(inputs: &Inputs<'_>, links: &[LinkConfig], output: &mut Output) -> CxlConfig {
    let mut cxl = CxlConfig::default();
    let mut lowers = BTreeSet::new();
    for instance in 0..inputs.topology.instances.len() {
        let Some(expander) = expander_of(inputs, instance) else { continue };
        let carries = inputs
            .topology
            .path_up(instance)
            .skip(1)
            .all(|above| carries_mem(inputs, instance, above, output));
        if !carries {
            continue;
        }
        cxl.expanders.push(expander_config(instance, expander));
        lowers.extend(
            inputs.topology.path_up(instance).filter(|at| inputs.topology.instances[*at].above.is_some()),
        );
    }
    for (index, link) in links.iter().enumerate().filter(|(_, link)| lowers.contains(&link.lower.0)) {
        check_rate(inputs, link, output);
        cxl.links.extend(link_config(inputs, index, link));
        if let Some(switch) = inputs.switch(link.lower.0) {
            cxl.switches.push((link.lower.0, switch.cxl.latency.unwrap_or(Span::ZERO)));
        }
    }
    idle(inputs, links, &cxl, output);
    // An expander whose link did not train is reported for that.
    let is_linked = |expander: &ExpanderConfig| links.iter().any(|link| link.lower.0 == expander.device);
    cxl.expanders.retain(is_linked);
    cxl
}

/// CXL is negotiated for 32 GT/s and more, and goes on at 16 and 8 GT/s, degraded; below, the link is one of PCI Express. CXL 3.1 §6.
fn check_rate(inputs: &Inputs<'_>, link: &LinkConfig, output: &mut Output) {
    if link.mode.generation < Generation::Gen3 {
        let component = inputs.topology.instances[link.lower.0].component;
        let path = inputs.file.components[component].name.clone();
        let problem = Problem::CxlLinkTooSlow { path, found: link.mode.generation.to_string() };
        let hint =
            "attach it below a faster slot: CXL is made for 32 GT/s, and goes on at 16 and 8".to_owned();
        output.report(inputs.place_of(component, &["attach"]), problem, Some(hint));
    }
}

/// What a link does not read in the flits that it has come to use.
fn idle(inputs: &Inputs<'_>, links: &[LinkConfig], cxl: &CxlConfig, output: &mut Output) {
    let component = |link: &CxlLinkConfig| inputs.topology.instances[links[link.link].lower.0].component;
    for at in order::set(cxl.links.iter().map(component)) {
        let own =
            || cxl.links.iter().filter(|link| component(link) == at).map(|link| links[link.link].mode.flit);
        let path = |key: &str| format!("{}.link.cxl.{key}", inputs.file.components[at].name);
        if own().all(|flit| flit) {
            let reason = "the link is in Flit Mode, where the physical layer keeps flits";
            output.idle.because(path("retry_buffer"), reason);
        }
        if own().all(|flit| !flit) {
            output.idle.because(path("low_latency"), "the link is not in Flit Mode: its flits are of 68 B");
        }
    }
}

/// Whether a host or a switch above an expander carries CXL.mem.
fn carries_mem(inputs: &Inputs<'_>, expander: usize, above: usize, output: &mut Output) -> bool {
    let (carries, key) = match inputs.settings_of(above) {
        Some(Settings::Host(host)) => (host.cxl.mem, "cxl.mem = true"),
        Some(Settings::Switch(switch)) => (switch.cxl.latency.is_some(), "cxl.latency = \"50 ns\""),
        _ => return false,
    };
    if !carries {
        let above = inputs.component_of(above).name.clone();
        let component = inputs.topology.instances[expander].component;
        let path = inputs.file.components[component].name.clone();
        let problem = Problem::NoCxlMem { path, above: above.clone() };
        let hint = format!("set `{above}.{key}` if it does");
        output.report(inputs.place_of(component, &["attach"]), problem, Some(hint));
    }
    carries
}

/// Reports loads whose CXL.io has to share a wire with CXL.mem: each is simulated as if it had the wire to itself, so both would be
/// too fast. It takes a switch: an expander itself has no load but that of cores.
pub(super) fn check_shared_wires(inputs: &Inputs<'_>, fabric: &FabricConfig, output: &mut Output) {
    for link in &fabric.cxl.links {
        let switch = fabric.links[link.link].lower.0;
        let below = |instance: &&usize| inputs.topology.path_up(**instance).skip(1).any(|at| at == switch);
        let (expanders, others): (Vec<usize>, Vec<usize>) = output
            .loaded
            .iter()
            .filter(below)
            .copied()
            .partition(|instance| expander_of(inputs, *instance).is_some());
        let (Some(expander), Some(other)) = (expanders.first(), others.first()) else { continue };
        let name = |instance: usize| inputs.topology.instances[instance].name.clone();
        let (path, expander, switch) = (name(*other), name(*expander), name(switch));
        let hint = "one run for each; or attach one of them elsewhere".to_owned();
        let component = inputs.topology.instances[*other].component;
        let place = inputs.place_of(component, &["attach"]);
        output.report(place, Problem::CxlWireShared { path, expander, switch }, Some(hint));
    }
}

fn expander_config(device: usize, given: &ExpanderParameters) -> ExpanderConfig {
    let (cycle, row) = (given.row_cycle, given.row);
    ExpanderConfig {
        device,
        memory: MemoryConfig {
            rate: given.memory_rate,
            channels: given.channels,
            interleave: given.interleave,
            banks: given.banks.map(|per_channel| BankConfig { per_channel, cycle, row }),
        },
        read_latency: given.read_latency,
        write_latency: given.write_latency,
        read_rate: given.read_rate,
        write_rate: given.write_rate,
    }
}

fn link_config(inputs: &Inputs<'_>, link: usize, plain: &LinkConfig) -> Option<CxlLinkConfig> {
    let (upper, lower) = (plain.upper.0, plain.lower.0);
    let given = &inputs.links[inputs.topology.instances[lower].component].as_ref()?.cxl;
    let m2s_credits = match inputs.settings_of(lower)? {
        Settings::Endpoint(endpoint) => [endpoint.expander.req_credits, endpoint.expander.rwd_credits],
        Settings::Switch(switch) => [switch.cxl.credits; 2],
        _ => return None,
    };
    let s2m_credits = match inputs.settings_of(upper)? {
        Settings::Host(host) => [host.cxl.ndr_credits, host.cxl.drs_credits],
        Settings::Switch(switch) => [switch.cxl.credits; 2],
        _ => return None,
    };
    Some(CxlLinkConfig {
        link,
        low_latency: given.low_latency,
        several_headers: given.several_headers,
        m2s_credits,
        s2m_credits,
        retry_buffer: given.retry_buffer,
        flush_after: given.flush_after,
    })
}

/// Those of the named devices that are memory expanders; others are reported.
fn expanders<P: ParameterTable>(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    device: fn(&P) -> &str,
    output: &mut Output,
) -> Option<(P, Vec<Seat>)> {
    let path = workload.path();
    let (parameters, seats) = seats(inputs, workload, device, output)?;
    if seats.iter().any(|seat| expander_of(inputs, seat.instance).is_none()) {
        let expected = "it is not a memory expander: its `expander.capacity` is none".to_owned();
        let found = device(&parameters).to_owned();
        let hint = format!("name one with a part such as `micron-cz120`, or set `{found}.expander.capacity`");
        let problem = Problem::UnknownDevice { path: format!("{path}.device"), found, expected };
        output.report(place(workload, "device"), problem, Some(hint));
        return None;
    }
    Some((parameters, seats))
}

/// Whether every expander holds the memory of so many cores; reported where one does not.
fn holds(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    seats: &[Seat],
    (cores, span): (u32, Bytes),
    output: &mut Output,
) -> bool {
    let path = workload.path();
    let capacity = |seat: &Seat| Some((expander_of(inputs, seat.instance)?.capacity?, seat.instance));
    let Some((least, smallest)) = seats.iter().filter_map(capacity).min() else { return true };
    let each = Bytes::new(least.get() / u64::from(cores));
    if span <= each {
        return true;
    }
    let name = &inputs.topology.instances[smallest].name;
    let (found, low, high) = (span.to_string(), "4 KiB".to_owned(), each.to_string());
    let problem = Problem::OutOfRange { path: format!("{path}.span"), found, low, high };
    let hint = format!("`{name}` has {least} for {cores} cores, and each goes through its own");
    output.report(place(workload, "span"), problem, Some(hint));
    false
}

fn streams(inputs: &Inputs<'_>, workload: &WrittenWorkload, output: &mut Output) -> Vec<StreamConfig> {
    let path = workload.path();
    let read = expanders(inputs, workload, |read: &StreamParameters| &read.device, output);
    let Some((parameters, seats)) = read else { return Vec::new() };
    let asked = (parameters.cores, parameters.span);
    if !holds(inputs, workload, &seats, asked, output) {
        return Vec::new();
    }
    if parameters.interval.is_zero() {
        output.idle.because(format!("{path}.pace"), "there is no `interval`");
    }
    let config = |seat: Seat| StreamConfig {
        kind: StreamKind::Stream,
        device: seat.device(),
        name: seat.name,
        device_name: seat.device_name,
        cores: parameters.cores,
        outstanding: parameters.outstanding,
        stores: (parameters.stores.0 * WHOLE as f64).round() as u64,
        store: match parameters.store {
            StoreChoice::Cached => Store::Cached,
            StoreChoice::NonTemporal => Store::NonTemporal,
        },
        interval: parameters.interval,
        is_interval_random: parameters.pace == PaceChoice::Random,
        span: parameters.span,
        is_random: parameters.order == LineOrderChoice::Random,
    };
    seats.into_iter().map(config).collect()
}

fn chases(inputs: &Inputs<'_>, workload: &WrittenWorkload, output: &mut Output) -> Vec<StreamConfig> {
    let read = expanders(inputs, workload, |read: &PointerChaseParameters| &read.device, output);
    let Some((parameters, seats)) = read else { return Vec::new() };
    let asked = (parameters.cores, parameters.span);
    if !holds(inputs, workload, &seats, asked, output) {
        return Vec::new();
    }
    let config = |seat: Seat| StreamConfig {
        kind: StreamKind::PointerChase,
        device: seat.device(),
        name: seat.name,
        device_name: seat.device_name,
        cores: parameters.cores,
        outstanding: 1,
        stores: 0,
        store: Store::Cached,
        interval: Span::ZERO,
        is_interval_random: false,
        span: parameters.span,
        is_random: true,
    };
    seats.into_iter().map(config).collect()
}
