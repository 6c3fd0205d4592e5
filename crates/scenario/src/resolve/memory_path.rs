//! Stacks, memory and caches of a host; sockets and address translation, where a scenario has them.

use super::computed::Computed;
use super::{Inputs, Settings, bars};
use crate::idle::Idle;
use crate::parameter::{Output, Provenance};
use crate::parameters::{BuffersChoice, EndpointParameters, HostParameters};
use crate::problem::Problem;
use crate::value::Auto;
use lanewise_fabric::config::{
    AtsConfig, BankConfig, CacheConfig, IommuConfig, MemoryConfig, SocketsConfig, StackConfig,
};
use lanewise_fabric::ports::LINE;
use lanewise_fabric::workload::Target;
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::{Bytes, Rate, Span};
use lanewise_workload::LoadConfig;
use lanewise_workload::load::dma::DmaConfig;
use std::collections::{BTreeMap, HashSet};

/// What automatic tracking entries allow for on top of `memory_latency`: queues at memory, walks, another socket. Assumed.
const QUEUES: Span = Span::from_us(1);
/// What a read from a warm cache takes less than one from memory. pcie-bench public data set, E5-2630: 558 and 614 ns.
const CACHE_SAVES: Span = Span::from_ns(56);

/// The stack of each slot: numbers that are given are kept, those of slots without one follow.
pub(crate) fn stacks(inputs: &Inputs<'_>, instance: usize) -> Vec<u16> {
    let slots = &inputs.topology.slots[inputs.topology.instances[instance].component];
    // Numbers without gaps, so that no stack is without a slot.
    let mut numbers = BTreeMap::new();
    for (index, slot) in slots.iter().enumerate() {
        let next = numbers.len() as u16;
        numbers.entry(slot.stack.ok_or(index)).or_insert(next);
    }
    slots.iter().enumerate().map(|(index, slot)| numbers[&slot.stack.ok_or(index)]).collect()
}

/// Settings of every stack.
pub(crate) fn stack(
    inputs: &Inputs<'_>,
    instance: usize,
    host: &HostParameters,
    computed: &mut Computed,
) -> StackConfig {
    let given = &host.stack;
    let read_trackers = given.read_trackers.given().unwrap_or_else(|| {
        let entries = automatic_trackers(inputs, instance, host);
        let path = format!("{}.stack.read_trackers", inputs.component_of(instance).name);
        let source = "twice what the links of a stack can ask for in lines: never the limit";
        computed.parameter(path, entries.to_string(), Provenance::Assumed, source);
        entries
    });
    StackConfig {
        read_trackers,
        read_bandwidth: given.read_bandwidth,
        write_bandwidth: given.write_bandwidth,
        peer_rate: host.peer.rate,
    }
}

/// Bandwidth times latency of the widest stack, twice, in lines.
fn automatic_trackers(inputs: &Inputs<'_>, instance: usize, host: &HostParameters) -> u32 {
    let slots = &inputs.topology.slots[inputs.topology.instances[instance].component];
    let mut rates: BTreeMap<u16, u64> = BTreeMap::new();
    for (slot, stack) in slots.iter().zip(stacks(inputs, instance)) {
        let (bytes, seconds) =
            LinkMode::new(slot.shape.generation, slot.shape.width).coded_bytes_per_second();
        *rates.entry(stack).or_default() += bytes.div_ceil(seconds);
    }
    let widest = Rate::from_bytes_per_second(rates.into_values().max().unwrap_or(0).max(1));
    // The least that a read asks for, as far as the number of automatic entries goes.
    let line = widest.span_ceil(LINE);
    let latency = host.memory_latency + host.memory_latency_jitter * 8 + QUEUES;
    (2 * latency.div_ceil(line)).min(1 << 20) as u32
}

