//! From configuration to ports, devices and routes.

use crate::addresses::Addresses;
use crate::bridge::Bridge;
use crate::channels::PortChannels;
use crate::config::{
    BridgeConfig, DeviceKind, EndpointConfig, FabricConfig, LinkConfig, LinkPower, PortConfig,
};
use crate::corruption::{self, Corruption};
use crate::endpoint::Endpoint;
use crate::fabric::Device;
use crate::link::Sleep;
use crate::machines::Machines;
use crate::numbering;
use crate::packet::RouteEnd;
use crate::port::{Carries, Owner, Port, PortId, PortSettings};
use crate::root_complex::RootComplex;
use crate::routing::Routes;
use crate::switch::{MAX_SWITCH_PORTS, Switch};
use crate::wire::{Faults, WireTiming};
use lanewise_engine::random::RandomStream;
use lanewise_pcie::enumeration::NoRoom;
use lanewise_pcie::tlp::FRAMING_NON_FLIT;
use lanewise_pcie::virtual_channel::{ChannelArbitration, ChannelMap};
use lanewise_units::order::sort_by_key;
use lanewise_units::{Bytes, Span};
use std::sync::Arc;

/// Why a configuration is not a fabric. The scenario layer finds these first, with lines and hints.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AssemblyError {
    /// A link names a device or port that does not exist.
    #[error("link {link} ends at device {device} port {port}, which does not exist")]
    NoSuchPort {
        /// Index of the link.
        link: usize,
        /// Index of the device.
        device: usize,
        /// Index of the port.
        port: usize,
    },
    /// Two links end at one port.
    #[error("two links end at port {port} of `{device}`")]
    PortInUse {
        /// Name of the device.
        device: String,
        /// Index of the port.
        port: usize,
    },
    /// A port of a switch or an endpoint that faces upstream has no link.
    #[error("`{device}` is not below any root complex")]
    NotBelowRoot {
        /// Name of the device.
        device: String,
    },
    /// The links form a loop.
    #[error("the links below `{device}` form a loop")]
    Loop {
        /// Name of the device.
        device: String,
    },
    /// A port does not have credits and a weight for each virtual channel of its link.
    #[error("port {port} of `{device}` has settings for {found} virtual channels, its link has {channels}")]
    WrongChannels {
        /// Name of the device.
        device: String,
        /// Index of the port.
        port: usize,
        /// Channels that it has settings for, VC0 included.
        found: usize,
        /// Channels of its link, VC0 included.
        channels: usize,
    },
    /// A link has virtual channels beyond VC0 and runs in Flit Mode.
    #[error("the link above `{device}` has several virtual channels in Flit Mode, which is left out")]
    ChannelsInFlitMode {
        /// Name of the lower device.
        device: String,
    },
    /// A device leaves silence after each TLP and its link runs in Flit Mode.
    #[error(
        "`{device}` leaves a gap after each TLP, and its link is in Flit Mode, where TLPs follow each other in flits"
    )]
    GapsInFlitMode {
        /// Name of the device.
        device: String,
    },
    /// A switch has more ports than the model allows.
    #[error("`{device}` has {ports} ports; a switch has at most {MAX_SWITCH_PORTS}")]
    TooManyPorts {
        /// Name of the device.
        device: String,
        /// How many it has.
        ports: usize,
    },
    /// A side of a bridge and the other one do not name each other, in two machines.
    #[error("`{device}` is one side of a bridge without another in another machine")]
    NoOtherSide {
        /// Name of the device.
        device: String,
    },
    /// Registers below a root complex do not fit below 4 GiB.
    #[error("below `{device}`: {no_room}")]
    NoRoomBelow4Gib {
        /// Name of the root complex.
        device: String,
        /// What they take.
        no_room: NoRoom,
    },
}

/// Everything a fabric consists of, at rest.
pub(crate) struct Parts {
    pub(crate) ports: Vec<Port>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) root_complexes: Vec<RootComplex>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) devices: Vec<Device>,
    pub(crate) device_ports: Vec<Vec<PortId>>,
    pub(crate) addresses: Addresses,
}

/// Where the link of each port leads: index of the link, and whether the port is its upper end.
pub(crate) type PortLinks = Vec<Vec<Option<(usize, bool)>>>;

/// A configuration whose links form trees.
pub(crate) struct Trees {
    pub(crate) links: PortLinks,
    /// Devices in the order of their paths.
    pub(crate) order: Vec<usize>,
    /// The root complex above each device.
    roots: Vec<usize>,
}

