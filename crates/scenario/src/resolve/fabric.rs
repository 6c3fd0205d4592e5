//! Puts the fabric's configuration together.

use super::bars;
use super::computed::Computed;
use super::cxl;
use super::errors;
use super::functions;
use super::link::TrainedLink;
use super::memory_path;
use super::payload::Payload;
use super::port::Ports;
use super::{Inputs, Settings};
use super::{side_link, standby};
use crate::parameter::{Layer, LayerTable, Output, Provenance};
use crate::parameters::{
    ArbitrationChoice, BarChoice, BuffersChoice, CoreChoice, EndpointParameters, ForwardingChoice,
    HostParameters, LinkParameters, SwitchParameters, TagChoice,
};
use crate::problem::Problem;
use crate::slots::Slot;
use crate::value::{Auto, LinkShape};
use lanewise_fabric::config::{
    Arbitration, Bar, DeviceConfig, DeviceKind, DmaConfig, EndpointConfig, FabricConfig, FaultConfig,
    Forwarding, Ide, IdeConfig, LinkConfig, PortConfig, PortNames, RootComplexConfig, SocketsConfig,
    SwitchConfig, SwitchCore,
};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::virtual_channel::ChannelMap;
use lanewise_units::{Bytes, Generation, Rate, Span};
use std::collections::BTreeMap;

/// Everything the fabric reads. Devices are numbered like the instances of the topology.
pub(crate) fn build(
    inputs: &Inputs<'_>,
    (trained, maps): (&[Option<TrainedLink>], &[ChannelMap]),
    payload: &Payload,
    ports: Ports,
    seed: u64,
    computed: &mut Computed,
    output: &mut Output,
) -> FabricConfig {
    let crossed = memory_path::crossed_hosts(inputs);
    let port_names: Vec<PortNames> = inputs.topology.slots.iter().map(|slots| port_names(slots)).collect();
    let mut devices = Vec::new();
    for (instance, ports) in ports.into_iter().enumerate() {
        let name = inputs.topology.instances[instance].name.clone();
        let kind = match inputs.settings_of(instance) {
            Some(Settings::Host(host)) => {
                let sockets =
                    crossed.contains(&instance).then(|| memory_path::sockets(inputs, instance, host));
                DeviceKind::RootComplex(root_complex(
                    inputs, instance, host, &ports, sockets, computed, output,
                ))
            }
            Some(Settings::Switch(parameters)) => {
                DeviceKind::Switch(switch(inputs, instance, parameters, computed, output))
            }
            Some(Settings::Endpoint(parameters)) => {
                let flit = trained[instance].as_ref().is_some_and(|link| link.mode.flit);
                DeviceKind::Endpoint(endpoint(inputs, instance, parameters, flit, computed, output))
            }
            // Its problems are reported; numbering goes on.
            _ => continue,
        };
        let port_names = port_names[inputs.topology.instances[instance].component].clone();
        devices.push(DeviceConfig { name, kind, ports, port_names });
    }
    let links = trained.iter().enumerate().filter_map(|(lower, trained)| {
        let parameters = inputs.links[inputs.topology.instances[lower].component].as_ref()?;
        payload.of(lower)?;
        Some(link(inputs.topology.instances[lower].above?, lower, trained.as_ref()?, parameters, maps[lower]))
    });
    let links: Vec<LinkConfig> = links.collect();
    let cxl = cxl::config(inputs, &links, output);
    FabricConfig { devices, links, cxl, seed }
}

/// The names of slots or of a switch's ports; an endpoint has one port, which the file does not name.
fn port_names(slots: &[Slot]) -> PortNames {
    match slots {
        [] => PortNames::from(["port0".to_owned()]),
        slots => slots.iter().map(|slot| slot.name.clone()).collect(),
    }
}

