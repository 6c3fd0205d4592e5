//! Random trees × random transfers × random faults: what must hold whatever the configuration.
//!
//! A failure prints the smallest [`Case`] found, in the syntax of this file: paste it into [`check`] to replay it.

mod common;

use common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_observe::{Fact, Observer, Use};
use lanewise_pcie::ack_nak::{FLIT_REPLAY_TIMEOUT_FLITS, ReplayRule, replay_timer_limit};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::{CreditPool, ReceiverKind, Scale, minimum_advertisement};
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::tlp::FlowClass;
use lanewise_pcie::virtual_channel::{ChannelArbitration, ChannelMap};
use lanewise_units::{Bytes, Generation, Rate, Span, Time, Width};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// The link above a device, and the device's place: below the root or below an earlier switch.
#[derive(Clone, Debug)]
struct LinkCase {
    parent: usize,
    generation: u8,
    lanes: u64,
    /// Flit Mode below Gen6 too.
    flit: bool,
    /// 0 minimum, else this many times an MPS of credits.
    credits: u16,
    /// Headers without limit, data as above.
    infinite_headers: bool,
    scale: usize,
    /// Retry buffer, in TLPs of one MPS, or as many flits of 256 B as that.
    retry_tlps: u64,
    ack_every: u32,
    update_every: u32,
    receive_ns: u64,
    corrupt_downstream: Vec<u64>,
    corrupt_upstream: Vec<u64>,
    /// Bit error rates, in units of 1e-7.
    errors_downstream: u32,
    errors_upstream: u32,
    /// Which traffic classes are on VC1 and up: one of [`MAPS`]. In Flit Mode none are.
    channels: usize,
    channel_arbitration: u8,
    /// Microseconds of silence after which a direction enters L0s, and the link L1. In Flit Mode it stays awake.
    sleep_us: [Option<u64>; 2],
}

/// Traffic classes of VC1, VC2 and so on.
const MAPS: [&[&[u8]]; 5] =
    [&[], &[&[7]], &[&[1, 2, 3], &[4, 5, 6, 7]], &[&[5], &[1]], &[&[1], &[2], &[3], &[4], &[5], &[6], &[7]]];

#[derive(Clone, Debug)]
struct SwitchCase {
    link: LinkCase,
    core: u8,
    store_and_forward: bool,
    latency_ns: u64,
    arbitration: u8,
    acs: bool,
}

#[derive(Clone, Debug)]
struct EndpointCase {
    link: LinkCase,
    mrrs_shift: u32,
    tags: u32,
    wide_tags: bool,
    relaxed: bool,
    ecrc: bool,
    interval_ns: u64,
    slow_drain: bool,
}

#[derive(Clone, Debug)]
struct TransferCase {
    from: usize,
    /// Another endpoint, or the host when it is the same one.
    to: usize,
    channel: u32,
    /// 0 read, 1 write, 2 MMIO read, 3 MMIO write.
    what: u8,
    offset: u64,
    length: u64,
    at_ns: u64,
}

/// What goes wrong in the transaction layer: ordinals of reads and packets.
#[derive(Clone, Debug, Default)]
struct Mishaps {
    /// Of the root complex.
    unanswered: Vec<u64>,
    late: Vec<u64>,
    /// Of the root complex and every endpoint.
    poisoned: Vec<u64>,
    /// Of every switch.
    corrupted: Vec<u64>,
    timeout_us: u64,
    retries: u32,
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    mps_shift: u32,
    combine: bool,
    rcb_128: bool,
    engines: u32,
    jitter: bool,
    shared_outbound: bool,
    high_memory: bool,
    /// Root ports at two sockets in turn, and memory of endpoints likewise.
    sockets: bool,
    /// Translations of so few pages; none without.
    iommu: u32,
    switches: Vec<SwitchCase>,
    endpoints: Vec<EndpointCase>,
    transfers: Vec<TransferCase>,
    /// Traffic class of each DMA channel.
    classes: [u8; 3],
    /// None: then everything that is asked for arrives.
    mishaps: Option<Mishaps>,
}