/// Follows the links of a configuration.
pub(crate) fn checked_trees(config: &FabricConfig) -> Result<Trees, AssemblyError> {
    let links = port_links(config)?;
    let order = numbering::order(config);
    let roots = roots(config, &links, &order)?;
    Ok(Trees { links, order, roots })
}

pub(crate) fn assemble(config: &FabricConfig) -> Result<Parts, AssemblyError> {
    let Trees { links, order, roots } = checked_trees(config)?;
    check_channels(config, &links)?;
    check_gaps(config)?;
    let machines = Machines::build(config, &links, &order)?;
    let memory = machines.all.iter().map(|machine| match &config.devices[machine.root].kind {
        DeviceKind::RootComplex(settings) => settings.memory_base,
        DeviceKind::Switch(_) | DeviceKind::Endpoint(_) => 0,
    });
    let mut parts = Parts {
        ports: Vec::new(),
        switches: Vec::new(),
        root_complexes: Vec::new(),
        endpoints: Vec::new(),
        devices: Vec::new(),
        device_ports: number_ports(config, &order),
        addresses: Addresses::new(&machines, memory),
    };
    let root_index = root_indices(config, &order);
    let mut kinds: Vec<Arc<EndpointConfig>> = Vec::new();
    let mut owners = vec![None; config.devices.len()];
    for index in order.iter().copied() {
        let device = &config.devices[index];
        let ports: Vec<PortId> = parts.device_ports[index].clone();
        let routes = routes(&links, &machines, index);
        let owner = match &device.kind {
            DeviceKind::RootComplex(settings) => {
                let jitter = RandomStream::new(config.seed, &device.name, "memory latency");
                parts.root_complexes.push(RootComplex::new(settings.clone(), ports, routes, jitter));
                Owner::RootComplex(parts.root_complexes.len() as u32 - 1)
            }
            DeviceKind::Switch(settings) => {
                parts.switches.push(Switch::new(settings.clone(), ports, routes));
                if let Some(made) = Corruption::new(&settings.corruption, &device.name, config.seed) {
                    parts.switches.last_mut().expect("just pushed").corrupt(made);
                }
                Owner::Switch(parts.switches.len() as u32 - 1)
            }
            DeviceKind::Endpoint(settings) => {
                let route_end = RouteEnd(machines.endpoint(index));
                let mps = device.ports[0].mps;
                let shared = share(&mut kinds, settings.clone());
                parts.endpoints.push(Endpoint::new(shared, ports[0], route_end, mps));
                Owner::Endpoint(parts.endpoints.len() as u32 - 1)
            }
        };
        owners[index] = Some(Device { owner, root_complex: root_index[roots[index]] });
    }
    parts.devices = owners.into_iter().map(|device| device.expect("every device has a number")).collect();
    let sides = build_bridges(config, &order, &mut parts)?;
    place_memory(config, &machines, &mut parts);
    make_ports(config, (&links, &order), &sides, &mut parts);
    Ok(parts)
}

/// By device, the switch that is the inside of its bridge, and its port there; none for most.
type Sides = Vec<Option<(u32, u16)>>;

/// Puts a switch of two ports between the sides of each bridge.
fn build_bridges(config: &FabricConfig, order: &[usize], parts: &mut Parts) -> Result<Sides, AssemblyError> {
    let mut sides = vec![None; config.devices.len()];
    let bridge_of = |device: usize| match &config.devices.get(device)?.kind {
        DeviceKind::Endpoint(endpoint) => endpoint.bridge,
        DeviceKind::RootComplex(_) | DeviceKind::Switch(_) => None,
    };
    for one in order.iter().copied() {
        let Some(bridge) = bridge_of(one) else { continue };
        let other = bridge.other;
        let is_same = bridge_of(other) == Some(BridgeConfig { other: one, ..bridge });
        if !is_same || parts.devices[one].root_complex == parts.devices[other].root_complex {
            return Err(AssemblyError::NoOtherSide { device: config.devices[one].name.clone() });
        }
        if sides[one].is_some() {
            continue;
        }
        let ends = [one, other].map(|side| {
            let Device { owner: Owner::Endpoint(index), root_complex } = parts.devices[side] else {
                panic!("a side of a bridge is an endpoint")
            };
            (parts.endpoints[index as usize].route_end, root_complex)
        });
        let mut by_number = [(ends[0].0, 1), (ends[1].0, 0)];
        sort_by_key(&mut by_number, |(end, _)| *end);
        let mut routes = Routes::default();
        by_number.iter().for_each(|(end, port)| routes.add(*port, end.0, end.0 + 1));
        let ports = [one, other].map(|side| parts.device_ports[side][0]).to_vec();
        let mut inside = Switch::new(bridge.inside(), ports, routes);
        inside.bridge(Bridge::new(ends, &parts.addresses));
        parts.switches.push(inside);
        let number = parts.switches.len() as u32 - 1;
        (sides[one], sides[other]) = (Some((number, 0)), Some((number, 1)));
    }
    Ok(sides)
}

