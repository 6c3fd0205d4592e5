//! A scenario with one candidate ten times larger: places, credits, tags and rates times ten; times, latencies and
//! bit errors by ten.
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
use std::collections::HashSet;

/// How many times larger.
pub(crate) const TIMES: u32 = 10;

/// The scenario with every candidate ten times larger; none when one of them cannot be, or when a run
/// of it might take more memory than it is given.
pub(crate) fn enlarged<'a>(
    scenario: &Scenario,
    candidates: impl IntoIterator<Item = &'a Candidate>,
) -> Option<Scenario> {
    let (mut larger, mut once) = (scenario.clone(), Once::default());
    for candidate in candidates {
        enlarge(&mut larger, &mut once, candidate)?;
    }
    larger.fits_memory().then_some(larger)
}

/// Settings that are larger already, by where they lie: candidates may share one, as the stacks of a host do.
#[derive(Default)]
struct Once(HashSet<usize>);

impl Once {
    fn times(&mut self, number: &mut u32) {
        if self.is_new(number) {
            *number = number.saturating_mul(TIMES);
        }
    }

    fn quicken(&mut self, rate: &mut Rate) {
        if self.is_new(rate) {
            *rate = Rate::from_bytes_per_second(rate.bytes_per_second().saturating_mul(TIMES.into()));
        }
    }

    fn shorten(&mut self, span: &mut Span) {
        if self.is_new(span) {
            *span = Span::from_ticks(span.ticks() / u64::from(TIMES));
        }
    }

    fn shorten_all<const N: usize>(&mut self, spans: [&mut Span; N]) {
        spans.into_iter().for_each(|span| self.shorten(span));
    }

    fn is_new<T>(&mut self, setting: &T) -> bool {
        self.0.insert(std::ptr::from_ref(setting).addr())
    }
}

fn enlarge(scenario: &mut Scenario, once: &mut Once, candidate: &Candidate) -> Option<()> {
    match candidate {
        // A link has one mode in both directions.
        Candidate::Wire { link, .. } => scenario.fabric.links[*link].quicker = TIMES,
        Candidate::Credits { link, upstream, class } => credits(scenario, *link, *upstream, *class)?,
        Candidate::RetryBuffer { link, upstream } => {
            let (device, port) = ends(&scenario.fabric, *link, *upstream).0;
            let buffer = &mut scenario.fabric.devices[device].ports[port].retry_buffer;
            *buffer = *buffer * u64::from(TIMES);
        }
        Candidate::Errors { link, upstream } => {
            let link = &mut scenario.fabric.links[*link];
            let faults = if *upstream { &mut link.faults_upstream } else { &mut link.faults_downstream };
            faults.bit_error_rate /= f64::from(TIMES);
        }
        Candidate::Tags { device } => {
            let endpoint = endpoint(scenario, *device)?;
            endpoint.tags *= TIMES;
            let enough = TagWidth::ALL.into_iter().find(|width| u32::from(width.usable()) >= endpoint.tags);
            endpoint.tag_width = enough.unwrap_or(TagWidth::Bits14).max(endpoint.tag_width);
        }
        Candidate::Window { device } => window(scenario, once, *device)?,
        Candidate::RequestInterval { device } => {
            once.shorten(&mut endpoint(scenario, *device)?.request_interval)
        }
        Candidate::MemoryLatency { device } => {
            let host = root_complex(scenario, *device)?;
            once.shorten(&mut host.memory_latency);
            once.shorten(&mut host.memory_latency_jitter);
        }
        Candidate::Resource { name, kind } => resource(scenario, once, name, *kind)?,
        Candidate::Beyond { device } => beyond(scenario, once, *device)?,
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
fn window(scenario: &mut Scenario, once: &mut Once, device: usize) -> Option<()> {
    let mut any = false;
    for workload in &mut scenario.workloads {
        let deepened = match workload {
            WorkloadConfig::Dma(dma) if dma.device.0 as usize == device => {
                once.times(&mut dma.outstanding);
                true
            }
            WorkloadConfig::Nvme(nvme) if nvme.ssds.iter().any(|ssd| ssd.device.0 as usize == device) => {
                nvme.groups.iter_mut().for_each(|group| once.times(&mut group.fio.depth));
                true
            }
            WorkloadConfig::Storage(storage)
                if storage.hbas.iter().any(|hba| hba.device.0 as usize == device) =>
            {
                storage.groups.iter_mut().for_each(|group| once.times(&mut group.outstanding));
                true
            }
            _ => false,
        };
        any |= deepened;
    }
    any.then_some(())
}

/// The wires of an adapter of RDMA: ten times the rate, or as many lanes.
fn beyond(scenario: &mut Scenario, once: &mut Once, device: usize) -> Option<()> {
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
                NetworkWire::Infiniband { lanes, .. } => once.times(lanes),
                NetworkWire::Roce { rate } | NetworkWire::Ethernet { rate } => once.quicken(rate),
            }
            any = true;
        }
    }
    any.then_some(())
}

