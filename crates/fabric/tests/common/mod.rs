//! Small fabrics and a plain stream, for the tests of this crate.
#![allow(dead_code, reason = "each test binary uses its own part")]

use lanewise_fabric::config::*;
use lanewise_fabric::ports::{Dma, Mmio, Tally, Timers};
use lanewise_fabric::workload::*;
use lanewise_fabric::{Fabric, Progress, Simulation};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf, WorkloadEntry};
use lanewise_pcie::ack_nak::{ReplayRule, ack_latency_limit, replay_timer_limit};
use lanewise_pcie::encoding::{Clocking, LinkMode};
use lanewise_pcie::flow_control::{CreditPool, Scale};
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::virtual_channel::{ChannelArbitration, ChannelMap};
use lanewise_units::{Bytes, Generation, Rate, Span, Time, Width};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

pub const FAST: Rate = Rate::from_bytes_per_second(1_000_000_000_000);

pub fn infinite() -> [CreditPool; 3] {
    [CreditPool { header: None, data: None }; 3]
}

/// A port with generous buffers.
pub fn port(mode: LinkMode, mps: u64) -> PortConfig {
    let mps = Bytes::new(mps);
    let ack = ack_latency_limit(mps, mode.width, mode.generation).span(mode.generation);
    let replay = replay_timer_limit(mps, mode.width, mode.generation, ReplayRule::Legacy);
    PortConfig {
        mps,
        retry_buffer: Bytes::from_kib(16),
        credits: [
            CreditPool::finite(64, 512),
            CreditPool::finite(64, 64),
            CreditPool { header: None, data: None },
        ],
        more_credits: Vec::new(),
        channel_arbitration: ChannelArbitration::Strict,
        scale: [Scale::One; 3],
        ack: AckPolicy { every_tlps: 4, latency: ack.saturating_sub(mode.wire_span(mps + Bytes::new(28))) },
        update_flow_control: UpdatePolicy { every_tlps: 8, latency: ack, period: Span::from_us(30) },
        receive_latency: Span::from_ns(20),
        replay_timer: replay.span(mode.generation),
    }
}

pub fn switch_port(mode: LinkMode, mps: u64) -> PortConfig {
    let mut port = port(mode, mps);
    port.credits[2] = CreditPool::finite(64, 512);
    port
}

