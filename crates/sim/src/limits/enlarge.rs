//! A scenario with one candidate ten times larger: places, credits, tags and rates times ten, times and latencies by ten.
//!
//! All of it is done here, on the resolved configuration, whatever the file says. What was worked out from the old size
//! (credits, timers) stays as it is.

use super::Candidate;
use super::candidate::ends;
use lanewise_fabric::ResourceKind;
use lanewise_fabric::config::{DeviceKind, EndpointConfig, RootComplexConfig, SwitchConfig, SwitchCore};
use lanewise_network::NetworkWire;
use lanewise_pcie::flow_control::{CreditPool, Scale};
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::tlp::FlowClass;
use lanewise_scenario::{Scenario, WorkloadConfig};
use lanewise_units::{Rate, Span};
use lanewise_workload::nvme::NvmeConfig;
use lanewise_workload::rdma::{NicPort, RdmaConfig, RdmaNetworkConfig, RdmaToolConfig, VerbsHostConfig};
use lanewise_workload::storage::StorageConfig;

/// How many times larger.
pub(crate) const TIMES: u32 = 10;

/// The scenario with every candidate ten times larger; none when one of them cannot be.
pub(crate) fn enlarged<'a>(
    scenario: &Scenario,
    candidates: impl IntoIterator<Item = &'a Candidate>,
) -> Option<Scenario> {
    let mut larger = scenario.clone();
    for candidate in candidates {
        enlarge(&mut larger, candidate)?;
    }
    Some(larger)
}

