//! Two storage adapters with eight drives each, in slots of their own or behind a switch.

use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Metric};
use lanewise_network::WireKind;
use lanewise_observe::RequesterState;
use lanewise_pcie::ack_nak::{ReplayRule, ack_latency_limit, replay_timer_limit};
use lanewise_pcie::encoding::{Clocking, LinkMode};
use lanewise_pcie::flow_control::{CreditPool, Scale};
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::virtual_channel::{ChannelArbitration, ChannelMap};
use lanewise_units::{Bytes, Generation, Rate, Span, Time, Width};
use lanewise_workload::device::hba::{DriveConfig, DrivePlacement, HbaConfig};
use lanewise_workload::host::HostSoftwareConfig;
use lanewise_workload::load::iometer::*;
use std::collections::BTreeMap;

pub const MPS: u64 = 128;

pub fn mb_per_s(rate: u64) -> Rate {
    Rate::from_bytes_per_second(rate * 1_000_000)
}

/// How the two adapters are attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attachment {
    /// A slot each, of this width.
    Slots(Width),
    /// Below one switch whose upstream port is x8, of this width each.
    Switch(Width),
}

fn port(mode: LinkMode, completions: CreditPool) -> PortConfig {
    let mps = Bytes::new(MPS);
    let ack = ack_latency_limit(mps, mode.width, mode.generation).span(mode.generation);
    let replay = replay_timer_limit(mps, mode.width, mode.generation, ReplayRule::Legacy);
    PortConfig {
        mps,
        retry_buffer: Bytes::from_kib(8),
        credits: [CreditPool::finite(32, 256), CreditPool::finite(32, 32), completions],
        more_credits: Vec::new(),
        channel_arbitration: ChannelArbitration::Strict,
        scale: [Scale::One; 3],
        ack: AckPolicy { every_tlps: 4, latency: ack.saturating_sub(mode.wire_span(Bytes::new(MPS + 28))) },
        update_flow_control: UpdatePolicy { every_tlps: 8, latency: ack, period: Span::from_us(30) },
        receive_latency: Span::from_ns(40),
        replay_timer: replay.span(mode.generation),
    }
}

fn end_port(mode: LinkMode) -> PortConfig {
    port(mode, CreditPool { header: None, data: None })
}

/// A north bridge with 64 B completions.
pub fn root_complex() -> RootComplexConfig {
    RootComplexConfig {
        core_latency: Span::ZERO,
        stack_of_port: Vec::new(),
        stack: StackConfig {
            read_trackers: 32,
            read_bandwidth: None,
            write_bandwidth: None,
            peer_rate: None,
        },
        memory: MemoryConfig { rate: mb_per_s(6400), channels: 1, interleave: Bytes::new(256), banks: None },
        more_memory: BTreeMap::new(),
        cache: None,
        memory_latency: Span::from_ns(250),
        memory_latency_jitter: Span::ZERO,
        read_bandwidth: mb_per_s(6400),
        write_bandwidth: mb_per_s(6400),
        write_overhead: Span::ZERO,
        rcb: Bytes::new(64),
        completion_combine_max: Bytes::new(64),
        write_latency: Span::from_ns(100),
        combine_long_reads: true,
        completion_queue: None,
        shared_outbound_queue: None,
        root_port_queue: 2,
        root_port_request_queue: None,
        peer_to_peer: true,
        forward_latency: Span::from_ns(100),
        largest_forwarded: None,
        memory_base: 0,
        mmio_base: 1 << 45,
        sockets: None,
        iommu: None,
        ecrc: false,
        errors: ErrorConfig::default(),
    }
}

fn endpoint() -> EndpointConfig {
    EndpointConfig {
        mrrs: Bytes::new(512),
        tags: 32,
        tag_width: TagWidth::Bits5,
        relaxed_ordering: false,
        id_based_ordering: false,
        traffic_class: 0,
        ecrc: false,
        tlp_prefixes: 0,
        registers: Bar { size: 0x4000, is_wide: false },
        memory_bar: Some(Bytes::from_kib(1 << 20)),
        mmio_read_latency: Span::from_ns(200),
        memory_read_latency: Span::from_ns(200),
        memory_read_rate: None,
        request_interval: Span::ZERO,
        dma: DmaConfig::default(),
        completion_latency: Span::from_ns(50),
        write_drain: mb_per_s(4000),
        buffer_hold: Span::ZERO,
        memory_socket: None,
        warm_buffers: false,
        side_link: None,
        bridge: None,
        errors: ErrorConfig::default(),
    }
}