fn link(
    upper: (usize, usize),
    lower: usize,
    trained: &TrainedLink,
    parameters: &LinkParameters,
    channels: ChannelMap,
) -> LinkConfig {
    LinkConfig {
        upper,
        lower: (lower, 0),
        mode: trained.mode,
        clocking: parameters.clocking.meant(),
        propagation: trained.way,
        skip_interval: parameters.skip_interval.given(),
        faults_downstream: FaultConfig {
            bit_error_rate: parameters.bit_error_rate_downstream.0,
            corrupt_tlps: parameters.corrupt_tlps_downstream.clone(),
        },
        faults_upstream: FaultConfig {
            bit_error_rate: parameters.bit_error_rate_upstream.0,
            corrupt_tlps: parameters.corrupt_tlps_upstream.clone(),
        },
        recovery_time: parameters.recovery_time,
        power: standby::power(parameters),
        quicker: 1,
        channels,
    }
}

fn root_complex(
    inputs: &Inputs<'_>,
    instance: usize,
    host: &HostParameters,
    ports: &[PortConfig],
    sockets: Option<SocketsConfig>,
    computed: &mut Computed,
    output: &mut Output,
) -> RootComplexConfig {
    let largest = ports.iter().map(|port| port.mps).max().unwrap_or(Bytes::new(128));
    let rcb = host.rcb.bytes();
    // A completion that is not the last ends on a read completion boundary (PCIe Base 6.3 §2.3.1.1).
    let component = inputs.topology.instances[instance].component;
    let is_stated = |layer: &LayerTable<'_>| {
        layer.layer != Layer::Defaults && layer.table.get("completion_combine").is_some()
    };
    if host.completion_combine.0 < rcb && inputs.file.components[component].layers().iter().any(is_stated) {
        let path = format!("{}.completion_combine", inputs.file.components[component].name);
        let (found, low) = (host.completion_combine.0.to_string(), rcb.to_string());
        let problem = Problem::OutOfRange { path, found, low, high: "4 KiB".to_owned() };
        let hint = "a completion carries whole read completion boundaries: see `rcb`".to_owned();
        output.report(inputs.place_of(component, &["completion_combine"]), problem, Some(hint));
    }
    RootComplexConfig {
        stack_of_port: memory_path::stacks(inputs, instance),
        stack: memory_path::stack(inputs, instance, host, computed),
        memory: memory_path::memory(host),
        more_memory: BTreeMap::new(),
        cache: memory_path::cache(inputs, instance, host, computed, output),
        memory_latency: host.memory_latency,
        memory_latency_jitter: host.memory_latency_jitter,
        read_bandwidth: host.read_bandwidth,
        write_bandwidth: host.write_bandwidth,
        write_overhead: host.write_overhead,
        rcb,
        // What a default says of hosts with the smaller boundary means one boundary here.
        completion_combine_max: host.completion_combine.0.max(rcb).min(largest),
        combine_long_reads: host.combine_long_reads,
        completion_queue: host.completion_queue.filter(|_| host.shared_outbound_queue.is_none()),
        write_latency: host.write_latency,
        shared_outbound_queue: host.shared_outbound_queue,
        root_port_queue: host.root_port_queue,
        root_port_request_queue: host.root_port_request_queue,
        peer_to_peer: host.peer_to_peer,
        forward_latency: host.peer.latency,
        largest_forwarded: host.peer.largest_packet.map(|largest| largest.0),
        memory_base: host.memory_base.get(),
        mmio_base: host.mmio_base.get(),
        core_latency: host.core_latency,
        sockets,
        iommu: memory_path::iommu(inputs, instance, host, computed, output),
        ecrc: host.ecrc,
        errors: errors::of_host(&host.errors),
    }
}