/// Tells root complexes where the buffers of endpoints are, in the memory of another socket or kept warm by the processor, and with
/// whom they have IDE streams.
fn place_memory(config: &FabricConfig, machines: &Machines, parts: &mut Parts) {
    for (index, device) in config.devices.iter().enumerate() {
        let DeviceKind::Endpoint(endpoint) = &device.kind else { continue };
        let root_complex = &mut parts.root_complexes[parts.devices[index].root_complex as usize];
        let owner = RouteEnd(machines.endpoint(index));
        if let Some(socket) = endpoint.memory_socket {
            root_complex.place_memory(owner, socket);
        }
        if endpoint.warm_buffers {
            root_complex.warm_buffers(owner);
        }
        if let Some(ats) = &endpoint.dma.ats {
            root_complex.trust_translations_of(owner, ats.page);
        }
        if let Some(ide) = &endpoint.dma.ide {
            root_complex.protect(owner, ide);
        }
    }
}

fn port_links(config: &FabricConfig) -> Result<PortLinks, AssemblyError> {
    let mut links: PortLinks = config.devices.iter().map(|device| vec![None; device.ports.len()]).collect();
    for (index, link) in config.links.iter().enumerate() {
        for ((device, port), upper) in [(link.upper, true), (link.lower, false)] {
            let slot = links
                .get_mut(device)
                .and_then(|ports| ports.get_mut(port))
                .ok_or(AssemblyError::NoSuchPort { link: index, device, port })?;
            if slot.is_some() {
                let device = config.devices[device].name.clone();
                return Err(AssemblyError::PortInUse { device, port });
            }
            *slot = Some((index, upper));
        }
    }
    Ok(links)
}

/// Both ends of a link with several virtual channels know of all of them.
fn check_channels(config: &FabricConfig, links: &PortLinks) -> Result<(), AssemblyError> {
    let several = |link: &&LinkConfig| link.channels.channels() > 1;
    if !config.links.iter().any(|link| several(&link)) {
        return Ok(());
    }
    if let Some(link) = config.links.iter().filter(several).find(|link| link.mode.flit) {
        return Err(AssemblyError::ChannelsInFlitMode { device: config.devices[link.lower.0].name.clone() });
    }
    for (device, links) in config.devices.iter().zip(links) {
        for (port, (settings, link)) in device.ports.iter().zip(links).enumerate() {
            let channels = link.map_or(1, |(link, _)| config.links[link].channels.channels());
            let weights = match &settings.channel_arbitration {
                ChannelArbitration::WeightedRoundRobin { weights } => weights.len(),
                ChannelArbitration::Strict | ChannelArbitration::RoundRobin => channels,
            };
            for found in [settings.more_credits.len() + 1, weights] {
                if channels > 1 && found != channels {
                    let device = device.name.clone();
                    return Err(AssemblyError::WrongChannels { device, port, found, channels });
                }
            }
        }
    }
    Ok(())
}

/// Gaps between TLPs are outside Flit Mode, where there are no gaps between TLPs but in flits.
fn check_gaps(config: &FabricConfig) -> Result<(), AssemblyError> {
    for link in config.links.iter().filter(|link| link.mode.flit) {
        let device = &config.devices[link.lower.0];
        if matches!(&device.kind, DeviceKind::Endpoint(endpoint) if !endpoint.dma.tlp_gap.is_zero()) {
            return Err(AssemblyError::GapsInFlitMode { device: device.name.clone() });
        }
    }
    Ok(())
}