pub fn root_complex() -> RootComplexConfig {
    RootComplexConfig {
        core_latency: Span::ZERO,
        stack_of_port: Vec::new(),
        stack: stack(64),
        memory: memory(FAST),
        more_memory: BTreeMap::new(),
        cache: None,
        memory_latency: Span::from_ns(150),
        memory_latency_jitter: Span::ZERO,
        read_bandwidth: FAST,
        write_bandwidth: FAST,
        write_overhead: Span::ZERO,
        rcb: Bytes::new(64),
        completion_combine_max: Bytes::new(64),
        write_latency: Span::from_ns(50),
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

/// Stacks that limit nothing but the reads that they keep track of.
pub fn stack(read_trackers: u32) -> StackConfig {
    StackConfig { read_trackers, read_bandwidth: None, write_bandwidth: None, peer_rate: None }
}

/// Memory of one channel, which is a rate and nothing else.
pub fn memory(rate: Rate) -> MemoryConfig {
    MemoryConfig { rate, channels: 1, interleave: Bytes::new(256), banks: None }
}

pub fn endpoint() -> EndpointConfig {
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
        mmio_read_latency: Span::from_ns(100),
        memory_read_latency: Span::from_ns(100),
        memory_read_rate: None,
        request_interval: Span::ZERO,
        dma: DmaConfig::default(),
        completion_latency: Span::ZERO,
        write_drain: FAST,
        buffer_hold: Span::ZERO,
        memory_socket: None,
        warm_buffers: false,
        side_link: None,
        bridge: None,
        errors: ErrorConfig::default(),
    }
}

pub fn switch(latency_ns: u64) -> SwitchConfig {
    SwitchConfig {
        core: SwitchCore::Crossbar { port_rate: FAST },
        forwarding: Forwarding::CutThrough,
        latency: Span::from_ns(latency_ns),
        arbitration: Arbitration::RoundRobin,
        acs_redirect: false,
        request_metering: None,
        storage: [Bytes::ZERO; 3],
        corruption: CorruptionConfig::default(),
    }
}

pub fn link(upper: (usize, usize), lower: (usize, usize), mode: LinkMode) -> LinkConfig {
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

pub fn device(name: &str, kind: DeviceKind, ports: Vec<PortConfig>) -> DeviceConfig {
    let port_names = usual_port_names(&kind, ports.len());
    DeviceConfig { name: name.into(), kind, ports, port_names }
}

/// Root port and endpoint, one link. Device 0 is the root complex, device 1 the endpoint.
pub fn direct(generation: Generation, width: Width, mps: u64) -> FabricConfig {
    let mode = LinkMode::new(generation, width);
    FabricConfig {
        devices: vec![
            device("root", DeviceKind::RootComplex(root_complex()), vec![port(mode, mps)]),
            device("end", DeviceKind::Endpoint(endpoint()), vec![port(mode, mps)]),
        ],
        links: vec![link((0, 0), (1, 0), mode)],
        cxl: Default::default(),
        seed: 1,
    }
}

/// Root port, switch, and so many endpoints below it. Device 0 root, 1 switch, 2.. endpoints.
pub fn behind_switch(
    generation: Generation,
    upper: Width,
    lower: Width,
    endpoints: usize,
    mps: u64,
) -> FabricConfig {
    let (above, below) = (LinkMode::new(generation, upper), LinkMode::new(generation, lower));
    let mut switch_ports = vec![switch_port(above, mps)];
    switch_ports.extend((0..endpoints).map(|_| switch_port(below, mps)));
    let mut config = FabricConfig {
        devices: vec![
            device("root", DeviceKind::RootComplex(root_complex()), vec![port(above, mps)]),
            device("switch", DeviceKind::Switch(switch(150)), switch_ports),
        ],
        links: vec![link((0, 0), (1, 0), above)],
        cxl: Default::default(),
        seed: 1,
    };
    for index in 0..endpoints {
        config.devices.push(device(
            &format!("end{index}"),
            DeviceKind::Endpoint(endpoint()),
            vec![port(below, mps)],
        ));
        config.links.push(link((1, index + 1), (index + 2, 0), below));
    }
    config
}

/// Keeps transfers of one size under way.
pub struct Stream {
    pub device: DeviceId,
    pub direction: Direction,
    pub target: Target,
    pub size: u64,
    pub outstanding: u64,
    pub limit: u64,
    pub traffic_class: u8,
    /// Its engine, where it is not one of the device's plain ones.
    pub engine: Option<EngineConfig>,
    state: Option<(DmaQueueId, FlowId)>,
    next: u64,
}

impl Stream {
    pub fn new(device: u32, direction: Direction, size: u64, outstanding: u64) -> Self {
        Self {
            device: DeviceId(device),
            direction,
            target: Target::HostMemory,
            size,
            outstanding,
            limit: u64::MAX,
            traffic_class: 0,
            engine: None,
            state: None,
            next: 0,
        }
    }

    pub fn times(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    pub fn to(mut self, target: Target) -> Self {
        self.target = target;
        self
    }

    pub fn of_class(mut self, traffic_class: u8) -> Self {
        self.traffic_class = traffic_class;
        self
    }

    pub fn on(mut self, engine: EngineConfig) -> Self {
        self.engine = Some(engine);
        self
    }

    fn ask(&mut self, fabric: &mut Fabric) {
        if self.next >= self.limit {
            return;
        }
        let (channel, flow) = self.state.expect("started");
        let transfer = Transfer {
            direction: self.direction,
            target: self.target,
            offset: self.next * self.size % (1 << 24),
            length: Bytes::new(self.size),
            flow,
            token: self.next,
            notify: Notify::Done,
        };
        self.next += 1;
        fabric.submit(channel, transfer);
    }
}

impl Workload for Stream {
    fn start(&mut self, fabric: &mut Fabric) {
        let direction = if self.direction == Direction::Read { "read" } else { "write" };
        let flow = fabric.add_flow(FlowSpec {
            name: format!("{}-{direction}", self.device.0),
            entry: WorkloadEntry::default(),
            devices: "".into(),
            direction,
            latency: LatencyOf::Request,
            repeats: false,
        });
        let channel = match &self.engine {
            Some(engine) => fabric.open_queue_with(self.device, engine),
            None => fabric.open_queue_of(self.device, self.traffic_class),
        };
        self.state = Some((channel, flow));
        (0..self.outstanding).for_each(|_| self.ask(fabric));
    }

    fn handle(&mut self, event: WorkloadEvent, fabric: &mut Fabric) {
        assert!(matches!(event, WorkloadEvent::TransferDone { .. }), "{event:?}");
        self.ask(fabric);
    }
}

pub fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Runs the streams with 20 us of warm-up, then measures for so long.
pub fn measure(config: &FabricConfig, streams: Vec<Stream>, measured_us: u64) -> Simulation {
    let mut simulation = Simulation::build(config).expect("a tree");
    for stream in streams {
        simulation.add_workload(Box::new(stream));
    }
    simulation.run_until(us(20), u64::MAX);
    simulation.start_measuring(us(20));
    simulation.run_until(us(20 + measured_us), u64::MAX);
    simulation.stop_measuring(us(20 + measured_us));
    simulation.fabric.check_conservation();
    simulation
}

/// Goodput of a flow, bytes per second, over the measured microseconds.
pub fn goodput(simulation: &Simulation, flow: usize, measured_us: u64) -> f64 {
    simulation.fabric.observers().flows()[flow].payload().get() as f64 / (measured_us as f64 * 1e-6)
}

/// What a [`Script`] asks for.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// A transfer: on its own channel if `channel` has not been named before by this device.
    Dma { device: u32, channel: u32, direction: Direction, target: Target, offset: u64, length: u64 },
    /// Read by the CPU.
    MmioRead { device: u32, bytes: u64 },
    /// Write by the CPU.
    MmioWrite { device: u32, bytes: u64 },
}

/// A DMA of host memory on channel 0.
pub fn dma(device: u32, direction: Direction, offset: u64, length: u64) -> Ask {
    Ask::Dma { device, channel: 0, direction, target: Target::HostMemory, offset, length }
}

/// A DMA of another endpoint's memory on channel 0.
pub fn peer(device: u32, direction: Direction, target: u32, length: u64) -> Ask {
    let target = Target::Endpoint(DeviceId(target));
    Ask::Dma { device, channel: 0, direction, target, offset: 0, length }
}

/// When each step of a script was asked for and when it was done.
#[derive(Clone, Debug, Default)]
pub struct Log(Rc<RefCell<Vec<Step>>>);

/// When a step was asked for, and when it ended.
type Step = (Time, Option<Time>);

impl Log {
    /// From asking for a step to its end.
    pub fn latency(&self, step: usize) -> Span {
        let (asked, done) = self.0.borrow()[step];
        done.unwrap_or_else(|| panic!("step {step} is not done")) - asked
    }

    /// When a step ended.
    pub fn done_at(&self, step: usize) -> Option<Time> {
        self.0.borrow()[step].1
    }

    /// Steps that have ended.
    pub fn done(&self) -> usize {
        self.0.borrow().iter().filter(|(_, done)| done.is_some()).count()
    }
}

/// Asks for things at given times and writes down when they end. Step `n` is counted for flow `n`.
pub struct Script {
    steps: Vec<(Time, Ask)>,
    channels: Vec<((u32, u32), DmaQueueId)>,
    /// Traffic class of each channel of a device; TC0 for those beyond.
    classes: Vec<u8>,
    flows: Vec<FlowId>,
    log: Log,
}

const TIMER: u64 = 1 << 32;

impl Script {
    pub fn new(steps: Vec<(Time, Ask)>) -> (Self, Log) {
        let log = Log::default();
        log.0.borrow_mut().extend(steps.iter().map(|(at, _)| (*at, None)));
        (Self { steps, channels: Vec::new(), classes: Vec::new(), flows: Vec::new(), log: log.clone() }, log)
    }

    pub fn with_classes(mut self, classes: &[u8]) -> Self {
        self.classes = classes.to_vec();
        self
    }

    fn channel(&mut self, device: u32, channel: u32, fabric: &mut Fabric) -> DmaQueueId {
        let class = self.classes.get(channel as usize).copied().unwrap_or(0);
        let known = self.channels.iter().find(|(name, _)| *name == (device, channel));
        known.map(|(_, id)| *id).unwrap_or_else(|| {
            let id = fabric.open_queue_of(DeviceId(device), class);
            self.channels.push(((device, channel), id));
            id
        })
    }

    fn ask(&mut self, step: usize, fabric: &mut Fabric) {
        let token = step as u64;
        match self.steps[step].1 {
            Ask::Dma { device, channel, direction, target, offset, length } => {
                let channel = self.channel(device, channel, fabric);
                let (length, flow) = (Bytes::new(length), self.flows[step]);
                let notify = Notify::Done;
                let transfer = Transfer { direction, target, offset, length, flow, token, notify };
                fabric.submit(channel, transfer);
            }
            Ask::MmioRead { device, bytes } => fabric.mmio_read(DeviceId(device), Bytes::new(bytes), token),
            Ask::MmioWrite { device, bytes } => fabric.mmio_write(DeviceId(device), Bytes::new(bytes), token),
        }
    }
}

impl Workload for Script {
    fn start(&mut self, fabric: &mut Fabric) {
        for step in 0..self.steps.len() {
            self.flows.push(fabric.add_flow(FlowSpec {
                name: format!("step {step}"),
                entry: WorkloadEntry::default(),
                devices: "".into(),
                direction: "step",
                latency: LatencyOf::Request,
                repeats: false,
            }));
            fabric.set_timer(self.steps[step].0, TIMER + step as u64);
        }
    }

    fn handle(&mut self, event: WorkloadEvent, fabric: &mut Fabric) {
        match event {
            WorkloadEvent::Timer { token } => self.ask((token - TIMER) as usize, fabric),
            WorkloadEvent::TransferDone { token }
            | WorkloadEvent::MmioReadDone { token }
            | WorkloadEvent::MmioWriteArrived { token } => {
                let done = &mut self.log.0.borrow_mut()[token as usize].1;
                assert!(done.is_none(), "step {token} ends twice");
                *done = Some(fabric.now());
            }
            WorkloadEvent::TransferSent { .. }
            | WorkloadEvent::MmioWriteLeft { .. }
            | WorkloadEvent::LineDone { .. } => {
                panic!("nobody asked")
            }
        }
    }
}

/// Runs a script until everything is done, at most for so many microseconds.
pub fn run_script(config: &FabricConfig, steps: Vec<(Time, Ask)>, limit_us: u64) -> (Simulation, Log) {
    let mut simulation = Simulation::build(config).expect("a tree");
    let (script, log) = Script::new(steps);
    simulation.add_workload(Box::new(script));
    let mut at = Time::ZERO;
    while at < us(limit_us) && !simulation.fabric.is_quiet_and_done(&log) {
        at += Span::from_us(5);
        advance(&mut simulation, at);
        simulation.fabric.check_conservation();
    }
    (simulation, log)
}

/// Runs to `at`, whether or not anybody still asks for anything.
pub fn advance(simulation: &mut Simulation, at: Time) {
    loop {
        let before = simulation.events_handled();
        let progress = simulation.run_until(at, u64::MAX);
        if let Progress::Stalled { waiting } = progress {
            panic!("stalled: {waiting:#?}");
        }
        if simulation.events_handled() == before {
            return;
        }
    }
}

trait QuietAndDone {
    fn is_quiet_and_done(&self, log: &Log) -> bool;
}

impl QuietAndDone for Fabric {
    fn is_quiet_and_done(&self, log: &Log) -> bool {
        log.done() == log.0.borrow().len() && self.is_quiet()
    }
}

/// One DMA, MMIO or the like at 5 us on an idle fabric: how long it took.
pub fn alone(config: &FabricConfig, ask: Ask) -> Span {
    let (_, log) = run_script(config, vec![(us(5), ask)], 10_000);
    log.latency(0)
}

/// No ordered sets and no periodic updates: the wire belongs to the test.
pub fn without_background(mut config: FabricConfig) -> FabricConfig {
    config.links.iter_mut().for_each(|link| link.skip_interval = Some(Span::from_ms(500)));
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.update_flow_control.period = Span::from_ms(500);
    }
    config
}

pub fn root_mut(config: &mut FabricConfig) -> &mut RootComplexConfig {
    match &mut config.devices[0].kind {
        DeviceKind::RootComplex(root) => root,
        other => panic!("{other:?}"),
    }
}

pub fn switch_mut(config: &mut FabricConfig, device: usize) -> &mut SwitchConfig {
    match &mut config.devices[device].kind {
        DeviceKind::Switch(switch) => switch,
        other => panic!("{other:?}"),
    }
}

pub fn endpoint_mut(config: &mut FabricConfig, device: usize) -> &mut EndpointConfig {
    match &mut config.devices[device].kind {
        DeviceKind::Endpoint(endpoint) => endpoint,
        other => panic!("{other:?}"),
    }
}

/// Every port of the fabric, as observers number them.
pub fn ports(config: &FabricConfig) -> usize {
    config.devices.iter().map(|device| device.ports.len()).sum()
}

/// `actual` within a relative tolerance of `expected`.
pub fn assert_close(actual: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((actual / expected - 1.0).abs() <= tolerance, "{what}: {actual:.6e}, expected {expected:.6e}");
}