fn enlarge(scenario: &mut Scenario, candidate: &Candidate) -> Option<()> {
    match candidate {
        // A link has one mode in both directions.
        Candidate::Wire { link, .. } => scenario.fabric.links[*link].quicker = TIMES,
        Candidate::Credits { link, upstream, class } => credits(scenario, *link, *upstream, *class)?,
        Candidate::RetryBuffer { link, upstream } => {
            let (device, port) = ends(&scenario.fabric, *link, *upstream).0;
            let buffer = &mut scenario.fabric.devices[device].ports[port].retry_buffer;
            *buffer = *buffer * u64::from(TIMES);
        }
        Candidate::Tags { device } => {
            let endpoint = endpoint(scenario, *device)?;
            endpoint.tags *= TIMES;
            let enough = TagWidth::ALL.into_iter().find(|width| u32::from(width.usable()) >= endpoint.tags);
            endpoint.tag_width = enough.unwrap_or(TagWidth::Bits14).max(endpoint.tag_width);
        }
        Candidate::Window { device } => window(scenario, *device)?,
        Candidate::RequestInterval { device } => shorten(&mut endpoint(scenario, *device)?.request_interval),
        Candidate::MemoryLatency { device } => {
            let host = root_complex(scenario, *device)?;
            shorten(&mut host.memory_latency);
            shorten(&mut host.memory_latency_jitter);
        }
        Candidate::Resource { name, kind } => resource(scenario, name, *kind)?,
        Candidate::Beyond { device } => beyond(scenario, *device)?,
        Candidate::Demand { .. } => return None,
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

fn quicken(rate: &mut Rate) {
    *rate = Rate::from_bytes_per_second(rate.bytes_per_second().saturating_mul(TIMES.into()));
}

fn shorten(span: &mut Span) {
    *span = Span::from_ticks(span.ticks() / u64::from(TIMES));
}

/// Credits of all virtual channels of a class, in scaled steps where the field would not hold them otherwise, and as many as
/// that holds.
fn credits(scenario: &mut Scenario, link: usize, upstream: bool, class: FlowClass) -> Option<()> {
    let (transmitter, receiver) = ends(&scenario.fabric, link, upstream);
    for (device, port) in [transmitter, receiver] {
        scenario.fabric.devices[device].ports[port].scale = Scale::Sixteen;
    }
    let widths = Scale::Sixteen.widths();
    let port = &mut scenario.fabric.devices[receiver.0].ports[receiver.1];
    let larger = |pool: &mut CreditPool| {
        // No more than half of a counter's values may be out at a time: PCIe Base 6.3 §2.6.1.
        let times = |credits: u16, bits: u8| {
            (u32::from(credits) * TIMES).min((1 << (bits - 1)) - u32::from(Scale::Sixteen.factor())) as u16
        };
        pool.header = pool.header.map(|header| times(header, widths.header));
        pool.data = pool.data.map(|data| times(data, widths.data));
    };
    let index = class as usize;
    larger(&mut port.credits[index]);
    port.more_credits.iter_mut().for_each(|pools| larger(&mut pools[index]));
    Some(())
}

/// What the workloads keep outstanding at a device.
fn window(scenario: &mut Scenario, device: usize) -> Option<()> {
    let mut any = false;
    for workload in &mut scenario.workloads {
        let deepened = match workload {
            WorkloadConfig::Dma(dma) if dma.device.0 as usize == device => {
                dma.outstanding *= TIMES;
                true
            }
            WorkloadConfig::Nvme(nvme) if nvme.ssds.iter().any(|ssd| ssd.device.0 as usize == device) => {
                nvme.groups.iter_mut().for_each(|group| group.fio.depth *= TIMES);
                true
            }
            WorkloadConfig::Storage(storage)
                if storage.hbas.iter().any(|hba| hba.device.0 as usize == device) =>
            {
                storage.groups.iter_mut().for_each(|group| group.outstanding *= TIMES);
                true
            }
            _ => false,
        };
        any |= deepened;
    }
    any.then_some(())
}

/// The wires of an adapter of RDMA: ten times the rate, or as many lanes.
fn beyond(scenario: &mut Scenario, device: usize) -> Option<()> {
    let networks = scenario.workloads.iter_mut().filter_map(|workload| match workload {
        WorkloadConfig::Rdma(rdma) => Some(&mut rdma.network),
        WorkloadConfig::Nvme(nvme) => Some(&mut nvme.network),
        _ => None,
    });
    let mut any = false;
    for network in networks {
        let nics = &network.nics;
        let of_device = |end: &NicPort| nics[end.nic].device.0 as usize == device;
        for link in network.links.iter_mut().filter(|link| link.ends.iter().any(of_device)) {
            match &mut link.wire {
                NetworkWire::Infiniband { lanes, .. } => *lanes *= TIMES,
                NetworkWire::Roce { rate } | NetworkWire::Ethernet { rate } => quicken(rate),
            }
            any = true;
        }
    }
    any.then_some(())
}

fn resource(scenario: &mut Scenario, name: &str, kind: ResourceKind) -> Option<()> {
    let owner = name.split('.').next()?;
    let found = scenario.fabric.devices.iter_mut().find(|device| device.name == owner);
    let own = found.and_then(|device| match &mut device.kind {
        DeviceKind::RootComplex(host) => of_host(host, name, kind),
        DeviceKind::Switch(switch) => of_switch(switch, kind),
        DeviceKind::Endpoint(endpoint) => of_endpoint(endpoint, kind),
    });
    own.or_else(|| {
        scenario.workloads.iter_mut().find_map(|workload| match workload {
            WorkloadConfig::Nvme(nvme) => of_nvme(nvme, name, kind),
            WorkloadConfig::Storage(storage) => of_storage(storage, name, kind),
            WorkloadConfig::Rdma(rdma) => of_tools(rdma, name),
            _ => None,
        })
    })
}

/// A resource of a host. Settings hold for all stacks and all sockets: with one of them, the others become larger.
fn of_host(host: &mut RootComplexConfig, name: &str, kind: ResourceKind) -> Option<()> {
    let of_stack = name.contains(".stack");
    match kind {
        ResourceKind::Memory => quicken(&mut host.memory.rate),
        ResourceKind::Banks => host.memory.banks.as_mut()?.per_channel *= TIMES,
        ResourceKind::Cache => quicken(host.cache.as_mut()?.read_bandwidth.as_mut()?),
        ResourceKind::MemoryReads if of_stack => quicken(host.stack.read_bandwidth.as_mut()?),
        ResourceKind::MemoryReads => quicken(&mut host.read_bandwidth),
        ResourceKind::MemoryWrites if of_stack => quicken(host.stack.write_bandwidth.as_mut()?),
        ResourceKind::MemoryWrites => {
            quicken(&mut host.write_bandwidth);
            shorten(&mut host.write_overhead);
        }
        ResourceKind::ReadTrackers => host.stack.read_trackers *= TIMES,
        ResourceKind::PeerPath => quicken(host.stack.peer_rate.as_mut()?),
        ResourceKind::Walkers => {
            let iommu = host.iommu.as_mut()?;
            iommu.walkers *= TIMES;
            shorten(&mut iommu.walk_interval);
        }
        ResourceKind::TranslationCache => {
            let iommu = host.iommu.as_mut()?;
            (iommu.entries, iommu.ways) = (iommu.entries * TIMES, iommu.ways * TIMES);
        }
        ResourceKind::SocketLink => quicken(&mut host.sockets.as_mut()?.rate),
        _ => return None,
    }
    Some(())
}

fn of_switch(switch: &mut SwitchConfig, kind: ResourceKind) -> Option<()> {
    match (&mut switch.core, kind) {
        (SwitchCore::Crossbar { port_rate: rate }, ResourceKind::SwitchCore)
        | (SwitchCore::Buses { rate, .. }, ResourceKind::SwitchBus)
        | (SwitchCore::SharedMemory { rate }, ResourceKind::SwitchMemory) => quicken(rate),
        _ => return None,
    }
    Some(())
}

fn of_endpoint(endpoint: &mut EndpointConfig, kind: ResourceKind) -> Option<()> {
    match kind {
        ResourceKind::EndpointDrain => quicken(&mut endpoint.write_drain),
        ResourceKind::EndpointMemory => quicken(endpoint.memory_read_rate.as_mut()?),
        _ => return None,
    }
    Some(())
}

fn of_nvme(nvme: &mut NvmeConfig, name: &str, kind: ResourceKind) -> Option<()> {
    let (owner, part) = name.rsplit_once('.')?;
    if kind == ResourceKind::Core {
        let host = nvme.hosts.iter_mut().find(|host| host.name == owner)?;
        let costs = [
            &mut host.worker_cost,
            &mut host.submit_cost,
            &mut host.interrupt_cost,
            &mut host.completion_cost,
            &mut host.register_cost,
        ];
        costs.into_iter().for_each(shorten);
        return Some(());
    }
    let Some(ssd) = nvme.ssds.iter_mut().find(|ssd| ssd.name == owner) else {
        return of_network(&mut nvme.network, name);
    };
    match part {
        "media" => [&mut ssd.read_time, &mut ssd.hit_time, &mut ssd.write_time].into_iter().for_each(shorten),
        "controller" => shorten(&mut ssd.command_time),
        "read_path" => quicken(&mut ssd.read_rate),
        "write_path" => [&mut ssd.write_rate, &mut ssd.random_write_rate].into_iter().for_each(quicken),
        _ => return None,
    }
    Some(())
}

fn of_storage(storage: &mut StorageConfig, name: &str, kind: ResourceKind) -> Option<()> {
    let (owner, part) = name.rsplit_once('.')?;
    if kind == ResourceKind::Core {
        let host = &mut storage.host;
        let costs = [
            &mut host.worker_cost,
            &mut host.submit_cost,
            &mut host.interrupt_cost,
            &mut host.completion_cost,
        ];
        costs.into_iter().for_each(shorten);
        return Some(());
    }
    let hba = storage.hbas.iter_mut().find(|hba| hba.name == owner)?;
    match part {
        "processor" => shorten(&mut hba.command_time),
        "read_path" => quicken(hba.internal_read_bandwidth.as_mut()?),
        "write_path" => quicken(hba.internal_write_bandwidth.as_mut()?),
        "internal_path" => quicken(hba.internal_bandwidth.as_mut()?),
        _ => return None,
    }
    Some(())
}

fn of_tools(rdma: &mut RdmaConfig, name: &str) -> Option<()> {
    let (owner, part) = name.rsplit_once('.')?;
    let Some(tool) = rdma.tools.iter_mut().find(|tool| tool.name() == owner) else {
        return of_network(&mut rdma.network, name);
    };
    let side = usize::from(part == "second_thread");
    let quicken_driver = |host: &mut VerbsHostConfig| {
        [&mut host.post_cost, &mut host.doorbell_cost, &mut host.poll_cost].into_iter().for_each(shorten);
    };
    match tool {
        RdmaToolConfig::Perftest(perftest) => quicken_driver(&mut perftest.hosts[side]),
        RdmaToolConfig::Osu(osu) => {
            let (driver, mpi) = &mut osu.hosts[side];
            quicken_driver(driver);
            [&mut mpi.send_cost, &mut mpi.receive_cost].into_iter().for_each(shorten);
            quicken(&mut mpi.copy_bandwidth);
        }
        RdmaToolConfig::Transactions(transactions) => {
            let stack = &mut transactions.stacks[side];
            [&mut stack.send_cost, &mut stack.receive_cost].into_iter().for_each(shorten);
            if side == 1 {
                shorten(&mut transactions.service_time);
            }
        }
    }
    Some(())
}

fn of_network(network: &mut RdmaNetworkConfig, name: &str) -> Option<()> {
    let owner = name.split('.').next()?;
    let nic = network.nics.iter_mut().find(|nic| nic.name == owner)?;
    match name.rsplit_once('.')?.1 {
        "pipeline" | "receive_pipeline" => shorten(&mut nic.message_interval),
        "queue_pairs" => shorten(&mut nic.queue_pair_interval),
        "shared_path" => quicken(nic.shared_bandwidth.as_mut()?),
        "send_path" => quicken(nic.send_bandwidth.as_mut()?),
        "receive_path" => quicken(nic.receive_bandwidth.as_mut()?),
        _ => return None,
    }
    Some(())
}