/// The root complex above each device, itself for a root complex: visits every device depth first.
fn roots(config: &FabricConfig, links: &PortLinks, order: &[usize]) -> Result<Vec<usize>, AssemblyError> {
    let mut roots = vec![None; config.devices.len()];
    for index in order.iter().copied() {
        if matches!(config.devices[index].kind, DeviceKind::RootComplex(_)) {
            visit(config, links, index, index, &mut roots)?;
        }
    }
    for (device, root) in config.devices.iter().zip(&roots) {
        if root.is_none() {
            return Err(AssemblyError::NotBelowRoot { device: device.name.clone() });
        }
        if matches!(device.kind, DeviceKind::Switch(_)) && device.ports.len() > MAX_SWITCH_PORTS {
            return Err(AssemblyError::TooManyPorts {
                device: device.name.clone(),
                ports: device.ports.len(),
            });
        }
    }
    Ok(roots.into_iter().flatten().collect())
}

fn visit(
    config: &FabricConfig,
    links: &PortLinks,
    root: usize,
    index: usize,
    roots: &mut [Option<usize>],
) -> Result<(), AssemblyError> {
    if roots[index].replace(root).is_some() {
        return Err(AssemblyError::Loop { device: config.devices[index].name.clone() });
    }
    for (link, upper) in links[index].iter().flatten() {
        if *upper {
            visit(config, links, root, config.links[*link].lower.0, roots)?;
        }
    }
    Ok(())
}

/// Gives numbers to ports, device by device in the order of their paths.
fn number_ports(config: &FabricConfig, order: &[usize]) -> Vec<Vec<PortId>> {
    let mut numbers = vec![Vec::new(); config.devices.len()];
    let mut next = 0;
    for index in order.iter().copied() {
        let end = next + config.devices[index].ports.len() as u32;
        numbers[index] = (next..end).map(PortId).collect();
        next = end;
    }
    numbers
}

/// The number of each root complex among them, by device; nothing to go by for other devices.
fn root_indices(config: &FabricConfig, order: &[usize]) -> Vec<u32> {
    let mut numbers = vec![0; config.devices.len()];
    let is_root = |index: &&usize| matches!(config.devices[**index].kind, DeviceKind::RootComplex(_));
    for (number, index) in order.iter().filter(is_root).enumerate() {
        numbers[*index] = number as u32;
    }
    numbers
}

/// The endpoints below each port, by the buses that firmware gave it. They are depth first, so those of a later port come later.
fn routes(links: &PortLinks, machines: &Machines, index: usize) -> Routes {
    let mut routes = Routes::default();
    for (port, link) in links[index].iter().enumerate() {
        if let Some((_, true)) = link {
            let (first, end) = machines.endpoints_below(index, port);
            routes.add(port as u16, first, end);
        }
    }
    routes
}

fn make_ports(
    config: &FabricConfig,
    (links, order): (&PortLinks, &[usize]),
    sides: &Sides,
    parts: &mut Parts,
) {
    let mut kinds: Vec<Arc<PortSettings>> = Vec::new();
    for index in order.iter().copied() {
        let device = &config.devices[index];
        for (port, settings) in device.ports.iter().enumerate() {
            let id = parts.device_ports[index][port];
            let (owner, number) = match sides[index] {
                Some((inside, side)) => (Owner::Switch(inside), side),
                None => (parts.devices[index].owner, port as u16),
            };
            let made = match links[index][port] {
                Some((link, upper)) => {
                    let link = &config.links[link];
                    let (device, other) = if upper { link.lower } else { link.upper };
                    let peer = parts.device_ports[device][other];
                    let peers = &config.devices[device].ports[other];
                    let shared =
                        share(&mut kinds, PortSettings::new(settings, WireTiming::new(link), link.power));
                    let mut made = Port::new(owner, number, peer, (settings, peers), shared);
                    made.faults = faults(config, link, upper);
                    made.sleep = Sleep::new(&link.power);
                    made.sleeps = made.sleep.is_some();
                    if link.channels.channels() > 1 {
                        give_channels(&mut made, link.channels, (settings, peers), parts);
                    }
                    if let DeviceKind::Endpoint(endpoint) = &config.devices[index].kind {
                        leave_gaps(&mut made, endpoint.dma.tlp_gap, link.channels, (settings, peers));
                    }
                    made
                }
                // A port without a link is its own peer and never comes up.
                None => {
                    let shared = share(
                        &mut kinds,
                        PortSettings::new(settings, WireTiming::unconnected(), LinkPower::default()),
                    );
                    Port::unconnected(owner, number, id, settings, shared)
                }
            };
            debug_assert_eq!(parts.ports.len(), id.index());
            if let Owner::Switch(switch) = owner {
                parts.switches[switch as usize].add_settings(Arc::clone(&made.settings));
            }
            parts.ports.push(made);
        }
    }
    find_error_free_links(parts);
    if corruption::anywhere(config) {
        parts.endpoints.iter_mut().for_each(Endpoint::watch_all_reads);
    }
}

