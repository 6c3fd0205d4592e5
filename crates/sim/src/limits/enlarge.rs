//! A scenario with one candidate ten times larger: places, credits, tags and rates times ten; times, latencies and
//! bit errors by ten.
//!
//! All of it is done here, on the resolved configuration, whatever the file says. What was worked out from the old size
//! (credits, timers) stays as it is.

use super::candidate::{Candidate, LinkDirection, OfDevice, OfDirection};
use lanewise_cxl::message::{Class, Way};
use lanewise_fabric::config::{
    DeviceKind, EndpointConfig, FabricConfig, MemoryConfig, PortConfig, RootComplexConfig, SwitchConfig,
    SwitchCore,
};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{CxlPart, EndpointPart, HostPart, Part, ResourceId, SwitchPart};
use lanewise_pcie::flow_control::{CreditPool, Scale};
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::tlp::FlowClass;
use lanewise_scenario::{LoadConfig, Scenario};
use lanewise_units::{Bytes, Rate};
use lanewise_workload::Enlarge;

/// How many times larger.
pub(crate) const TIMES: u32 = 10;

/// The scenario with every candidate ten times larger; none when one of them cannot be, or when a run
/// of it might take more memory than it is given.
pub(crate) fn enlarged<'a>(
    scenario: &Scenario,
    candidates: impl IntoIterator<Item = &'a Candidate>,
) -> Option<Scenario> {
    let (mut enlarged, mut larger) = (scenario.clone(), Enlarge::new(TIMES));
    for candidate in candidates {
        enlarge(&mut enlarged, &mut larger, candidate)?;
    }
    enlarged.fits_memory().then_some(enlarged)
}

fn enlarge(scenario: &mut Scenario, larger: &mut Enlarge, candidate: &Candidate) -> Option<()> {
    match candidate {
        Candidate::Direction(at, what) => of_direction(scenario, larger, *at, *what),
        Candidate::WakeUp { link } => {
            let power = &mut scenario.fabric.links[*link].power;
            [&mut power.l0s, &mut power.l1]
                .into_iter()
                .flatten()
                .flat_map(|state| [&mut state.stay, &mut state.exit])
                .for_each(|span| larger.shorten(span));
        }
        Candidate::Device(device, what) => of_device(scenario, larger, *device, *what)?,
        Candidate::Resource { id, .. } => resource(scenario, larger, id)?,
    }
    Some(())
}

fn of_direction(scenario: &mut Scenario, larger: &mut Enlarge, at: LinkDirection, what: OfDirection) {
    let fabric = &mut scenario.fabric;
    let (device, port) = at.port(fabric, what);
    let port = &mut fabric.devices[device].ports[port];
    let link = &mut fabric.links[at.link];
    match what {
        // A link has one mode in both directions.
        OfDirection::Wire => link.quicker = TIMES,
        OfDirection::Credits(class) => credits(port, class),
        OfDirection::RetryBuffer => port.retry_buffer = port.retry_buffer * u64::from(TIMES),
        // Of the way to an Ack, so that as many unacknowledged flits carry more.
        OfDirection::SequenceWindow => {
            larger.shorten(&mut link.propagation);
            for (device, port) in [link.lower, link.upper] {
                larger.shorten(&mut fabric.devices[device].ports[port].receive_latency);
            }
        }
        OfDirection::ReplayTimer => port.replay_timer = port.replay_timer * u64::from(TIMES),
        OfDirection::Errors => {
            let faults = if at.upstream { &mut link.faults_upstream } else { &mut link.faults_downstream };
            faults.bit_error_rate /= f64::from(TIMES);
        }
    }
}