fn switch(
    inputs: &Inputs<'_>,
    instance: usize,
    parameters: &SwitchParameters,
    computed: &mut Computed,
    output: &mut Output,
) -> SwitchConfig {
    let rate = core_rate(inputs, instance, parameters, computed);
    SwitchConfig {
        core: match parameters.core {
            CoreChoice::Crossbar => SwitchCore::Crossbar { port_rate: rate },
            CoreChoice::SharedBus => SwitchCore::shared_bus(rate),
            CoreChoice::SharedMemory => SwitchCore::SharedMemory { rate },
            CoreChoice::Hybrid => {
                SwitchCore::Buses { rate, of_port: buses(inputs, instance, parameters, output) }
            }
        },
        forwarding: match parameters.forwarding {
            ForwardingChoice::CutThrough => Forwarding::CutThrough,
            ForwardingChoice::StoreAndForward => Forwarding::StoreAndForward,
        },
        latency: parameters.latency,
        arbitration: match parameters.arbitration {
            ArbitrationChoice::RoundRobin => Arbitration::RoundRobin,
            ArbitrationChoice::Strict => Arbitration::Strict,
            ArbitrationChoice::WeightedRoundRobin => weights(inputs, instance, parameters, output),
        },
        acs_redirect: parameters.acs_redirect,
        request_metering: parameters.request_metering.then_some(parameters.metered_completion.0),
        storage: [parameters.storage.posted, parameters.storage.non_posted, parameters.storage.completion],
        corruption: errors::of_switch(&parameters.errors),
    }
}

fn weights(
    inputs: &Inputs<'_>,
    instance: usize,
    parameters: &SwitchParameters,
    output: &mut Output,
) -> Arbitration {
    let component = inputs.topology.instances[instance].component;
    let ports = inputs.topology.slots[component].len();
    if parameters.weights.len() != ports {
        let (path, found) =
            (format!("{}.weights", inputs.file.components[component].name), parameters.weights.len());
        let problem = Problem::WrongLength { path, found: found.to_string(), expected: ports.to_string() };
        let hint = "one weight for each port, port0 first".to_owned();
        output.report(inputs.place_of(component, &["weights"]), problem, Some(hint));
    }
    Arbitration::WeightedRoundRobin { weights: parameters.weights.clone() }
}

/// Which bus of a hybrid core each port is on.
fn buses(
    inputs: &Inputs<'_>,
    instance: usize,
    parameters: &SwitchParameters,
    output: &mut Output,
) -> Box<[u16]> {
    let component = inputs.topology.instances[instance].component;
    let ports = inputs.topology.slots[component].len();
    let mut of_port: Vec<Option<u16>> = vec![None; ports];
    let mut reason = None;
    for (bus, group) in parameters.groups.iter().enumerate() {
        for port in group {
            match of_port.get_mut(usize::from(*port)) {
                None => reason = Some(format!("there is no port{port}")),
                Some(Some(_)) => reason = Some(format!("port{port} is in them twice")),
                Some(free) => *free = Some(bus as u16),
            }
        }
    }
    let missing =
        of_port.iter().position(Option::is_none).map(|port| format!("port{port} is in none of them"));
    if let Some(reason) = reason.or(missing) {
        let path = format!("{}.groups", inputs.file.components[component].name);
        let hint = "[[0], [1, 2]] puts port0 on one bus, port1 and port2 on another".to_owned();
        output.report(
            inputs.place_of(component, &["groups"]),
            Problem::BadGroups { path, reason },
            Some(hint),
        );
    }
    of_port.into_iter().map(Option::unwrap_or_default).collect()
}

/// What a link of this shape carries after coding, bytes per second.
pub(super) fn line_rate(shape: LinkShape) -> u64 {
    let (bytes, seconds) = LinkMode::new(shape.generation, shape.width).coded_bytes_per_second();
    bytes.div_ceil(seconds)
}

/// The given rate, or one that leaves the links as the limit.
fn core_rate(
    inputs: &Inputs<'_>,
    instance: usize,
    parameters: &SwitchParameters,
    computed: &mut Computed,
) -> Rate {
    let component = inputs.topology.instances[instance].component;
    let slots = &inputs.topology.slots[component];
    let port_rates = slots.iter().map(|slot| line_rate(slot.shape));
    let links = match parameters.core {
        CoreChoice::Crossbar => port_rates.max().unwrap_or(0),
        CoreChoice::SharedBus => port_rates.sum(),
        // Every byte is written and read.
        CoreChoice::SharedMemory => 2 * port_rates.sum::<u64>(),
        // All that comes in and all that leaves may be on one bus, from and to the others.
        CoreChoice::Hybrid => 2 * port_rates.sum::<u64>(),
    };
    match parameters.core_rate {
        Auto::Given(rate) => rate,
        Auto::Auto => {
            let rate = Rate::from_bytes_per_second(((links as f64 * parameters.speedup.0) as u64).max(1));
            if let Some(mut port) = inputs.port(instance, 0) {
                port.slot = None;
                let source = "never the limit: the links' rates times `speedup`";
                computed.port(inputs, port, "core_rate", rate.to_string(), Provenance::Assumed, source);
            }
            rate
        }
    }
}