fn link_case() -> impl Strategy<Value = LinkCase> {
    let corrupt = || prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(0u64..60, 1..12)];
    let errors = || prop_oneof![3 => Just(0u32), 1 => 1u32..=100];
    (
        (0usize..4, 1u8..=7, prop::sample::select(vec![1u64, 2, 4, 8, 12, 16]), prop::bool::weighted(0.1)),
        (
            prop::sample::select(vec![0u16, 1, 3, 16]),
            prop::bool::weighted(0.1),
            0usize..3,
            prop::sample::select(vec![1u64, 2, 9, 64]),
        ),
        (1u32..6, 1u32..6, prop::sample::select(vec![0u64, 20, 70])),
        (corrupt(), corrupt(), errors(), errors()),
        (prop_oneof![3 => Just(0usize), 2 => 1..MAPS.len()], 0u8..3),
        prop_oneof![3 => Just([None; 2]), 1 => prop::array::uniform2(prop::option::of(0u64..12))],
    )
        .prop_map(
            |(
                (parent, generation, lanes, flit),
                (credits, infinite_headers, scale, retry_tlps),
                policy,
                faults,
                several,
                sleep_us,
            )| LinkCase {
                parent,
                generation,
                lanes,
                flit,
                credits,
                infinite_headers,
                scale,
                retry_tlps,
                ack_every: policy.0,
                update_every: policy.1,
                receive_ns: policy.2,
                corrupt_downstream: faults.0,
                corrupt_upstream: faults.1,
                errors_downstream: faults.2,
                errors_upstream: faults.3,
                channels: several.0,
                channel_arbitration: several.1,
                sleep_us,
            },
        )
}

fn switch_case() -> impl Strategy<Value = SwitchCase> {
    (link_case(), 0u8..4, any::<bool>(), prop::sample::select(vec![0u64, 5, 150]), 0u8..3, any::<bool>())
        .prop_map(|(link, core, store_and_forward, latency_ns, arbitration, acs)| SwitchCase {
            link,
            core,
            store_and_forward,
            latency_ns,
            arbitration,
            acs,
        })
}