fn switch() -> SwitchConfig {
    SwitchConfig {
        core: SwitchCore::Crossbar { port_rate: mb_per_s(4000) },
        forwarding: Forwarding::CutThrough,
        latency: Span::from_ns(250),
        arbitration: Arbitration::RoundRobin,
        acs_redirect: false,
        request_metering: None,
        storage: [Bytes::ZERO; 3],
        corruption: CorruptionConfig::default(),
    }
}

fn link(upper: (usize, usize), lower: (usize, usize), mode: LinkMode) -> LinkConfig {
    LinkConfig {
        upper,
        lower,
        mode,
        clocking: Clocking::Common,
        propagation: Span::from_ns(1),
        skip_interval: None,
        faults_downstream: FaultConfig::default(),
        faults_upstream: FaultConfig::default(),
        recovery_time: Span::from_us(10),
        power: LinkPower::default(),
        channels: ChannelMap::ONLY_VC0,
        quicker: 1,
    }
}

fn device(name: &str, kind: DeviceKind, ports: Vec<PortConfig>) -> DeviceConfig {
    let port_names = usual_port_names(&kind, ports.len());
    DeviceConfig { name: name.into(), kind, ports, port_names }
}

/// The fabric; the adapters are the devices [`adapter`] names.
pub fn fabric(attachment: Attachment, root: RootComplexConfig) -> FabricConfig {
    let gen1 = |width| LinkMode::new(Generation::Gen1, width);
    let adapter = |index: usize, mode| {
        device(&format!("hba{index}"), DeviceKind::Endpoint(endpoint()), vec![end_port(mode)])
    };
    let root = DeviceKind::RootComplex(root);
    let forwarding = CreditPool::finite(32, 256);
    match attachment {
        Attachment::Slots(width) => {
            let mode = gen1(width);
            let slots = vec![port(mode, CreditPool { header: None, data: None }); 2];
            FabricConfig {
                devices: vec![device("server", root, slots), adapter(0, mode), adapter(1, mode)],
                links: (0..2).map(|slot| link((0, slot), (slot + 1, 0), mode)).collect(),
                cxl: Default::default(),
                seed: 1,
            }
        }
        Attachment::Switch(width) => {
            let (above, below) = (gen1(Width::X8), gen1(width));
            let ports = vec![port(above, forwarding), port(below, forwarding), port(below, forwarding)];
            FabricConfig {
                devices: vec![
                    device("server", root, vec![end_port(above)]),
                    adapter(0, below),
                    adapter(1, below),
                    device("switch", DeviceKind::Switch(switch()), ports),
                ],
                links: vec![
                    link((0, 0), (3, 0), above),
                    link((3, 1), (1, 0), below),
                    link((3, 2), (2, 0), below),
                ],
                cxl: Default::default(),
                seed: 1,
            }
        }
    }
}

/// The adapter of this index, in both fabrics.
pub fn adapter(index: usize) -> DeviceId {
    DeviceId(index as u32 + 1)
}

pub fn drive(hba: usize, port: usize, index: usize) -> DrivePlacement {
    let config = DriveConfig {
        capacity: Bytes::new(73_000_000_000),
        read_rate: mb_per_s(190),
        write_rate: mb_per_s(80),
        read_overhead: Span::from_us(20),
        write_overhead: Span::from_us(200),
        overhead_variation: Span::ZERO,
        turnaround: Span::from_us(1500),
        positioning: Span::ZERO,
        positioning_variation: Span::ZERO,
        buffer: Bytes::from_kib(512),
        read_ahead: Bytes::from_kib(256),
        write_burst: Bytes::from_kib(64),
        write_cache: false,
        streams: 16,
        cache_window: Bytes::ZERO,
    };
    DrivePlacement { name: format!("disk{hba}.{index}"), hba, port, config }
}