fn of_device(scenario: &mut Scenario, larger: &mut Enlarge, device: usize, what: OfDevice) -> Option<()> {
    let asked = DeviceId(device as u32);
    match what {
        OfDevice::Tags => {
            let endpoint = endpoint(scenario, device)?;
            endpoint.tags *= TIMES;
            if let Some(own) =
                endpoint.dma.functions.as_mut().and_then(|functions| functions.own_tags.as_mut())
            {
                *own = own.saturating_mul(TIMES as u16);
            }
            let enough = TagWidth::ALL.into_iter().find(|width| u32::from(width.usable()) >= endpoint.tags);
            endpoint.tag_width = enough.unwrap_or(TagWidth::Bits14).max(endpoint.tag_width);
        }
        OfDevice::Window => each(scenario, |load| load.more_outstanding(asked, larger))?,
        OfDevice::RequestInterval => {
            let endpoint = endpoint(scenario, device)?;
            larger.shorten(&mut endpoint.request_interval);
            larger.shorten(&mut endpoint.dma.read_interval);
            larger.shorten(&mut endpoint.dma.write_interval);
        }
        OfDevice::TlpGap => larger.shorten(&mut endpoint(scenario, device)?.dma.tlp_gap),
        OfDevice::MemoryLatency => {
            let host = root_complex(scenario, device)?;
            larger.shorten(&mut host.memory_latency);
            larger.shorten(&mut host.memory_latency_jitter);
        }
        OfDevice::SwitchLatency => match &mut scenario.fabric.devices[device].kind {
            DeviceKind::Switch(switch) => larger.shorten(&mut switch.latency),
            DeviceKind::RootComplex(_) | DeviceKind::Endpoint(_) => return None,
        },
        OfDevice::AdapterLatency => each(scenario, |load| load.quicker_adapters(asked, larger))?,
        OfDevice::Beyond => each(scenario, |load| load.faster_wires(asked, larger))?,
        OfDevice::Demand => each(scenario, |load| load.shorten_pauses(asked, larger))?,
    }
    Some(())
}

fn endpoint(scenario: &mut Scenario, device: usize) -> Option<&mut EndpointConfig> {
    match &mut scenario.fabric.devices[device].kind {
        DeviceKind::Endpoint(endpoint) => Some(endpoint),
        DeviceKind::RootComplex(_) | DeviceKind::Switch(_) => None,
    }
}

fn root_complex(scenario: &mut Scenario, device: usize) -> Option<&mut RootComplexConfig> {
    match &mut scenario.fabric.devices[device].kind {
        DeviceKind::RootComplex(host) => Some(host),
        DeviceKind::Endpoint(_) | DeviceKind::Switch(_) => None,
    }
}

/// Credits of all virtual channels of a class, in scaled steps where the field would not hold them otherwise, and as many as
/// that holds.
fn credits(port: &mut PortConfig, class: FlowClass) {
    let widths = Scale::Sixteen.widths();
    let larger = |pool: &mut CreditPool| {
        // No more than half of a counter's values may be out at a time: PCIe Base 6.3 §2.6.1.
        let times = |credits: u16, bits: u8| {
            let (step, most) = (u32::from(Scale::Sixteen.factor()), 1 << (bits - 1));
            (u32::from(credits) * TIMES).clamp(step, most - step) as u16 // Less than a step says infinite.
        };
        pool.header = pool.header.map(|header| times(header, widths.header));
        pool.data = pool.data.map(|data| times(data, widths.data));
    };
    let index = class as usize;
    port.scale[index] = Scale::Sixteen;
    larger(&mut port.credits[index]);
    port.more_credits.iter_mut().for_each(|pools| larger(&mut pools[index]));
}

/// Every load that has a part in a device; none when there is no such load.
fn each(scenario: &mut Scenario, mut enlarge: impl FnMut(&mut dyn LoadConfig) -> Option<()>) -> Option<()> {
    let count = scenario.workloads.iter_mut().filter_map(|load| enlarge(load.as_mut())).count();
    (count > 0).then_some(())
}

fn resource(scenario: &mut Scenario, larger: &mut Enlarge, id: &ResourceId) -> Option<()> {
    let device = id.owner.device().map(|device| device.0 as usize);
    match (id.part, device) {
        // Cores are there for what software of a workload costs.
        (Part::Host(HostPart::Core { .. } | HostPart::BridgeCore { .. }), _) => own(scenario, larger, id),
        (Part::Host(part), Some(device)) => of_host(larger, root_complex(scenario, device)?, part),
        (Part::Switch(part), Some(device)) => match &mut scenario.fabric.devices[device].kind {
            DeviceKind::Switch(switch) => of_switch(larger, switch, part),
            DeviceKind::RootComplex(_) | DeviceKind::Endpoint(_) => None,
        },
        (Part::Endpoint(part), Some(device)) => of_endpoint(larger, endpoint(scenario, device)?, part),
        (Part::Cxl(part), Some(device)) => of_cxl(&mut scenario.fabric, larger, device, part),
        _ => own(scenario, larger, id),
    }
}