/// Lets a port, and the device that it belongs to, use the virtual channels of its link.
fn give_channels(
    port: &mut Port,
    map: ChannelMap,
    (settings, peers): (&PortConfig, &PortConfig),
    parts: &mut Parts,
) {
    port.carries = Carries::Channels;
    port.channels = Some(PortChannels::new(map, settings, peers));
    port.receiver.add_channels(settings);
    match port.owner {
        Owner::Switch(index) => parts.switches[index as usize].add_channels(port.index, &map),
        Owner::Endpoint(index) => {
            parts.endpoints[index as usize].use_channels(map, &settings.channel_arbitration)
        }
        Owner::RootComplex(_) => {}
    }
}

/// Lets a port leave a silence after each TLP.
fn leave_gaps(port: &mut Port, gap: Span, map: ChannelMap, (settings, peers): (&PortConfig, &PortConfig)) {
    if !gap.is_zero() {
        port.carries = Carries::Channels;
        port.channels.get_or_insert_with(|| PortChannels::new(map, settings, peers)).tlp_gap = gap;
    }
}

/// Settings equal to these, shared if there are any yet.
fn share<T: PartialEq>(kinds: &mut Vec<Arc<T>>, settings: T) -> Arc<T> {
    // Neighbours are most likely to be alike.
    if let Some(known) = kinds.iter().rev().find(|known| ***known == settings) {
        return Arc::clone(known);
    }
    kinds.push(Arc::new(settings));
    Arc::clone(&kinds[kinds.len() - 1])
}

/// Whether on a error-free link every Ack is there before the replay timer runs out: with timers as PCIe Base 6.3 §3.6.2.1 has them.
fn acks_come_in_time(port: &Port, peer: &Port) -> bool {
    let wire = &port.settings.wire;
    // Headers, prefixes and digest take less than this.
    let longest = |end: &Port| wire.span(end.settings.mps + FRAMING_NON_FLIT + Bytes::new(128));
    // An Ack for the TLP before may start the timer as soon as a TLP is on the wire.
    let to_peer = longest(port) + wire.propagation + peer.settings.receive_latency;
    let back = wire.propagation + port.settings.receive_latency;
    // What may go before an Ack that is due: a TLP that is being sent, an UpdateFC of each kind, and the ordered sets that fall due
    // meanwhile.
    let dllps = wire.dllp * (u64::from(peer.channel_numbers().end) * 3 + 1);
    let packets = longest(peer) + dllps + wire.symbol;
    let ahead = packets + wire.most_skips(packets);
    !port.sleeps && to_peer + peer.settings.receiver.ack.latency + ahead + back < port.settings.replay_timer
}

/// On a link without faults and flits, what arrives when is known when it is sent. At a switch with a shared memory, or with
/// storage, it is an event all the same: room in it and writes to it are given out in the order of arrival over all ports.
fn find_error_free_links(parts: &mut Parts) {
    for index in 0..parts.ports.len() {
        let error_free = |port: &Port| port.faults.is_none() && port.settings.wire.flit.is_none();
        let port = &parts.ports[index];
        let peer = &parts.ports[port.peer.index()];
        let linked = port.peer.index() != index;
        let error_free = linked && error_free(port) && error_free(peer);
        let into_queues = match port.owner {
            Owner::Switch(switch) => !parts.switches[switch as usize].takes_in_turn(),
            Owner::RootComplex(_) | Owner::Endpoint(_) => false,
        };
        let watched = error_free && acks_come_in_time(port, peer);
        let port = &mut parts.ports[index];
        port.error_free_non_flit = error_free;
        port.transmitter.replay_timer_watched = watched;
        port.delivers_ahead = error_free && into_queues;
    }
}

fn faults(config: &FabricConfig, link: &LinkConfig, upper: bool) -> Option<Box<Faults>> {
    let (settings, direction) = match upper {
        true => (&link.faults_downstream, "bit errors downstream"),
        false => (&link.faults_upstream, "bit errors upstream"),
    };
    let below = &config.devices[link.lower.0].name;
    Faults::new(settings, link.mode, || RandomStream::new(config.seed, below, direction))
}