fn resource(scenario: &mut Scenario, once: &mut Once, name: &str, kind: ResourceKind) -> Option<()> {
    let owner = name.split('.').next()?;
    let found = scenario.fabric.devices.iter_mut().find(|device| device.name == owner);
    let own = found.and_then(|device| match &mut device.kind {
        DeviceKind::RootComplex(host) => of_host(once, host, name, kind),
        DeviceKind::Switch(switch) => of_switch(once, switch, kind),
        DeviceKind::Endpoint(endpoint) => of_endpoint(once, endpoint, kind),
    });
    own.or_else(|| {
        scenario.workloads.iter_mut().find_map(|workload| match workload {
            WorkloadConfig::Nvme(nvme) => of_nvme(once, nvme, name, kind),
            WorkloadConfig::Storage(storage) => of_storage(once, storage, name, kind),
            WorkloadConfig::Rdma(rdma) => of_tools(once, rdma, name),
            _ => None,
        })
    })
}

/// A resource of a host. Settings hold for all stacks and all sockets: with one of them, the others become larger.
fn of_host(once: &mut Once, host: &mut RootComplexConfig, name: &str, kind: ResourceKind) -> Option<()> {
    let of_stack = name.contains(".stack");
    match kind {
        ResourceKind::Memory => once.quicken(&mut host.memory.rate),
        ResourceKind::Banks => once.times(&mut host.memory.banks.as_mut()?.per_channel),
        ResourceKind::Cache => once.quicken(host.cache.as_mut()?.read_bandwidth.as_mut()?),
        ResourceKind::MemoryReads if of_stack => once.quicken(host.stack.read_bandwidth.as_mut()?),
        ResourceKind::MemoryReads => once.quicken(&mut host.read_bandwidth),
        ResourceKind::MemoryWrites if of_stack => once.quicken(host.stack.write_bandwidth.as_mut()?),
        ResourceKind::MemoryWrites => {
            once.quicken(&mut host.write_bandwidth);
            once.shorten(&mut host.write_overhead);
        }
        ResourceKind::ReadTrackers => once.times(&mut host.stack.read_trackers),
        ResourceKind::PeerPath => once.quicken(host.stack.peer_rate.as_mut()?),
        ResourceKind::Walkers => {
            let iommu = host.iommu.as_mut()?;
            once.times(&mut iommu.walkers);
            once.shorten(&mut iommu.walk_interval);
        }
        ResourceKind::TranslationCache => {
            let iommu = host.iommu.as_mut()?;
            once.times(&mut iommu.entries);
            once.times(&mut iommu.ways);
        }
        ResourceKind::SocketLink => once.quicken(&mut host.sockets.as_mut()?.rate),
        _ => return None,
    }
    Some(())
}

fn of_switch(once: &mut Once, switch: &mut SwitchConfig, kind: ResourceKind) -> Option<()> {
    match (&mut switch.core, kind) {
        (SwitchCore::Crossbar { port_rate: rate }, ResourceKind::SwitchCore)
        | (SwitchCore::Buses { rate, .. }, ResourceKind::SwitchBus)
        | (SwitchCore::SharedMemory { rate }, ResourceKind::SwitchMemory) => once.quicken(rate),
        _ => return None,
    }
    Some(())
}

fn of_endpoint(once: &mut Once, endpoint: &mut EndpointConfig, kind: ResourceKind) -> Option<()> {
    match kind {
        ResourceKind::EndpointDrain => once.quicken(&mut endpoint.write_drain),
        ResourceKind::EndpointMemory => once.quicken(endpoint.memory_read_rate.as_mut()?),
        _ => return None,
    }
    Some(())
}