/// A resource that a workload has of its own.
fn own(scenario: &mut Scenario, larger: &mut Enlarge, id: &ResourceId) -> Option<()> {
    scenario.workloads.iter_mut().find_map(|load| load.enlarge(id, larger))
}

/// A resource of a host. Memory belongs to a socket; other settings hold for all stacks and all sockets: with one of them, the others
/// become larger.
fn of_host(larger: &mut Enlarge, host: &mut RootComplexConfig, part: HostPart) -> Option<()> {
    match part {
        HostPart::Memory { socket } => {
            let rate = host.memory.rate.bytes_per_second().saturating_mul(TIMES.into());
            own_memory(host, socket).rate = Rate::from_bytes_per_second(rate);
        }
        HostPart::Banks { socket } => {
            let banks = host.memory.banks.as_ref()?.per_channel.saturating_mul(TIMES);
            own_memory(host, socket).banks.as_mut()?.per_channel = banks;
        }
        HostPart::Cache { .. } => larger.rate(host.cache.as_mut()?.read_bandwidth.as_mut()?),
        HostPart::StackReads { .. } => larger.rate(host.stack.read_bandwidth.as_mut()?),
        HostPart::Reads => larger.rate(&mut host.read_bandwidth),
        HostPart::StackWrites { .. } => larger.rate(host.stack.write_bandwidth.as_mut()?),
        HostPart::Writes => {
            larger.rate(&mut host.write_bandwidth);
            larger.shorten(&mut host.write_overhead);
        }
        HostPart::ReadTrackers { .. } => larger.count(&mut host.stack.read_trackers),
        HostPart::OutboundQueue => larger.count(host.shared_outbound_queue.as_mut()?),
        HostPart::PeersIn { .. } | HostPart::PeersOut { .. } => {
            larger.rate(host.stack.peer_rate.as_mut()?);
        }
        HostPart::Walkers => {
            larger.count(&mut host.iommu.as_mut()?.walkers);
        }
        HostPart::WalkTurns => larger.shorten(&mut host.iommu.as_mut()?.walk_interval),
        HostPart::Translations => {
            let iommu = host.iommu.as_mut()?;
            larger.count(&mut iommu.entries);
            larger.count(&mut iommu.ways);
        }
        HostPart::SocketLink { .. } | HostPart::SocketLinkOfPeers { .. } => {
            larger.rate(&mut host.sockets.as_mut()?.rate);
        }
        HostPart::Core { .. } | HostPart::BridgeCore { .. } => return None,
    }
    Some(())
}

/// The memory of one socket, apart from that of the others.
fn own_memory(host: &mut RootComplexConfig, socket: u16) -> &mut MemoryConfig {
    host.more_memory.entry(socket).or_insert_with(|| host.memory.clone())
}

/// A resource of CXL.mem: of the link above a device, or of the memory that it has.
fn of_cxl(fabric: &mut FabricConfig, larger: &mut Enlarge, device: usize, part: CxlPart) -> Option<()> {
    let link = fabric.cxl.links.iter_mut().find(|link| fabric.links[link.link].lower.0 == device)?;
    let expander = fabric.cxl.expanders.iter_mut().find(|expander| expander.device == device);
    match part {
        CxlPart::Wire(_) => fabric.links[link.link].quicker = TIMES,
        CxlPart::Credits(way, class) => {
            let credits = match way {
                Way::M2s => &mut link.m2s_credits,
                Way::S2m => &mut link.s2m_credits,
            };
            larger.count(&mut credits[usize::from(class == Class::Data)]);
        }
        CxlPart::RetryBuffer(_) => larger.count(&mut link.retry_buffer),
        CxlPart::Memory => larger.rate(&mut expander?.memory.rate),
        CxlPart::Banks => larger.count(&mut expander?.memory.banks.as_mut()?.per_channel),
        CxlPart::Reads => larger.rate(expander?.read_rate.as_mut()?),
        CxlPart::Writes => larger.rate(expander?.write_rate.as_mut()?),
    }
    Some(())
}