fn endpoint_case() -> impl Strategy<Value = EndpointCase> {
    let tags = prop::sample::select(vec![1u32, 3, 32]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (link_case(), 0u32..6, tags, flags, prop::sample::select(vec![0u64, 0, 130])).prop_map(
        |(link, mrrs_shift, tags, (wide_tags, relaxed, ecrc, slow_drain), interval_ns)| EndpointCase {
            link,
            mrrs_shift,
            tags,
            wide_tags,
            relaxed,
            ecrc,
            interval_ns,
            slow_drain,
        },
    )
}

fn transfer_case() -> impl Strategy<Value = TransferCase> {
    let length = prop_oneof![1u64..200, 1u64..12_000];
    let what = prop::sample::select(vec![0u8, 0, 0, 1, 1, 1, 2, 3]);
    (0usize..6, 0usize..6, 0u32..3, what, 0u64..10_000, length, 0u64..20_000).prop_map(
        |(from, to, channel, what, offset, length, at_ns)| TransferCase {
            from,
            to,
            channel,
            what,
            offset,
            length,
            at_ns,
        },
    )
}

fn mishaps() -> impl Strategy<Value = Mishaps> {
    let listed = || prop::collection::vec(0u64..80, 0..8);
    let lists = (listed(), listed(), listed(), listed());
    (lists, prop::sample::select(vec![3u64, 50, 400]), 0u32..4).prop_map(|(lists, timeout_us, retries)| {
        let (unanswered, late, poisoned, corrupted) = lists;
        Mishaps { unanswered, late, poisoned, corrupted, timeout_us, retries }
    })
}

fn case() -> impl Strategy<Value = Case> {
    (
        (any::<u64>(), 0u32..4, any::<bool>(), any::<bool>()),
        (prop::sample::select(vec![1u32, 2, 64]), any::<bool>(), any::<bool>(), any::<bool>()),
        (any::<bool>(), prop::sample::select(vec![0u32, 0, 1, 4])),
        prop::collection::vec(switch_case(), 1..=3),
        prop::collection::vec(endpoint_case(), 1..=6),
        prop::collection::vec(transfer_case(), 1..24),
        prop_oneof![1 => Just([0u8; 3]), 3 => prop::array::uniform3(0u8..8)],
        prop_oneof![3 => Just(None), 1 => mishaps().prop_map(Some)],
    )
        .prop_map(|(general, root, path, switches, endpoints, transfers, classes, mishaps)| Case {
            seed: general.0,
            mps_shift: general.1,
            combine: general.2,
            rcb_128: general.3,
            engines: root.0,
            jitter: root.1,
            shared_outbound: root.2,
            high_memory: root.3,
            sockets: path.0,
            iommu: path.1,
            switches,
            endpoints,
            transfers,
            classes,
            mishaps,
        })
}

const SLOW: Rate = Rate::from_bytes_per_second(300_000_000);

impl LinkCase {
    fn mode(&self) -> LinkMode {
        let generation = Generation::from_number(self.generation).expect("1 to 7");
        let mode = LinkMode::new(generation, Width::from_lanes(self.lanes).expect("a width"));
        let mode = mode.with_flit(self.flit);
        // Flits exist on widths that are powers of two.
        if mode.is_defined() { mode } else { LinkMode { width: Width::X8, ..mode } }
    }

    fn map(&self) -> ChannelMap {
        let channels = if self.mode().flit { &[] } else { MAPS[self.channels] };
        ChannelMap::new(channels).expect("a legal map")
    }

    fn power(&self) -> LinkPower {
        let [l0s, l1] = if self.mode().flit { [None; 2] } else { self.sleep_us };
        let state = |idle: u64, exit| SleepConfig { idle: Span::from_us(idle), exit: Span::from_us(exit) };
        LinkPower { l0s: l0s.map(|idle| state(idle, 1)), l1: l1.map(|idle| state(idle, 8)) }
    }

    fn port(&self, mps: u64, receiver: ReceiverKind) -> PortConfig {
        let mut made = port(self.mode(), mps);
        made.scale = Scale::ALL[self.scale];
        made.credits = FlowClass::ALL.map(|class| {
            let least = minimum_advertisement(class, Bytes::new(mps), made.scale, receiver);
            let times = |credits: Option<u16>| credits.map(|least| (least * (self.credits + 1)).min(127));
            let header = times(least.header).filter(|_| !self.infinite_headers);
            CreditPool { header, data: least.data.map(|data| data * (self.credits + 1)) }
        });
        let channels = self.map().channels();
        made.more_credits = vec![made.credits; channels - 1];
        made.channel_arbitration = match self.channel_arbitration {
            0 => ChannelArbitration::Strict,
            1 => ChannelArbitration::RoundRobin,
            _ => ChannelArbitration::WeightedRoundRobin { weights: (1..=channels as u8).collect() },
        };
        made.retry_buffer = Bytes::new((mps + 256) * self.retry_tlps);
        made.ack.every_tlps = self.ack_every;
        made.update_flow_control.every_tlps = self.update_every;
        made.receive_latency = Span::from_ns(self.receive_ns);
        made.replay_timer =
            replay_timer(self.mode(), made.mps) + self.power().l0s.map_or(Span::ZERO, |l0s| l0s.exit);
        made
    }

    fn link(&self, upper: (usize, usize), lower: (usize, usize)) -> LinkConfig {
        let mut made = link(upper, lower, self.mode());
        made.channels = self.map();
        made.power = self.power();
        let faults = |corrupt: &[u64], errors: u32| FaultConfig {
            bit_error_rate: f64::from(errors) * 1e-7,
            corrupt_tlps: corrupt.to_vec(),
        };
        made.faults_downstream = faults(&self.corrupt_downstream, self.errors_downstream);
        made.faults_upstream = faults(&self.corrupt_upstream, self.errors_upstream);
        made
    }
}

/// The shortest legal replay timer.
fn replay_timer(mode: LinkMode, mps: Bytes) -> Span {
    if mode.flit {
        return mode.wire_span(Bytes::new(FLIT_REPLAY_TIMEOUT_FLITS * 256));
    }
    let rule = ReplayRule::for_fastest(mode.generation);
    replay_timer_limit(mps, mode.width, mode.generation, rule).span(mode.generation)
}

/// Builds devices under their parents: device 0 root, then switches, then endpoints.
struct Builder {
    config: FabricConfig,
    mps: u64,
}

impl Builder {
    fn attach(&mut self, parent: usize, name: String, kind: DeviceKind, above: &LinkCase) {
        let receiver = if parent == 0 { ReceiverKind::PeerToPeerRootPort } else { ReceiverKind::Switch };
        self.config.devices[parent].ports.push(above.port(self.mps, receiver));
        let upper = (parent, self.config.devices[parent].ports.len() - 1);
        let lower = self.config.devices.len();
        let own = match kind {
            DeviceKind::Endpoint(_) => ReceiverKind::Endpoint,
            DeviceKind::RootComplex(_) | DeviceKind::Switch(_) => ReceiverKind::Switch,
        };
        self.config.devices.push(device(&name, kind, vec![above.port(self.mps, own)]));
        self.config.links.push(above.link(upper, (lower, 0)));
    }
}

impl Case {
    fn config(&self) -> FabricConfig {
        let mps = 128 << self.mps_shift;
        let root = device("root", DeviceKind::RootComplex(self.root(mps)), Vec::new());
        let config = FabricConfig { devices: vec![root], links: Vec::new(), seed: self.seed };
        let mut builder = Builder { config, mps };
        for (index, case) in self.switches.iter().enumerate() {
            let parent = case.link.parent % (index + 1);
            let settings = SwitchConfig { corruption: self.corruption(), ..case.settings() };
            builder.attach(parent, format!("switch{index}"), DeviceKind::Switch(settings), &case.link);
        }
        for (index, case) in self.endpoints.iter().enumerate() {
            let parent = case.link.parent % (self.switches.len() + 1);
            let memory_socket =
                (case.tags % 3).checked_sub(1).filter(|_| self.sockets).map(|socket| socket as u16);
            let errors = self.errors_of_endpoints();
            let settings = EndpointConfig { memory_socket, errors, ..case.settings() };
            builder.attach(parent, format!("end{index}"), DeviceKind::Endpoint(settings), &case.link);
        }
        let ports = builder.config.devices[0].ports.len() as u16;
        let sockets = self.sockets.then(|| SocketsConfig {
            of_port: (0..ports).map(|port| port % 2).collect(),
            rate: SLOW,
            line: Bytes::new(64),
            line_overhead: Bytes::new(8),
            latency: Span::from_ns(60),
        });
        root_mut(&mut builder.config).sockets = sockets;
        builder.config
    }

    fn root(&self, mps: u64) -> RootComplexConfig {
        let rcb = if self.rcb_128 { 128 } else { 64 };
        RootComplexConfig {
            read_engines: self.engines,
            memory_latency_jitter: if self.jitter { Span::from_ns(200) } else { Span::ZERO },
            rcb: Bytes::new(rcb),
            completion_combine_max: Bytes::new(if self.combine { mps } else { rcb }),
            shared_outbound_queue: self.shared_outbound.then_some(4),
            root_port_queue: 2,
            memory_base: if self.high_memory { 1 << 32 } else { 0 },
            iommu: (self.iommu > 0).then(|| IommuConfig {
                entries: self.iommu,
                ways: 1 + self.iommu / 4,
                page: Bytes::from_kib(4),
                walk_steps: 2,
                walk_step_latency: Span::from_ns(100),
                walkers: 1 + self.iommu / 2,
            }),
            errors: self.errors_of_root(),
            ..root_complex()
        }
    }

    fn errors_of_root(&self) -> ErrorConfig {
        let Some(mishaps) = &self.mishaps else { return ErrorConfig::default() };
        ErrorConfig {
            unanswered_reads: mishaps.unanswered.clone(),
            late_reads: mishaps.late.clone(),
            late_by: Span::from_us(20),
            poisoned: mishaps.poisoned.clone(),
            ..ErrorConfig::default()
        }
    }

    fn errors_of_endpoints(&self) -> ErrorConfig {
        let Some(mishaps) = &self.mishaps else { return ErrorConfig::default() };
        ErrorConfig {
            poisoned: mishaps.poisoned.clone(),
            completion_timeout: Some(Span::from_us(mishaps.timeout_us)),
            retries: mishaps.retries,
            ..ErrorConfig::default()
        }
    }

    fn corruption(&self) -> CorruptionConfig {
        let tlps = self.mishaps.as_ref().map_or(Vec::new(), |mishaps| mishaps.corrupted.clone());
        CorruptionConfig { probability: 0.0, tlps }
    }

    fn endpoint(&self, index: usize) -> u32 {
        (1 + self.switches.len() + index % self.endpoints.len()) as u32
    }

    fn steps(&self) -> Vec<(Time, Ask)> {
        let step = |case: &TransferCase| {
            let device = self.endpoint(case.from);
            let bytes = case.length.min(64);
            let ask = match case.what {
                2 => Ask::MmioRead { device, bytes },
                3 => Ask::MmioWrite { device, bytes },
                what => Ask::Dma {
                    device,
                    channel: case.channel,
                    direction: if what == 0 { Direction::Read } else { Direction::Write },
                    target: match self.endpoint(case.to) {
                        to if to == device => Target::HostMemory,
                        to => Target::Endpoint(DeviceId(to)),
                    },
                    offset: case.offset,
                    length: case.length,
                },
            };
            (us(5) + Span::from_ns(case.at_ns), ask)
        };
        self.transfers.iter().map(step).collect()
    }
}

impl SwitchCase {
    fn settings(&self) -> SwitchConfig {
        SwitchConfig {
            core: match self.core {
                0 => SwitchCore::Crossbar { port_rate: FAST },
                1 => SwitchCore::shared_bus(SLOW),
                2 => SwitchCore::SharedMemory { rate: SLOW },
                // As many as a switch has ports at most: on two buses in turn.
                _ => SwitchCore::Buses { rate: SLOW, of_port: (0..128).map(|port| port % 2).collect() },
            },
            forwarding: match self.store_and_forward {
                true => Forwarding::StoreAndForward,
                false => Forwarding::CutThrough,
            },
            latency: Span::from_ns(self.latency_ns),
            arbitration: match self.arbitration {
                0 => Arbitration::RoundRobin,
                1 => Arbitration::WeightedRoundRobin { weights: (1..=16).collect() },
                _ => Arbitration::Strict,
            },
            acs_redirect: self.acs,
            corruption: CorruptionConfig::default(),
        }
    }
}

impl EndpointCase {
    fn settings(&self) -> EndpointConfig {
        EndpointConfig {
            mrrs: Bytes::new(128 << self.mrrs_shift),
            tags: self.tags,
            tag_width: if self.wide_tags { TagWidth::Bits10 } else { TagWidth::Bits5 },
            relaxed_ordering: self.relaxed,
            id_based_ordering: self.relaxed == self.ecrc,
            ecrc: self.ecrc,
            tlp_prefixes: u8::from(self.relaxed),
            request_interval: Span::from_ns(self.interval_ns),
            write_drain: if self.slow_drain { SLOW } else { FAST },
            buffer_hold: if self.slow_drain { Span::from_ns(300) } else { Span::ZERO },
            ..endpoint()
        }
    }
}

/// Per port, TLPs sent and accepted, and whether sequence numbers ever skipped or repeated.
#[derive(Default)]
struct PerLink {
    sent: Vec<u64>,
    accepted: Vec<u64>,
    out_of_sequence: Vec<u32>,
}

struct LinkChecker(Rc<RefCell<PerLink>>);

impl Observer for LinkChecker {
    fn observe(&mut self, _: Time, fact: &Fact) {
        let mut seen = self.0.borrow_mut();
        match *fact {
            Fact::TlpSent { port, sequence, .. } => {
                let expected = seen.sent[port as usize] % 4096;
                if u64::from(sequence) != expected {
                    seen.out_of_sequence.push(port);
                }
                seen.sent[port as usize] += 1;
            }
            Fact::BufferFilled { port, .. } => seen.accepted[port as usize] += 1,
            _ => {}
        }
    }
}

/// What two runs of one case must agree on.
type Trajectory = (u64, u64, Vec<Option<Time>>);

fn run(case: &Case) -> Trajectory {
    let config = case.config();
    let steps = case.steps();
    let count = steps.len();
    let mut simulation = Simulation::build(&config).expect("a tree");
    let ports = ports(&config);
    let seen = Rc::new(RefCell::new(PerLink {
        sent: vec![0; ports],
        accepted: vec![0; ports],
        out_of_sequence: Vec::new(),
    }));
    simulation.fabric.add_observer(Box::new(LinkChecker(Rc::clone(&seen))));
    let (script, log) = Script::new(steps.clone());
    simulation.add_workload(Box::new(script.with_classes(&case.classes)));

    // Long enough for 100 KB in and out of a Gen1 x1 link with little credit, and many replay timeouts.
    let mut at = Time::ZERO;
    while log.done() < count {
        at += Span::from_us(2);
        assert!(at < us(60_000), "{} of {count} done after 60 ms", log.done());
        advance(&mut simulation, at);
        simulation.fabric.check_conservation();
    }
    let trajectory = (
        simulation.fabric.observers().fingerprint(),
        simulation.events_handled(),
        (0..count).map(|step| log.done_at(step)).collect(),
    );
    settle(&config, &mut simulation, at);
    check_end(&config, &simulation, &steps, case.mishaps.is_some());
    check_links(&config, &simulation, &seen.borrow());
    trajectory
}

/// Acks, updates and replays come to rest. Lost UpdateFCs are repeated every 30 us.
fn settle(config: &FabricConfig, simulation: &mut Simulation, mut at: Time) {
    for _ in 0..200 {
        at += Span::from_us(50);
        advance(simulation, at);
        simulation.fabric.check_conservation();
        if simulation.fabric.is_quiet() && simulation.fabric.credits_are_home() {
            break;
        }
    }
    assert!(simulation.fabric.is_quiet(), "something is under way 10 ms after the last transfer");
    // The clock stands at the last event. What falls due after it and nobody waits for is done now.
    simulation.stop_measuring(at);
    // In L1 an UpdateFC that was lost is not repeated before something wakes the link.
    let errs = |faults: &FaultConfig| faults.bit_error_rate > 0.0;
    let forgets = |link: &LinkConfig| {
        link.power.l1.is_some() && (errs(&link.faults_downstream) || errs(&link.faults_upstream))
    };
    let forgetful = config.links.iter().any(forgets);
    assert!(forgetful || simulation.fabric.credits_are_home(), "credits drifted");
    check_time(config, simulation, at);
}

/// Attribution: every tick of every direction has one use, and no more ticks than there were.
fn check_time(config: &FabricConfig, simulation: &Simulation, at: Time) {
    // Nothing is stated further ahead than a TLP, or a link that has begun to wake.
    let exits = config.links.iter().flat_map(|link| [link.power.l0s, link.power.l1]).flatten();
    let latest = at + Span::from_us(1) + exits.map(|state| state.exit).max().unwrap_or(Span::ZERO);
    let observers = simulation.fabric.observers();
    for port in 0..simulation.fabric.port_count() {
        let tally = observers.direction(port);
        assert_eq!(tally.window_start() + tally.total(), tally.window_end());
        assert!(
            tally.window_end() >= at && tally.window_end() < latest,
            "port {port}: {:?}",
            tally.window_end()
        );
        let share: f64 = Use::ALL.iter().map(|on| tally.share(*on)).sum();
        assert!((share - 1.0).abs() < 1e-9, "port {port}: {share}");
    }
}

/// Each transfer delivered as many bytes as it was asked for, or fewer where data are lost; nobody holds a tag.
fn check_end(config: &FabricConfig, simulation: &Simulation, steps: &[(Time, Ask)], loses: bool) {
    for (flow, (_, ask)) in simulation.fabric.observers().flows().iter().zip(steps) {
        let asked = match ask {
            Ask::Dma { length, .. } => *length,
            Ask::MmioRead { .. } | Ask::MmioWrite { .. } => 0,
        };
        let arrived = flow.payload();
        let all = arrived == Bytes::new(asked);
        assert!(all || loses && arrived < Bytes::new(asked), "{arrived} of {ask:?}");
    }
    for index in 0..config.devices.len() {
        assert_eq!(simulation.fabric.outstanding_reads(DeviceId(index as u32)), 0);
    }
}

/// Per link direction: sequence numbers without gaps, and as many TLPs accepted as were sent.
fn check_links(config: &FabricConfig, simulation: &Simulation, seen: &PerLink) {
    let port = |(device, port): (usize, usize)| simulation.fabric.port_index(DeviceId(device as u32), port);
    for link in &config.links {
        let (upper, lower) = (port(link.upper), port(link.lower));
        assert_eq!(seen.sent[upper], seen.accepted[lower], "downstream {link:?}");
        assert_eq!(seen.sent[lower], seen.accepted[upper], "upstream {link:?}");
        // Flits have numbers of their own.
        let numbered = [upper, lower].iter().all(|port| !seen.out_of_sequence.contains(&(*port as u32)));
        assert!(numbered || link.mode.flit, "{:?} {link:?}", seen.out_of_sequence);
        for (port, faults) in [(upper, &link.faults_downstream), (lower, &link.faults_upstream)] {
            let healthy =
                |faults: &FaultConfig| faults.bit_error_rate == 0.0 && faults.corrupt_tlps.is_empty();
            let replays = simulation.fabric.observers().counters(port).replays;
            let needless = healthy(&link.faults_downstream) && healthy(&link.faults_upstream) && replays > 0;
            assert!(!needless, "{replays} replays on a good link, port {port}, {faults:?}, {link:?}");
        }
    }
}

/// Everything that must hold of one case.
fn check(case: &Case) {
    let first = run(case);
    let second = run(case);
    assert!(first == second, "the same case took two trajectories");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Transfers end, exactly once, with everything conserved, whatever tree, transfers and faults.
    #[test]
    fn everything_arrives_once_and_everything_is_conserved(case in case()) {
        check(&case);
    }
}

/// Little's law: the time average of reads outstanding is the sum of their latencies over the time.
#[test]
fn reads_obey_littles_law() {
    for (tags, size) in [(32, 4096), (5, 512), (1, 64)] {
        let mut config = behind_switch(Generation::Gen2, Width::X4, Width::X4, 1, 256);
        endpoint_mut(&mut config, 2).tags = tags;
        let mut simulation = Simulation::build(&config).expect("a tree");
        simulation.add_workload(Box::new(Stream::new(2, Direction::Read, size, 2).times(40)));
        let step = Span::from_ns(2);
        let (mut at, mut area) = (Time::ZERO, 0u64);
        while at < us(200) {
            area += u64::from(simulation.fabric.outstanding_reads(DeviceId(2))) * step.ticks();
            at += step;
            simulation.run_until(at, u64::MAX);
        }
        assert_eq!(simulation.fabric.outstanding_reads(DeviceId(2)), 0, "200 us are enough");
        let flow = &simulation.fabric.observers().flows()[0];
        let area = Span::from_ticks(area).as_seconds();
        assert_close(area, flow.latency_sum_seconds(), 0.005, "L T = sum of W");
    }
}