fn of_nvme(once: &mut Once, nvme: &mut NvmeConfig, name: &str, kind: ResourceKind) -> Option<()> {
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
        once.shorten_all(costs);
        return Some(());
    }
    let Some(ssd) = nvme.ssds.iter_mut().find(|ssd| ssd.name == owner) else {
        return of_network(once, &mut nvme.network, name);
    };
    match part {
        "media" => once.shorten_all([&mut ssd.read_time, &mut ssd.hit_time, &mut ssd.write_time]),
        "controller" => once.shorten(&mut ssd.command_time),
        "read_path" => once.quicken(&mut ssd.read_rate),
        "write_path" => {
            [&mut ssd.write_rate, &mut ssd.random_write_rate].into_iter().for_each(|rate| once.quicken(rate))
        }
        _ => return None,
    }
    Some(())
}

fn of_storage(once: &mut Once, storage: &mut StorageConfig, name: &str, kind: ResourceKind) -> Option<()> {
    let (owner, part) = name.rsplit_once('.')?;
    if kind == ResourceKind::Core {
        let host = &mut storage.host;
        let costs = [
            &mut host.worker_cost,
            &mut host.submit_cost,
            &mut host.interrupt_cost,
            &mut host.completion_cost,
        ];
        once.shorten_all(costs);
        return Some(());
    }
    let hba = storage.hbas.iter_mut().find(|hba| hba.name == owner)?;
    match part {
        "processor" => once.shorten(&mut hba.command_time),
        "read_path" => once.quicken(hba.internal_read_bandwidth.as_mut()?),
        "write_path" => once.quicken(hba.internal_write_bandwidth.as_mut()?),
        "internal_path" => once.quicken(hba.internal_bandwidth.as_mut()?),
        _ => return None,
    }
    Some(())
}

fn of_tools(once: &mut Once, rdma: &mut RdmaConfig, name: &str) -> Option<()> {
    let (owner, part) = name.rsplit_once('.')?;
    let Some(tool) = rdma.tools.iter_mut().find(|tool| tool.name() == owner) else {
        return of_network(once, &mut rdma.network, name);
    };
    let side = usize::from(part == "second_thread");
    let mut quicken_driver = |host: &mut VerbsHostConfig| {
        once.shorten_all([&mut host.post_cost, &mut host.doorbell_cost, &mut host.poll_cost]);
    };
    match tool {
        RdmaToolConfig::Perftest(perftest) => quicken_driver(&mut perftest.hosts[side]),
        RdmaToolConfig::Osu(osu) => {
            let (driver, mpi) = &mut osu.hosts[side];
            quicken_driver(driver);
            once.shorten_all([&mut mpi.send_cost, &mut mpi.receive_cost]);
            once.quicken(&mut mpi.copy_bandwidth);
        }
        RdmaToolConfig::Transactions(transactions) => {
            let stack = &mut transactions.stacks[side];
            once.shorten_all([&mut stack.send_cost, &mut stack.receive_cost]);
            if side == 1 {
                once.shorten(&mut transactions.service_time);
            }
        }
    }
    Some(())
}

fn of_network(once: &mut Once, network: &mut RdmaNetworkConfig, name: &str) -> Option<()> {
    let owner = name.split('.').next()?;
    let nic = network.nics.iter_mut().find(|nic| nic.name == owner)?;
    match name.rsplit_once('.')?.1 {
        "pipeline" | "receive_pipeline" => once.shorten(&mut nic.message_interval),
        "queue_pairs" => once.shorten(&mut nic.queue_pair_interval),
        "shared_path" => once.quicken(nic.shared_bandwidth.as_mut()?),
        "send_path" => once.quicken(nic.send_bandwidth.as_mut()?),
        "receive_path" => once.quicken(nic.receive_bandwidth.as_mut()?),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_scenario::{Source, load};

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
        let WorkloadConfig::Nvme(nvme) = &scenario.workloads[0] else { panic!("fio is of NVMe") };
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
            drives.iter().map(|device| Candidate::Window { device: *device }).collect();
        let larger = enlarged(&rig, &windows).expect("drives are asked for something");
        assert_eq!((depth(&rig), depth(&larger)), (8, 80));
        let reads = |stack: u32| Candidate::Resource {
            name: format!("server.stack{stack}.reads"),
            kind: ResourceKind::MemoryReads,
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
        let window = Candidate::Window { device: rig.fabric.devices.len() - 1 };
        assert!(rig.fits_memory());
        let mut deep = rig.clone();
        let WorkloadConfig::Nvme(nvme) = &mut deep.workloads[0] else { panic!("fio is of NVMe") };
        nvme.groups[0].fio.depth = 1_000;
        assert!(deep.fits_memory() && enlarged(&deep, [&window]).is_none());
    }
}