fn of_switch(larger: &mut Enlarge, switch: &mut SwitchConfig, part: SwitchPart) -> Option<()> {
    match (&mut switch.core, part) {
        (SwitchCore::Crossbar { port_rate: rate }, SwitchPart::Input { .. })
        | (SwitchCore::Buses { rate, .. }, SwitchPart::Bus { .. })
        | (SwitchCore::SharedMemory { rate }, SwitchPart::Memory) => larger.rate(rate),
        (_, SwitchPart::Input { .. } | SwitchPart::Bus { .. } | SwitchPart::Memory) => return None,
        (_, SwitchPart::Storage { .. }) => {
            let sizes = switch.storage.iter_mut().filter(|size| **size > Bytes::ZERO);
            sizes.for_each(|size| larger.bytes(size));
        }
        // Larger completions need fewer headers: the timer runs for less time.
        (_, SwitchPart::Metering { .. }) => larger.bytes(switch.request_metering.as_mut()?),
    }
    Some(())
}

fn of_endpoint(larger: &mut Enlarge, endpoint: &mut EndpointConfig, part: EndpointPart) -> Option<()> {
    match part {
        EndpointPart::ReadPath | EndpointPart::WritePath => {
            larger.rate(endpoint.dma.path_rate.as_mut()?);
        }
        EndpointPart::WriteDrain => larger.rate(&mut endpoint.write_drain),
        EndpointPart::Memory => larger.rate(endpoint.memory_read_rate.as_mut()?),
        EndpointPart::SideLinkOut | EndpointPart::SideLinkIn => {
            larger.rate(&mut endpoint.side_link.as_mut()?.rate);
        }
        EndpointPart::Translations => larger.count(&mut endpoint.dma.ats.as_mut()?.entries),
        EndpointPart::TranslationRequests => larger.count(&mut endpoint.dma.ats.as_mut()?.requests),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_scenario::{Source, load};
    use lanewise_workload::load::fio::NvmeConfig;

    /// One job over two drives has one depth, and both stacks of a host have one rate.
    const SHARED: &str = r#"
        [host.server]
        slots = { "slot1..slot2" = "gen4 x4" }
        stack = { read_bandwidth = "20 GB/s" }
        [endpoint.ssd]
        count = 2
        part = "generic-nvme-gen4-x4"
        attach = "server.*"
        [[workload]]
        kind = "fio"
        name = "job"
        filename = ["ssd[*]"]
        rw = "randread"
        bs = "4 KiB"
        iodepth = 8
        ioengine = "libaio"
    "#;

    fn scenario(memory: &str) -> Scenario {
        let settings = [("run.memory_limit".to_owned(), memory.to_owned())];
        load(&Source::from_text("rig.toml", SHARED), &settings).unwrap_or_else(|found| panic!("{found}"))
    }

    fn depth(scenario: &Scenario) -> u32 {
        let nvme = scenario.workloads[0].of_kind::<NvmeConfig>().expect("fio is of NVMe");
        nvme.groups[0].fio.depth
    }

    #[test]
    fn what_several_candidates_share_becomes_larger_once() {
        let rig = scenario("8 GiB");
        let drives: Vec<usize> = (0..rig.fabric.devices.len())
            .filter(|at| rig.fabric.devices[*at].name.starts_with("ssd"))
            .collect();
        assert_eq!(drives.len(), 2);
        let windows: Vec<Candidate> =
            drives.iter().map(|device| Candidate::Device(*device, OfDevice::Window)).collect();
        let larger = enlarged(&rig, &windows).expect("drives are asked for something");
        assert_eq!((depth(&rig), depth(&larger)), (8, 80));
        let reads = |stack: u16| Candidate::Resource {
            id: ResourceId::of(DeviceId(0), HostPart::StackReads { stack }),
            name: format!("server.stack{stack}.read_bandwidth"),
        };
        let larger = enlarged(&rig, &[reads(0), reads(1)]).expect("stacks have a rate");
        let DeviceKind::RootComplex(host) = &larger.fabric.devices[0].kind else {
            panic!("the host is first")
        };
        assert_eq!(host.stack.read_bandwidth, Some(Rate::from_bytes_per_second(200_000_000_000)));
    }

    #[test]
    fn what_would_not_fit_into_memory_is_not_tried() {
        let rig = scenario("1 MiB");
        let window = Candidate::Device(rig.fabric.devices.len() - 1, OfDevice::Window);
        assert!(rig.fits_memory());
        let mut deep = rig.clone();
        let nvme = deep.workloads[0].of_kind_mut::<NvmeConfig>().expect("fio is of NVMe");
        nvme.groups[0].fio.depth = 1_000;
        assert!(deep.fits_memory() && enlarged(&deep, [&window]).is_none());
    }
}