fn endpoint(
    inputs: &Inputs<'_>,
    instance: usize,
    parameters: &EndpointParameters,
    flit: bool,
    computed: &mut Computed,
    output: &mut Output,
) -> EndpointConfig {
    let component = inputs.topology.instances[instance].component;
    let tag_width = tag_width(inputs, instance, parameters, flit, computed, output);
    let room = u32::from(tag_width.usable());
    let tags = parameters.tags.given().unwrap_or(room);
    // An automatic width follows the slot; a device with more tags than that uses fewer there.
    if tags > room && parameters.tag_width != TagChoice::Auto {
        let path = format!("{}.tags", inputs.file.components[component].name);
        let problem = Problem::TooManyTags { path, found: tags.to_string(), allowed: room.to_string() };
        output.report(inputs.place_of(component, &["tags"]), problem, Some("see `tag_width`".to_owned()));
    }
    if flit && !parameters.tlp_gap.is_zero() {
        let path = format!("{}.tlp_gap", inputs.file.components[component].name);
        let reason = "a gap after each TLP, and in Flit Mode TLPs follow each other in flits".to_owned();
        let problem = Problem::FlitModeImpossible { path, reason };
        output.report(inputs.place_of(component, &["tlp_gap"]), problem, None);
    }
    let mmio_read_latency = mmio_read_latency(inputs, instance, parameters, computed);
    let mrrs = parameters.mrrs.given().unwrap_or(inputs.firmware.mrrs).0;
    if let Some(port) = inputs.port(instance, 0) {
        if parameters.tags == Auto::Auto || tags > room {
            let source = "as many as the tag field in use can tell apart";
            computed.port(inputs, port, "tags", tags.min(room).to_string(), Provenance::Assumed, source);
        }
        if parameters.mrrs == Auto::Auto {
            computed.port(
                inputs,
                port,
                "mrrs",
                format!("{} B", mrrs.get()),
                Provenance::Spec,
                "firmware.mrrs",
            );
        }
    }
    EndpointConfig {
        mrrs,
        tags: tags.min(room),
        tag_width,
        relaxed_ordering: parameters.relaxed_ordering,
        id_based_ordering: parameters.id_based_ordering,
        traffic_class: parameters.traffic_class,
        ecrc: parameters.ecrc,
        tlp_prefixes: parameters.tlp_prefixes,
        registers: Bar {
            size: bars::power_of_two(parameters.register_bar).get(),
            is_wide: bar_64(inputs, instance, parameters, computed),
        },
        memory_bar: parameters.memory_bar.given().map(bars::power_of_two),
        mmio_read_latency,
        memory_read_latency: parameters.memory_read_latency,
        memory_read_rate: parameters.memory_read_rate,
        request_interval: parameters.request_interval,
        dma: DmaConfig {
            write_unit: parameters.write_unit.given().map(|unit| unit.0),
            read_unit: parameters.read_unit.given().map(|unit| unit.0),
            write_interval: parameters.write_interval,
            read_interval: parameters.read_interval,
            tlp_gap: parameters.tlp_gap,
            path_rate: parameters.path_rate,
            path_latency: parameters.path_latency,
            collects_reads: parameters.collects_reads,
            tag_hold: parameters.tag_hold.given(),
            functions: functions::config(inputs, instance, parameters, tag_width, output),
            ats: memory_path::ats(inputs, instance, parameters, computed, output),
            ide: parameters.ide.mac.unit().map(|unit| IdeConfig {
                ide: Ide { unit, pcrc: parameters.ide.pcrc },
                latency: parameters.ide.latency,
            }),
        },
        completion_latency: parameters.completion_latency,
        write_drain: parameters.write_drain,
        buffer_hold: parameters.buffer_hold,
        memory_socket: memory_path::memory_socket(inputs, instance, parameters, computed, output),
        warm_buffers: parameters.buffers == BuffersChoice::Warm,
        side_link: side_link::of_device(inputs, instance),
        errors: errors::of_device(&parameters.errors),
        bridge: inputs.bridge_of(instance).copied(),
    }
}