/// The memory of a socket.
pub(crate) fn memory(host: &HostParameters) -> MemoryConfig {
    let given = &host.memory;
    let (cycle, row) = (given.row_cycle, given.row);
    MemoryConfig {
        rate: host.memory_bandwidth,
        channels: given.channels,
        interleave: given.interleave,
        banks: given.banks.map(|per_channel| BankConfig { per_channel, cycle, row }),
    }
}

/// The last-level cache of a socket, if devices use it.
pub(crate) fn cache(
    inputs: &Inputs<'_>,
    instance: usize,
    host: &HostParameters,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<CacheConfig> {
    let given = &host.llc;
    let size = given.size?;
    let name = &inputs.component_of(instance).name;
    let latency = given.latency.given().unwrap_or_else(|| {
        let latency = host.memory_latency.saturating_sub(CACHE_SAVES);
        let source = "`memory_latency` less 56 ns: pcie-bench, E5-2630, warm and cold";
        computed.parameter(format!("{name}.llc.latency"), latency.to_string(), Provenance::Published, source);
        latency
    });
    if given.device_ways > given.ways {
        let component = inputs.topology.instances[instance].component;
        let (path, found) = (format!("{name}.llc.device_ways"), given.device_ways.to_string());
        let problem = Problem::OutOfRange { path, found, low: "0".to_owned(), high: given.ways.to_string() };
        let hint = "a cache has no more than its `ways`".to_owned();
        output.report(inputs.place_of(component, &["llc", "device_ways"]), problem, Some(hint));
    }
    let least = given.block * u64::from(given.ways);
    if size < least {
        let component = inputs.topology.instances[instance].component;
        let (path, found) = (format!("{name}.llc.size"), size.to_string());
        let problem = Problem::OutOfRange { path, found, low: least.to_string(), high: "8 GiB".to_owned() };
        let hint = "a cache has room for a block in each of its `ways`".to_owned();
        output.report(inputs.place_of(component, &["llc", "size"]), problem, Some(hint));
    }
    Some(CacheConfig {
        size,
        ways: given.ways,
        device_ways: given.device_ways,
        block: given.block,
        latency,
        read_bandwidth: given.read_bandwidth,
    })
}

/// Hosts, by instance, where something can cross from one socket to another: slots of several, or a device that names the
/// socket whose memory it uses.
pub(crate) fn crossed_hosts(inputs: &Inputs<'_>) -> HashSet<usize> {
    let crossed_from = |instance: usize| match inputs.settings_of(instance)? {
        Settings::Host(_) => several(inputs, instance).then_some(instance),
        Settings::Endpoint(endpoint) if endpoint.memory_socket != Auto::Auto => {
            inputs.topology.path_up(instance).last()
        }
        _ => None,
    };
    (0..inputs.topology.instances.len()).filter_map(crossed_from).collect()
}

/// The sockets of a host and what is between them.
pub(crate) fn sockets(inputs: &Inputs<'_>, instance: usize, host: &HostParameters) -> SocketsConfig {
    let slots = &inputs.topology.slots[inputs.topology.instances[instance].component];
    let of_port: Vec<u16> = slots.iter().map(|slot| slot.socket as u16).collect();
    let above = inputs.topology.instances.iter().filter_map(|below| below.above);
    let used: HashSet<usize> = above.filter(|(above, _)| *above == instance).map(|(_, slot)| slot).collect();
    SocketsConfig {
        link_of_port: in_turn(&of_port, &used, host.interconnect.links),
        of_port,
        rate: host.interconnect.rate,
        links: host.interconnect.links,
        line: host.interconnect.line,
        line_overhead: host.interconnect.line_overhead,
        latency: host.interconnect.latency,
    }
}

/// A physical link for each slot, given its socket: of each socket, those with something below them take turns.
///
/// Assumed: makers publish no rule. So as many pairs as there are links, from slots of their own, have one each.
fn in_turn(of_port: &[u16], used: &HashSet<usize>, links: u32) -> Vec<u16> {
    let mut next = vec![0; of_port.iter().max().map_or(0, |last| usize::from(*last) + 1)];
    let mut take_turn = |(port, socket): (usize, &u16)| {
        let turn = &mut next[usize::from(*socket)];
        let link = *turn % links;
        *turn += u32::from(used.contains(&port));
        link as u16
    };
    of_port.iter().enumerate().map(&mut take_turn).collect()
}

/// Whether the slots of a host are of several sockets.
fn several(inputs: &Inputs<'_>, host: usize) -> bool {
    let slots = &inputs.topology.slots[inputs.topology.instances[host].component];
    slots.iter().any(|slot| slot.socket != slots[0].socket)
}

/// Address translation, if it is on.
pub(crate) fn iommu(
    inputs: &Inputs<'_>,
    instance: usize,
    host: &HostParameters,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<IommuConfig> {
    let iommu = &host.iommu;
    if !iommu.enabled {
        return None;
    }
    let path = format!("{}.iommu.ways", inputs.component_of(instance).name);
    let ways = iommu.ways.given().unwrap_or(iommu.entries);
    if iommu.ways == Auto::Auto {
        computed.parameter(path.clone(), ways.to_string(), Provenance::Assumed, "fully associative");
    }
    if ways > iommu.entries || !iommu.entries.is_multiple_of(ways) {
        let component = inputs.topology.instances[instance].component;
        let rule = format!("a divisor of `entries`, which is {}", iommu.entries);
        let hint = "each set of the cache has as many ways as any other".to_owned();
        let problem = Problem::BadValue { path, found: ways.to_string(), rule };
        output.report(inputs.place_of(component, &["iommu", "ways"]), problem, Some(hint));
    }
    check_page(inputs, instance, "iommu", iommu.page, output);
    Some(IommuConfig {
        entries: iommu.entries,
        ways,
        page: iommu.page,
        walk_steps: iommu.walk_steps,
        walk_step_latency: iommu.walk_step_latency,
        walkers: iommu.walkers,
        walk_interval: iommu.walk_interval,
    })
}

/// Reports pages that no page table has.
fn check_page(inputs: &Inputs<'_>, instance: usize, group: &str, page: Bytes, output: &mut Output) {
    if page.get().is_power_of_two() {
        return;
    }
    let component = inputs.topology.instances[instance].component;
    let path = format!("{}.{group}.page", inputs.component_of(instance).name);
    let rule = "a power of two, as pages are".to_owned();
    let problem = Problem::BadValue { path, found: page.to_string(), rule };
    output.report(inputs.place_of(component, &[group, "page"]), problem, None);
}

/// The translation cache of a device, if it has one and its host translates addresses.
pub(crate) fn ats(
    inputs: &Inputs<'_>,
    instance: usize,
    endpoint: &EndpointParameters,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<AtsConfig> {
    let ats = &endpoint.ats;
    let host = host_that_translates(inputs, instance)?;
    if ats.entries == 0 {
        return None;
    }
    let host_page = host.iommu.page;
    if let Some(page) = ats.page.given() {
        check_page(inputs, instance, "ats", page, output);
    }
    let most = AtsConfig::most_prefetch(host.rcb.bytes());
    if ats.prefetch > most {
        let component = inputs.topology.instances[instance].component;
        let path = format!("{}.ats.prefetch", inputs.file.components[component].name);
        let (found, low, high) = (ats.prefetch.to_string(), "0".to_owned(), most.to_string());
        let hint = format!(
            "a translation request asks for up to {}, the host's `rcb`, in pages of 8 B each",
            host.rcb.bytes()
        );
        let place = inputs.place_of(component, &["ats", "prefetch"]);
        output.report(place, Problem::OutOfRange { path, found, low, high }, Some(hint));
    }
    let page = ats.page.given().unwrap_or(host_page);
    if ats.page == Auto::Auto {
        let path = format!("{}.ats.page", inputs.component_of(instance).name);
        computed.parameter(path, page.to_string(), Provenance::Assumed, "the page of the host's `iommu`");
    }
    Some(AtsConfig {
        entries: ats.entries,
        page: bars::power_of_two(page),
        prefetch: ats.prefetch,
        requests: ats.requests,
        invalidate_interval: ats.invalidate_interval,
    })
}

/// Pages of the host above a device, if it translates addresses.
pub(crate) fn translated_by(inputs: &Inputs<'_>, instance: usize) -> Option<Bytes> {
    host_that_translates(inputs, instance).map(|host| host.iommu.page)
}

fn host_that_translates<'a>(inputs: &'a Inputs<'_>, instance: usize) -> Option<&'a HostParameters> {
    inputs.host_above(instance).filter(|host| host.iommu.enabled)
}

/// The socket whose memory a device uses; none for its own.
pub(crate) fn memory_socket(
    inputs: &Inputs<'_>,
    instance: usize,
    endpoint: &EndpointParameters,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<u16> {
    let given = endpoint.memory_socket.given();
    if let Some(socket) = given {
        check_socket(inputs, instance, socket, output);
    }
    if given.is_none()
        && let Some(host) = inputs.topology.path_up(instance).last()
        && several(inputs, host)
        && let Some(port) = inputs.port(instance, 0)
        && let Some(own) = own_socket(inputs, instance)
    {
        let source = "the socket of its root port";
        computed.port(inputs, port, "memory_socket", own.to_string(), Provenance::Assumed, source);
    }
    given.map(|socket| socket as u16)
}

/// Reports memory of a socket that the host does not seem to have: sockets are counted from 0, so that each below one with a slot or the
/// memory of some device has one or the other, too.
fn check_socket(inputs: &Inputs<'_>, instance: usize, socket: u32, output: &mut Output) {
    let topology = &inputs.topology;
    let Some(host) = topology.path_up(instance).last() else { return };
    let slots = &topology.slots[topology.instances[host].component];
    let mut known: HashSet<u32> = slots.iter().map(|slot| slot.socket).collect();
    if (0..socket).all(|lower| known.contains(&lower)) {
        return; // In a large tree, too, at once.
    }
    let below = (0..topology.instances.len()).filter(|each| topology.path_up(*each).last() == Some(host));
    known.extend(below.filter_map(|each| match inputs.settings_of(each)? {
        Settings::Endpoint(endpoint) => endpoint.memory_socket.given(),
        _ => None,
    }));
    let Some(missing) = (0..socket).find(|lower| !known.contains(lower)) else { return };
    let component = topology.instances[instance].component;
    let path = format!("{}.memory_socket", inputs.component_of(instance).name);
    let host = &inputs.component_of(host).name;
    let rule = format!(
        "{missing} at most: nothing of `{host}` is on socket {missing}, and sockets are counted from 0"
    );
    let hint = format!("`socket` of a slot of `{host}` says which socket it is on");
    let problem = Problem::BadValue { path, found: socket.to_string(), rule };
    output.report(inputs.place_of(component, &["memory_socket"]), problem, Some(hint));
}

/// The socket of the root port above a device.
fn own_socket(inputs: &Inputs<'_>, instance: usize) -> Option<u32> {
    let (host, slot) = inputs.topology.root_port(instance)?;
    inputs.topology.slots[inputs.topology.instances[host].component].get(slot).map(|slot| slot.socket)
}

/// Whether every transfer of the devices of a component is with the memory of another device. Not where any workload is of another kind
/// than `dma`, whichever its devices are: commands and completions are in host memory.
fn is_for_peers_alone(inputs: &Inputs<'_>, instance: usize, workloads: &[Box<dyn LoadConfig>]) -> bool {
    let component = |instance: usize| inputs.topology.instances[instance].component;
    let mut peers = 0;
    let is_no_use = |load: &dyn LoadConfig| match load.of_kind::<DmaConfig>() {
        Some(load) if component(load.device.0 as usize) != component(instance) => true,
        Some(DmaConfig { target: Target::Endpoint(_), .. }) => {
            peers += 1;
            true
        }
        _ => false,
    };
    workloads.iter().map(|load| &**load).all(is_no_use) && peers > 0
}

/// Paths of parameters that nothing reads: what a host does not have, or nothing of the scenario uses.
pub(crate) fn idle(inputs: &Inputs<'_>, workloads: &[Box<dyn LoadConfig>], idle: &mut Idle) {
    let crossed = crossed_hosts(inputs);
    let redirected = redirecting_hosts(inputs);
    for instance in 0..inputs.topology.instances.len() {
        let name = &inputs.component_of(instance).name;
        if let Some(endpoint) = inputs.endpoint(instance)
            && endpoint.ats.entries > 0
        {
            let path = format!("{name}.ats");
            if translated_by(inputs, instance).is_none() {
                idle.because(path, "the host translates no addresses (`iommu.enabled`)");
            } else if is_for_peers_alone(inputs, instance, workloads) {
                idle.because(path, "it asks for translations of host memory alone, and all its transfers are with other devices");
            }
        }
        match inputs.settings_of(instance) {
            Some(Settings::Host(host)) => {
                if !crossed.contains(&instance) {
                    idle.because(
                        format!("{name}.interconnect"),
                        "nothing crosses from one socket to another",
                    );
                }
                if !host.peer_to_peer && !redirected.contains(&instance) {
                    let reason = "`peer_to_peer` is off, and no switch below redirects peers";
                    idle.because(format!("{name}.peer"), reason);
                }
                idle_of_host(name, host, idle);
            }
            Some(Settings::Endpoint(endpoint)) if !has_cache_above(inputs, instance) => {
                let path = format!("{name}.buffers");
                match endpoint.buffers {
                    BuffersChoice::Warm => {
                        idle.because(path, "the host has no cache for devices (`llc.size`)")
                    }
                    BuffersChoice::Cold => idle.quietly(path),
                }
            }
            _ => {}
        }
    }
    if crossed.is_empty() {
        for component in &inputs.file.components {
            idle.quietly(format!("{}.memory_socket", component.name));
        }
    }
}

/// What of a host is idle because of its own values.
fn idle_of_host(name: &str, host: &HostParameters, idle: &mut Idle) {
    if !host.iommu.enabled {
        idle.because_of(format!("{name}.iommu"), ".enabled", "`iommu.enabled` is off");
    }
    if host.llc.size.is_none() {
        idle.because_of(format!("{name}.llc"), ".size", "without `llc.size` devices meet no cache");
    }
    if host.memory.banks.is_none() {
        for key in ["row_cycle", "row"] {
            idle.because(format!("{name}.memory.{key}"), "without `memory.banks` there are no rows");
        }
        if host.memory.channels == 1 {
            idle.because(format!("{name}.memory.interleave"), "memory has one channel, and no banks");
        }
    }
    if host.shared_outbound_queue.is_some() {
        let reason = "root ports share a queue (`shared_outbound_queue`)";
        idle.because(format!("{name}.completion_queue"), reason);
    }
    if host.shared_outbound_queue.is_none() {
        for key in ["root_port_queue", "root_port_request_queue"] {
            idle.because(format!("{name}.{key}"), "root ports share no queue (`shared_outbound_queue`)");
        }
    }
}

/// Hosts, by instance, to which a switch sends up what peers below it send each other.
fn redirecting_hosts(inputs: &Inputs<'_>) -> HashSet<usize> {
    let host_of = |instance: usize| match inputs.settings_of(instance)? {
        Settings::Switch(switch) if switch.acs_redirect => inputs.topology.path_up(instance).last(),
        _ => None,
    };
    (0..inputs.topology.instances.len()).filter_map(host_of).collect()
}

/// Whether the host above a device has a cache that devices meet.
fn has_cache_above(inputs: &Inputs<'_>, instance: usize) -> bool {
    inputs.host_above(instance).is_some_and(|host| host.llc.size.is_some())
}