pub fn hba(index: usize) -> HbaConfig {
    HbaConfig {
        name: format!("hba{index}"),
        device: adapter(index),
        wire: WireKind::Sas3g,
        ports: 8,
        doorbell: Bytes::new(4),
        command: Bytes::new(128),
        scatter_gather_inline: 4,
        scatter_gather_entry: Bytes::new(16),
        status: Bytes::new(8),
        command_time: Span::from_us(5),
        read_buffer: Bytes::from_kib(64),
        write_buffer: Bytes::from_kib(64),
        read_request: Bytes::from_kib(2),
        internal_read_bandwidth: None,
        internal_write_bandwidth: None,
        internal_bandwidth: None,
        interrupt_completions: 1,
        interrupt_delay: Span::ZERO,
    }
}

/// Two adapters with so many drives each, a SAS phy for every drive.
pub fn subsystem(drives: usize, groups: Vec<IometerConfig>) -> StorageConfig {
    StorageConfig {
        name: "sas".into(),
        host: HostSoftwareConfig {
            device: DeviceId(0),
            cores: 4,
            worker_cost: Span::from_us(3),
            submit_cost: Span::from_us(10),
            interrupt_cost: Span::from_us(5),
            completion_cost: Span::from_us(8),
        },
        hbas: (0..2).map(hba).collect(),
        drives: (0..2).flat_map(|hba| (0..drives).map(move |port| drive(hba, port, port))).collect(),
        groups,
    }
}

/// A group with one worker for every four drives.
pub fn group(name: &str, targets: std::ops::Range<usize>, access: Vec<AccessLine>) -> IometerConfig {
    IometerConfig {
        name: name.into(),
        managers: 1,
        workers: (targets.len() as u32).div_ceil(4),
        targets: targets.collect(),
        assignment: TargetAssignment::Split,
        outstanding: 1,
        access,
    }
}

pub fn reads() -> Vec<AccessLine> {
    vec![AccessLine::sequential(Bytes::from_kib(310), 100, 100)]
}

pub fn writes() -> Vec<AccessLine> {
    vec![AccessLine::sequential(Bytes::from_kib(2048), 100, 0)]
}

pub fn mix() -> Vec<AccessLine> {
    vec![
        AccessLine::sequential(Bytes::from_kib(310), 67, 100),
        AccessLine::sequential(Bytes::from_kib(64), 33, 0),
    ]
}

/// A run that is over.
pub struct Run {
    pub simulation: Simulation,
    pub metrics: Vec<Metric>,
    pub measured: Span,
    end: Time,
}

impl Run {
    /// Payload of a flow while measured, MB/s.
    pub fn goodput(&self, name: &str, direction: &str) -> f64 {
        let flows = self.simulation.fabric.observers().flows();
        let wanted = flows.iter().filter(|flow| flow.spec.name == name && flow.spec.direction == direction);
        wanted.map(|flow| flow.payload().get() as f64).sum::<f64>() / self.measured.as_seconds() / 1e6
    }

    /// Share of the measured time that an adapter spent in a state.
    pub fn held_back(&self, index: usize, state: RequesterState) -> f64 {
        let fabric = &self.simulation.fabric;
        let endpoint = fabric.requester_index(adapter(index)).expect("adapters are endpoints");
        let spans = fabric.observers().requester(endpoint, self.end);
        spans[state as usize].as_seconds() / self.measured.as_seconds()
    }

    pub fn metric(&self, name: &str) -> f64 {
        self.metrics.iter().find(|metric| metric.name == name).expect("a metric of that name").value
    }
}

/// Runs with a warm-up, then measures.
pub fn run(config: &FabricConfig, storage: StorageConfig, warm_up: Span, measured: Span) -> Run {
    let mut simulation = Simulation::build(config).expect("a tree of devices");
    simulation.add_workload(Box::new(StorageWorkload::new(storage)));
    let start = Time::ZERO + warm_up;
    simulation.run_until(start, u64::MAX);
    simulation.start_measuring(start);
    simulation.run_until(start + measured, u64::MAX);
    simulation.stop_measuring(start + measured);
    simulation.fabric.check_conservation();
    let metrics = simulation.reports(start + measured).remove(0).remove(0);
    Run { simulation, metrics, measured, end: start + measured }
}