/// What a register takes, by the class of the device where no source says.
fn mmio_read_latency(
    inputs: &Inputs<'_>,
    instance: usize,
    parameters: &EndpointParameters,
    computed: &mut Computed,
) -> Span {
    let Auto::Auto = parameters.mmio_read_latency else {
        return parameters.mmio_read_latency.given().unwrap_or_default();
    };
    let (latency, source) = if parameters.rdma.ports > 0 {
        let source = "a load from an adapter for low latency takes 424 ns with its way there and back (andre-richter/pcie-lat issue 9)";
        (Span::from_ns(255), source)
    } else {
        let source = "twelve public loads from adapters, FPGAs and GPUs take 0.42 to 5.5 us, 0.88 in the median, of which some 0.17 are the way there and back";
        (Span::from_ns(700), source)
    };
    if let Some(port) = inputs.port(instance, 0) {
        computed.port(inputs, port, "mmio_read_latency", latency.to_string(), Provenance::Assumed, source);
    }
    latency
}

/// Whether a device's registers are above 4 GiB.
fn bar_64(
    inputs: &Inputs<'_>,
    instance: usize,
    parameters: &EndpointParameters,
    computed: &mut Computed,
) -> bool {
    match parameters.bar {
        BarChoice::Bits64 => true,
        BarChoice::Bits32 => false,
        BarChoice::Auto => {
            let is_wide = parameters.generation >= Generation::Gen3;
            let value = if is_wide { "64-bit" } else { "32-bit" };
            if let Some(port) = inputs.port(instance, 0) {
                let source = "memory BARs of devices of Gen3 and later are of 64 bits in public dumps";
                computed.port(inputs, port, "bar", value.to_owned(), Provenance::Assumed, source);
            }
            is_wide
        }
    }
}

fn tag_width(
    inputs: &Inputs<'_>,
    instance: usize,
    parameters: &EndpointParameters,
    flit: bool,
    computed: &mut Computed,
    output: &mut Output,
) -> TagWidth {
    let component = inputs.topology.instances[instance].component;
    match parameters.tag_width {
        TagChoice::Bits5 => TagWidth::Bits5,
        TagChoice::Bits8 => TagWidth::Bits8,
        TagChoice::Bits10 => TagWidth::Bits10,
        TagChoice::Bits14 => {
            if !flit {
                let path = format!("{}.tag_width", inputs.file.components[component].name);
                let reason = "14 bits, which only Flit Mode has".to_owned();
                let problem = Problem::FlitModeImpossible { path, reason };
                output.report(inputs.place_of(component, &["tag_width"]), problem, None);
            }
            TagWidth::Bits14
        }
        TagChoice::Auto => {
            let recent = |at: usize| {
                inputs.ends(at).is_none_or(|(upper, lower)| {
                    upper.shape.generation >= Generation::Gen4 && lower.shape.generation >= Generation::Gen4
                })
            };
            let all_recent = inputs.topology.path_up(instance).all(recent);
            let (width, text) =
                if all_recent { (TagWidth::Bits10, "10 bits") } else { (TagWidth::Bits8, "8 bits") };
            if let Some(port) = inputs.port(instance, 0) {
                let source = "10 bits where the whole path supports 16 GT/s, PCIe Base 6.3 §2.2.6.2";
                computed.port(inputs, port, "tag_width", text.to_owned(), Provenance::Spec, source);
            }
            width
        }
    }
}
