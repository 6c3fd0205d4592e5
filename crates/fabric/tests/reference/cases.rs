//! Random systems that the reference plays, and the transfers that they are asked for.

use super::common::*;
use super::hot_plug::Plug;
use super::system::Step;
use lanewise_fabric::config::*;
use lanewise_pcie::ack_nak::{FLIT_REPLAY_TIMEOUT_FLITS, ReplayRule, replay_timer_limit};
use lanewise_pcie::encoding::{Clocking, LinkMode};
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::flow_control::{CreditPool, ReceiverKind, Scale, minimum_advertisement};
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::tlp::FlowClass;
use lanewise_pcie::virtual_channel::ChannelMap;
use lanewise_units::{Bytes, Generation, Rate, Span, Time, Width};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SLOW: Rate = Rate::from_bytes_per_second(300_000_000);

/// The link above a device.
#[derive(Clone, Debug)]
pub struct LinkCase {
    pub parent: usize,
    pub generation: u8,
    pub lanes: u64,
    /// None: infinite; 0 the smallest legal pools, else so many MPS more.
    pub credits: Option<u16>,
    pub scale: usize,
    pub retry_tlps: u64,
    pub ack_every: u32,
    pub update_every: u32,
    pub receive_ns: u64,
    pub propagation_ns: u64,
    pub sris: bool,
    /// None: no ordered set within the run.
    pub skips: bool,
    pub corrupt: [Vec<u64>; 2],
    /// In units of 1e-7.
    pub errors: [u32; 2],
    pub recovery_ns: u64,
    /// One of [`MAPS`], and how its channels take turns.
    pub map: usize,
    pub channel_turns: u8,
    pub power: PowerCase,
    /// In Flit Mode, with a generation and a width of its own.
    pub flits: Option<FlitCase>,
    /// Between ordered sets, in ns, in place of what is usual.
    pub skip_ns: Option<u64>,
    /// The upper and the lower end, where they differ.
    pub ends: Option<[EndCase; 2]>,
}

/// What one end of a link has otherwise than the other.
#[derive(Clone, Copy, Debug)]
pub struct EndCase {
    /// TLPs of the largest payload that fit in the retry buffer, and bytes of headers and the like beside them.
    pub retry: (u64, u64),
    /// By count, and by time, in ns.
    pub ack: (u32, u64),
    /// By count and by time, and as often as that, in ns.
    pub update: (u32, u64, u64),
    pub receive_ticks: u64,
    /// In ns, in place of what the rule gives.
    pub replay_ns: Option<u64>,
    /// Headers, or data, of which there is no end.
    pub infinite: [bool; 2],
}

/// Flit Mode.
#[derive(Clone, Copy, Debug)]
pub struct FlitCase {
    pub generation: u8,
    pub lanes: u64,
    /// The replay timer, in flits.
    pub replay_timer: u64,
}

/// By power state (L0s, L1), the silence before it and the time to leave it, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct PowerCase {
    pub states: [Option<(u64, u64)>; 2],
    /// Time for which it stays in L1 at least, in ns.
    pub stay: u64,
    /// The replay timer waits for the exit.
    pub patient: bool,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    pub link: LinkCase,
    pub store_and_forward: bool,
    pub latency_ns: u64,
    pub arbitration: u8,
    pub slow_core: bool,
    pub acs: bool,
    /// Data of each completion that request metering expects.
    pub metered: Option<u64>,
    /// Room behind the credits, by class, in bytes.
    pub storage: [u64; 3],
}

/// An endpoint.
#[derive(Clone, Debug)]
pub struct EndpointCase {
    pub link: LinkCase,
    pub mrrs_shift: u32,
    pub tags: u32,
    pub relaxed: bool,
    pub id_ordered: bool,
    pub ecrc: bool,
    pub interval_ns: u64,
    pub completion_ns: u64,
    pub slow_drain: bool,
    /// Rate of its memory as peers read it, in bytes a second, and how long that takes, in ns.
    pub memory: (Option<u64>, u64),
}

/// A transfer.
#[derive(Clone, Debug)]
pub struct TransferCase {
    pub from: usize,
    /// Itself: host memory.
    pub to: usize,
    pub channel: usize,
    pub is_read: bool,
    pub offset: u64,
    pub length: u64,
    pub at_ns: u64,
}

/// A host.
#[derive(Clone, Debug)]
pub struct HostCase {
    pub combine: bool,
    /// Reads above the Maximum Payload Size are not combined.
    pub long_by_line: bool,
    pub rcb_128: bool,
    pub trackers: u32,
    pub jitter: bool,
    pub high_memory: bool,
    pub slow_memory: bool,
    pub ecrc: bool,
    pub pairs: bool,
    pub iommu: Option<IommuCase>,
    pub memory: Option<MemoryCase>,
}

/// Channels and banks of memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryCase {
    pub channels: u32,
    pub interleave: u64,
    pub banks: Option<BankCase>,
}

/// Banks of a channel.
#[derive(Clone, Copy, Debug)]
pub struct BankCase {
    pub banks: u32,
    pub cycle_ns: u64,
    pub row: u64,
}

/// Address translation.
#[derive(Clone, Copy, Debug)]
pub struct IommuCase {
    pub entries: u32,
    pub ways: u32,
    pub page_kib: u64,
    pub steps: u32,
    pub step_ns: u64,
    pub walkers: u32,
    pub interval_ns: u64,
}

/// Everything.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub mps_shift: u32,
    pub host: HostCase,
    pub switches: Vec<SwitchCase>,
    pub endpoints: Vec<EndpointCase>,
    pub transfers: Vec<TransferCase>,
    /// Traffic class of each channel of every endpoint.
    pub classes: [u8; 3],
    pub plugs: Vec<PlugCase>,
    /// From when on transfers are asked for and devices taken away, in ns.
    pub start_ns: u64,
    pub looks: Vec<LookCase>,
    pub changes: Vec<ChangeCase>,
}

/// The run of the fabric stands still, or is asked for something: the reference knows nothing of that.
#[derive(Clone, Copy, Debug)]
pub struct LookCase {
    pub at_ns: u64,
    pub what: Look,
}

/// What it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// Nothing: it stands still at that time.
    Pause,
    /// Nothing: it stands still after so many events more than it has handled by then.
    PauseAfter(u64),
    /// It runs up to then and no further.
    Stop,
    /// For the time up to then, where it stands still.
    Account,
    /// All that can be read between two pieces of a run.
    State,
    /// Whether the devices are at rest, in the middle of a run.
    Rest,
}

/// Other settings from then on.
#[derive(Clone, Copy, Debug)]
pub struct ChangeCase {
    pub at_ns: u64,
    /// Latencies of memory of hosts, of switches and of memory of endpoints.
    pub latencies_ns: [u64; 3],
    pub jitter: bool,
    pub slow_memory: bool,
    pub slow_drain: bool,
    pub interval_ns: u64,
    /// Bit error rates are so many times as high as at the start.
    pub errors: f64,
}

/// An endpoint that is taken away, if it is at rest, and brought back.
#[derive(Clone, Copy, Debug)]
pub struct PlugCase {
    pub end: usize,
    pub at_ns: u64,
    pub away_ns: u64,
}

/// What random cases have.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    pub switches: usize,
    pub endpoints: usize,
    pub reads: bool,
    pub writes: bool,
    pub peers: bool,
    pub faults: bool,
    pub finite_credits: bool,
    pub skips: bool,
    /// Several virtual channels.
    pub channels: bool,
    /// L0s and L1.
    pub sleep: bool,
    /// Switches have room behind their credits.
    pub storage: bool,
    /// The root complex may translate addresses.
    pub iommu: bool,
    /// Memory may have channels and banks.
    pub banks: bool,
    /// Endpoints come and go.
    pub hot_plug: bool,
    /// The two ends of a link have settings of their own.
    pub ends: bool,
    /// Transfers may be asked for before flow control is initialised.
    pub early: bool,
    /// Memory of endpoints has a rate and a latency of its own.
    pub targets: bool,
    /// The run stands still on its way and is asked for its state.
    pub looks: bool,
    /// Settings change on the way.
    pub changes: bool,
    /// The share of links in Flit Mode.
    pub flits: f64,
}

/// Traffic classes on VC1, VC2 and so on.
const MAPS: [&[&[u8]]; 4] = [&[], &[&[1]], &[&[2], &[1, 3]], &[&[1, 2, 3]]];

impl LinkCase {
    fn mode(&self) -> LinkMode {
        let (generation, lanes) =
            self.flits.map_or((self.generation, self.lanes), |flits| (flits.generation, flits.lanes));
        let generation = Generation::from_number(generation).expect("1 to 7");
        LinkMode::new(generation, Width::from_lanes(lanes).expect("a width")).with_flit(self.flits.is_some())
    }

    /// By class; the two ends of a link and the classes of an end differ.
    fn scales(&self, receiver: ReceiverKind) -> [Scale; 3] {
        let turn = self.scale + usize::from(receiver == ReceiverKind::Switch);
        [turn, self.scale, turn].map(|scale| Scale::ALL[scale % Scale::ALL.len()])
    }

    fn port(&self, mps: u64, receiver: ReceiverKind) -> PortConfig {
        let mut made = port(self.mode(), mps);
        made.scale = self.scales(receiver);
        // VC1 and so on have one MPS more each than the channel before.
        let pools = |channel: u16| match self.credits {
            None => infinite(),
            Some(more) => FlowClass::ALL.map(|class| {
                let least =
                    minimum_advertisement(class, Bytes::new(mps), made.scale[class.index()], receiver);
                let times = |credits: Option<u16>| credits.map(|least| least * (more + channel + 1));
                CreditPool {
                    header: times(least.header).map(|headers| headers.min(127)),
                    data: times(least.data),
                }
            }),
        };
        let beyond_vc0 = MAPS[self.map].len() as u16;
        (made.credits, made.more_credits) = (pools(0), (1..=beyond_vc0).map(pools).collect());
        made.channel_arbitration = arbitration(self.channel_turns, usize::from(beyond_vc0) + 1);
        made.retry_buffer = Bytes::new((mps + 256) * self.retry_tlps);
        made.ack.every_tlps = self.ack_every;
        made.update_flow_control.every_tlps = self.update_every;
        made.receive_latency = Span::from_ns(self.receive_ns);
        let mode = self.mode();
        let rule = ReplayRule::for_fastest(mode.generation);
        made.replay_timer =
            replay_timer_limit(made.mps, mode.width, mode.generation, rule).span(mode.generation);
        if let Some(flits) = self.flits {
            made.replay_timer = mode.wire_span(FLIT_BYTES) * flits.replay_timer;
        }
        if self.power.patient {
            let exits = self.power.states.iter().flatten().map(|(_, exit)| *exit);
            made.replay_timer += Span::from_ns(exits.max().unwrap_or(0));
        }
        made
    }

    /// The upper end of a link, or the lower one.
    fn end(&self, mps: u64, receiver: ReceiverKind, is_lower: bool) -> PortConfig {
        let mut made = self.port(mps, receiver);
        if let Some(ends) = self.ends {
            ends[usize::from(is_lower)].put_on(&mut made);
            made.retry_buffer = made.retry_buffer.max(self.flits.map_or(Bytes::ZERO, |_| FLIT_BYTES));
        }
        made
    }

    /// The longest time that one of its ends takes to check a TLP.
    fn slowest_check(&self) -> Span {
        let plain = Span::from_ns(self.receive_ns);
        let ends = self.ends.iter().flatten();
        ends.map(|end| Span::from_ticks(end.receive_ticks)).fold(plain, Span::max)
    }

    fn link(&self, upper: (usize, usize), lower: (usize, usize)) -> LinkConfig {
        let mut made = link(upper, lower, self.mode());
        made.propagation = Span::from_ns(self.propagation_ns);
        made.clocking = if self.sris { Clocking::Sris } else { Clocking::Common };
        made.skip_interval = (!self.skips).then(|| Span::from_ms(500)).or(self.skip_ns.map(Span::from_ns));
        made.recovery_time = Span::from_ns(self.recovery_ns);
        // Error correction leaves few of them.
        let more_errors = if self.flits.is_some() { 20.0 } else { 1.0 };
        let faults = |direction: usize| FaultConfig {
            bit_error_rate: f64::from(self.errors[direction]) * more_errors * 1e-7,
            corrupt_tlps: self.corrupt[direction].clone(),
        };
        (made.faults_downstream, made.faults_upstream) = (faults(0), faults(1));
        let [l0s, l1] = self.power.states.map(|state| {
            state.map(|(idle, exit)| SleepConfig::new(Span::from_ns(idle), Span::from_ns(exit)))
        });
        let l1 = l1.map(|l1| SleepConfig { stay: Span::from_ns(self.power.stay), ..l1 });
        made.power = LinkPower { l0s, l1 };
        made.channels = ChannelMap::new(MAPS[self.map]).expect("a legal map");
        made
    }
}

impl EndCase {
    fn put_on(self, port: &mut PortConfig) {
        port.retry_buffer = Bytes::new(port.mps.get() * self.retry.0 + self.retry.1);
        port.ack = AckPolicy { every_tlps: self.ack.0, latency: Span::from_ns(self.ack.1) };
        let (every_tlps, latency, period) = self.update;
        let (latency, period) = (Span::from_ns(latency), Span::from_ns(period));
        port.update_flow_control = UpdatePolicy { every_tlps, latency, period };
        port.receive_latency = Span::from_ticks(self.receive_ticks);
        port.replay_timer = self.replay_ns.map_or(port.replay_timer, Span::from_ns);
        for pool in port.more_credits.iter_mut().chain([&mut port.credits]).flatten() {
            pool.header = pool.header.filter(|_| !self.infinite[0]);
            pool.data = pool.data.filter(|_| !self.infinite[1]);
        }
    }
}

impl Case {
    pub fn mps(&self) -> u64 {
        128 << self.mps_shift
    }

    /// Long enough for most cases to come to rest; what is still under way then is compared up to there.
    pub fn until(&self) -> Time {
        us(80)
    }

    pub fn config(&self) -> FabricConfig {
        let host = device("host", DeviceKind::RootComplex(self.host.settings(self.mps())), Vec::new());
        let mut config =
            FabricConfig { devices: vec![host], links: Vec::new(), cxl: Default::default(), seed: self.seed };
        for (index, switch) in self.switches.iter().enumerate() {
            let parent = switch.link.parent % (1 + index);
            self.attach(
                &mut config,
                parent,
                format!("switch{index}"),
                DeviceKind::Switch(switch.settings()),
                &switch.link,
            );
        }
        // A switch without anything below it is as good as none.
        for (index, endpoint) in self.endpoints.iter().enumerate() {
            let parent = endpoint.link.parent % (1 + self.switches.len());
            self.attach(
                &mut config,
                parent,
                format!("end{index}"),
                DeviceKind::Endpoint(endpoint.settings()),
                &endpoint.link,
            );
        }
        config
    }

    fn attach(
        &self,
        config: &mut FabricConfig,
        parent: usize,
        name: String,
        kind: DeviceKind,
        link: &LinkCase,
    ) {
        let above = match config.devices[parent].kind {
            DeviceKind::RootComplex(_) => ReceiverKind::PeerToPeerRootPort,
            _ => ReceiverKind::Switch,
        };
        let own = match kind {
            DeviceKind::Endpoint(_) => ReceiverKind::Endpoint,
            _ => ReceiverKind::Switch,
        };
        config.devices[parent].ports.push(link.end(self.mps(), above, false));
        let (upper, lower) = ((parent, config.devices[parent].ports.len() - 1), config.devices.len());
        config.devices.push(device(&name, kind, vec![link.end(self.mps(), own, true)]));
        config.links.push(link.link(upper, (lower, 0)));
    }

    fn start(&self) -> Time {
        Time::ZERO + Span::from_ns(self.start_ns)
    }

    pub fn plugs(&self) -> Vec<Plug> {
        let first = 1 + self.switches.len();
        // In Flit Mode none goes.
        let may_go = |case: &&PlugCase| self.endpoints[case.end % self.endpoints.len()].link.flits.is_none();
        let both = |case: &PlugCase| {
            let device = first + case.end % self.endpoints.len();
            let at = self.start() + Span::from_ns(case.at_ns);
            [
                Plug { at, device, away: true },
                Plug { at: at + Span::from_ns(case.away_ns), device, away: false },
            ]
        };
        self.plugs.iter().filter(may_go).flat_map(both).collect()
    }

    pub fn steps(&self) -> Vec<Step> {
        let first = 1 + self.switches.len();
        let end = |index: usize| first + index % self.endpoints.len();
        let step = |case: &TransferCase| Step {
            at: self.start() + Span::from_ns(case.at_ns),
            device: end(case.from),
            channel: case.channel,
            traffic_class: 0,
            is_read: case.is_read,
            target: Some(end(case.to)).filter(|peer| *peer != end(case.from)),
            offset: case.offset,
            length: case.length,
        };
        let mut steps: Vec<Step> = self.transfers.iter().map(step).collect();
        // A channel is opened when it is named first, so names are counted up in that order.
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by_key(|index| steps[*index].at);
        let mut names: Vec<(usize, usize)> = Vec::new();
        for index in order {
            let (device, name) = (steps[index].device, steps[index].channel);
            if !names.contains(&(device, name)) {
                names.push((device, name));
            }
            let of_device = names.iter().filter(|(owner, _)| *owner == device);
            steps[index].channel =
                of_device.enumerate().find(|(_, (_, known))| *known == name).expect("just named").0;
            steps[index].traffic_class = self.classes[steps[index].channel];
        }
        steps
    }
}

impl Case {
    /// When settings change, and what they are then.
    pub fn changes(&self) -> Vec<(Time, FabricConfig)> {
        let mut cases = self.changes.clone();
        cases.sort_by_key(|case| case.at_ns);
        let change = |case: &ChangeCase| {
            let mut config = self.config();
            case.put_on(&mut config, self.slowest_check());
            (Time::ZERO + Span::from_ns(case.at_ns), config)
        };
        cases.iter().map(change).collect()
    }

    /// Stops in the order of time.
    pub fn looks(&self) -> Vec<LookCase> {
        let mut looks = self.looks.clone();
        looks.sort_by_key(|look| look.at_ns);
        looks
    }

    fn slowest_check(&self) -> Span {
        let of_switches = self.switches.iter().map(|one| &one.link);
        let links = of_switches.chain(self.endpoints.iter().map(|one| &one.link));
        links.map(LinkCase::slowest_check).max().expect("there is an endpoint")
    }
}

impl ChangeCase {
    fn put_on(&self, config: &mut FabricConfig, slowest_check: Span) {
        let [of_host, of_switch, of_target] = self.latencies_ns.map(Span::from_ns);
        let rate = |slow: bool| if slow { SLOW } else { FAST };
        for device in &mut config.devices {
            match &mut device.kind {
                DeviceKind::RootComplex(root) => {
                    root.memory_latency = of_host;
                    root.memory_latency_jitter = if self.jitter { of_host } else { Span::ZERO };
                    (root.forward_latency, root.write_latency) = (of_switch, of_target);
                    root.memory.rate = rate(self.slow_memory);
                    root.write_bandwidth = rate(self.slow_drain);
                    root.read_bandwidth = rate(self.slow_drain);
                }
                // Not below that, TLPs of a link come in the order in which they were sent, however quick the switch becomes.
                DeviceKind::Switch(switch) => switch.latency = of_switch.max(slowest_check),
                DeviceKind::Endpoint(endpoint) => {
                    endpoint.memory_read_latency = of_target;
                    endpoint.request_interval = Span::from_ns(self.interval_ns);
                    endpoint.write_drain = rate(self.slow_drain);
                    endpoint.memory_read_rate = endpoint.memory_read_rate.map(|_| rate(self.slow_memory));
                }
            }
        }
        let faults = |link: &mut LinkConfig| {
            for faults in [&mut link.faults_upstream, &mut link.faults_downstream] {
                faults.bit_error_rate *= self.errors;
            }
        };
        config.links.iter_mut().for_each(faults);
    }
}

fn arbitration(number: u8, count: usize) -> Arbitration {
    match number {
        0 => Arbitration::RoundRobin,
        1 => Arbitration::WeightedRoundRobin { weights: (1..=count as u8).collect() },
        _ => Arbitration::Strict,
    }
}

impl HostCase {
    fn settings(&self, mps: u64) -> RootComplexConfig {
        let rcb = if self.rcb_128 { 128 } else { 64 };
        RootComplexConfig {
            stack_of_port: if self.pairs { vec![0, 0, 1, 1] } else { Vec::new() },
            stack: StackConfig { read_bandwidth: self.pairs.then_some(SLOW), ..stack(self.trackers) },
            memory: self.memory(if self.slow_memory { SLOW } else { FAST }),
            more_memory: BTreeMap::new(),
            memory_latency_jitter: if self.jitter { Span::from_ns(200) } else { Span::ZERO },
            rcb: Bytes::new(rcb),
            completion_combine_max: Bytes::new(if self.combine { mps } else { rcb }),
            combine_long_reads: !self.long_by_line,
            memory_base: if self.high_memory { 1 << 32 } else { 0 },
            write_overhead: if self.slow_memory { Span::from_ns(70) } else { Span::ZERO },
            ecrc: self.ecrc,
            iommu: self.iommu.map(|iommu| iommu.settings()),
            ..root_complex()
        }
    }
}

impl HostCase {
    fn memory(&self, rate: Rate) -> MemoryConfig {
        let Some(case) = self.memory else { return memory(rate) };
        let banks = case.banks.map(|banks| BankConfig {
            per_channel: banks.banks,
            cycle: Span::from_ns(banks.cycle_ns),
            row: Bytes::new(banks.row),
        });
        MemoryConfig { rate, channels: case.channels, interleave: Bytes::new(case.interleave), banks }
    }
}

impl IommuCase {
    fn settings(self) -> IommuConfig {
        IommuConfig {
            entries: self.entries,
            ways: self.ways,
            page: Bytes::from_kib(self.page_kib),
            walk_steps: self.steps,
            walk_step_latency: Span::from_ns(self.step_ns),
            walkers: self.walkers,
            walk_interval: Span::from_ns(self.interval_ns),
        }
    }
}

impl SwitchCase {
    fn settings(&self) -> SwitchConfig {
        SwitchConfig {
            core: SwitchCore::Crossbar { port_rate: if self.slow_core { SLOW } else { FAST } },
            forwarding: if self.store_and_forward {
                Forwarding::StoreAndForward
            } else {
                Forwarding::CutThrough
            },
            latency: Span::from_ns(self.latency_ns),
            arbitration: arbitration(self.arbitration, 16),
            acs_redirect: self.acs,
            request_metering: self.metered.map(Bytes::new),
            storage: self.storage.map(Bytes::new),
            corruption: CorruptionConfig::default(),
        }
    }
}

impl EndpointCase {
    fn settings(&self) -> EndpointConfig {
        EndpointConfig {
            mrrs: Bytes::new(128 << self.mrrs_shift),
            tags: self.tags,
            tag_width: TagWidth::Bits5,
            relaxed_ordering: self.relaxed,
            id_based_ordering: self.id_ordered,
            ecrc: self.ecrc,
            tlp_prefixes: u8::from(self.relaxed),
            request_interval: Span::from_ns(self.interval_ns),
            completion_latency: Span::from_ns(self.completion_ns),
            write_drain: if self.slow_drain { SLOW } else { FAST },
            buffer_hold: if self.slow_drain { Span::from_ns(300) } else { Span::ZERO },
            memory_read_rate: self.memory.0.map(Rate::from_bytes_per_second),
            memory_read_latency: Span::from_ns(self.memory.1),
            ..endpoint()
        }
    }
}

fn link_case(kinds: Kinds) -> impl Strategy<Value = LinkCase> {
    let few = |yes: bool| if yes { 1u32 } else { 0 };
    let corrupt = move || prop_oneof![3 => Just(Vec::new()), few(kinds.faults) => prop::collection::vec(0u64..40, 1..8)];
    let errors = move || prop_oneof![3 => Just(0u32), few(kinds.faults) => 1u32..=200];
    let credits = prop_oneof![
        1 => Just(None),
        (3 * few(kinds.finite_credits)) => prop::sample::select(vec![0u16, 1, 3, 16]).prop_map(Some),
    ];
    (
        (0usize..6, 1u8..=5, prop::sample::select(vec![1u64, 2, 4, 8, 12, 16])),
        (credits, 0usize..3, prop::sample::select(vec![1u64, 2, 9, 64])),
        (1u32..6, 1u32..6, prop::sample::select(vec![0u64, 20, 70])),
        (
            prop::sample::select(vec![1u64, 0, 30]),
            prop::bool::weighted(0.2),
            prop::bool::weighted(if kinds.skips { 0.7 } else { 0.0 }),
        ),
        (corrupt(), corrupt(), errors(), errors(), prop::sample::select(vec![1_000u64, 10_000])),
        (0..if kinds.channels { MAPS.len() } else { 1 }, 0u8..3, power_case(kinds), flit_case(kinds)),
        end_cases(kinds),
    )
        .prop_map(|(place, buffers, policy, wire, faults, channels, (ends, skip_ns))| LinkCase {
            parent: place.0,
            generation: place.1,
            lanes: place.2,
            credits: buffers.0,
            scale: buffers.1,
            retry_tlps: buffers.2,
            ack_every: policy.0,
            update_every: policy.1,
            receive_ns: policy.2,
            propagation_ns: wire.0,
            sris: wire.1,
            skips: wire.2,
            corrupt: [faults.0, faults.1],
            errors: [faults.2, faults.3],
            recovery_ns: faults.4,
            // In Flit Mode there is VC0 alone, and no sleep.
            map: if channels.3.is_some() { 0 } else { channels.0 },
            channel_turns: channels.1,
            power: if channels.3.is_some() { PowerCase::default() } else { channels.2 },
            flits: channels.3,
            skip_ns,
            ends,
        })
}

/// Settings of both ends, and the time between ordered sets.
fn end_cases(kinds: Kinds) -> BoxedStrategy<(Option<[EndCase; 2]>, Option<u64>)> {
    if !kinds.ends {
        return Just((None, None)).boxed();
    }
    let select = |of: &[u64]| prop::sample::select(of.to_vec());
    let every = || prop::sample::select(vec![1u32, 2, 3, 8, 64]);
    let replay = prop::option::weighted(0.4, select(&[100, 1_000, 5_000]));
    let end = (
        (select(&[1, 2, 3, 9, 64]), 30u64..80),
        (every(), select(&[0, 50, 400, 3_000])),
        (every(), select(&[0, 50, 400, 3_000]), select(&[1_000, 4_000, 30_000])),
        prop_oneof![select(&[0, 20_480_000, 71_680_000]), 0u64..80_000_000],
        replay,
        prop::array::uniform2(prop::bool::weighted(0.2)),
    );
    let end = end.prop_map(|(retry, ack, update, receive_ticks, replay_ns, infinite)| EndCase {
        retry,
        ack,
        update,
        receive_ticks,
        replay_ns,
        infinite,
    });
    let skips = prop::option::weighted(0.3, select(&[5, 90, 300, 1_000]));
    (prop::option::weighted(0.8, prop::array::uniform2(end)), skips).boxed()
}

fn flit_case(kinds: Kinds) -> BoxedStrategy<Option<FlitCase>> {
    if kinds.flits == 0.0 {
        return Just(None).boxed();
    }
    let lanes = prop::sample::select(vec![1u64, 2, 4, 8, 16]);
    let replay_timer = prop::sample::select(vec![FLIT_REPLAY_TIMEOUT_FLITS, 100, 20]);
    let case = (prop_oneof![1 => 1u8..=5, 2 => 6u8..=7], lanes, replay_timer)
        .prop_map(|(generation, lanes, replay_timer)| FlitCase { generation, lanes, replay_timer });
    prop::option::weighted(kinds.flits, case).boxed()
}

fn power_case(kinds: Kinds) -> BoxedStrategy<PowerCase> {
    if !kinds.sleep {
        return Just(PowerCase::default()).boxed();
    }
    let times =
        (prop::sample::select(vec![0u64, 100, 700, 3_000]), prop::sample::select(vec![0u64, 60, 500, 4_000]));
    let state = prop::option::weighted(0.6, times);
    let stay = prop::sample::select(vec![0u64, 0, 400, 6_000]);
    (prop::array::uniform2(state), stay, any::<bool>())
        .prop_map(|(states, stay, patient)| PowerCase { states, stay, patient })
        .boxed()
}

fn switch_case(kinds: Kinds) -> impl Strategy<Value = SwitchCase> {
    let latency = prop::sample::select(vec![0u64, 5, 150]);
    let metered = prop::option::weighted(0.3, prop::sample::select(vec![64u64, 512]));
    let storage = storage(kinds);
    let flags = (any::<bool>(), prop::bool::weighted(0.3), any::<bool>());
    (link_case(kinds), latency, 0u8..3, flags, metered, storage).prop_map(
        |(link, latency_ns, arbitration, (store_and_forward, slow_core, acs), metered, storage)| SwitchCase {
            link,
            store_and_forward,
            latency_ns,
            arbitration,
            slow_core,
            acs,
            metered,
            storage,
        },
    )
}

fn storage(kinds: Kinds) -> BoxedStrategy<[u64; 3]> {
    if !kinds.storage {
        return Just([0; 3]).boxed();
    }
    prop::array::uniform3(prop::sample::select(vec![0u64, 40, 300, 900, 5_000])).boxed()
}

fn endpoint_case(kinds: Kinds) -> impl Strategy<Value = EndpointCase> {
    let times = (prop::sample::select(vec![0u64, 0, 130]), prop::sample::select(vec![0u64, 0, 90]));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let memory = memory_of_endpoint(kinds);
    (link_case(kinds), 0u32..4, prop::sample::select(vec![1u32, 3, 32]), flags, times, memory).prop_map(
        |(link, mrrs_shift, tags, flags, times, memory)| EndpointCase {
            memory,
            link,
            mrrs_shift,
            tags,
            relaxed: flags.0,
            id_ordered: flags.1,
            ecrc: flags.2,
            slow_drain: flags.3,
            interval_ns: times.0,
            completion_ns: times.1,
        },
    )
}

fn memory_of_endpoint(kinds: Kinds) -> BoxedStrategy<(Option<u64>, u64)> {
    if !kinds.targets {
        return Just((None, 100)).boxed();
    }
    let rate = prop::sample::select(vec![100_000_000u64, 1_000_000_007, 20_000_000_000]);
    (prop::option::weighted(0.7, rate), prop::sample::select(vec![0u64, 1, 100, 700])).boxed()
}

fn transfer_case(kinds: Kinds) -> impl Strategy<Value = TransferCase> {
    let length = prop_oneof![1u64..200, 1u64..3_000];
    (0usize..6, 0usize..6, 0usize..3, any::<bool>(), 0u64..10_000, length, 0u64..15_000).prop_map(
        move |(from, to, channel, is_read, offset, length, at_ns)| TransferCase {
            from,
            to: if kinds.peers { to } else { from },
            channel,
            is_read: kinds.reads && (is_read || !kinds.writes),
            offset,
            length,
            at_ns,
        },
    )
}

fn host_case(kinds: Kinds) -> impl Strategy<Value = HostCase> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (
        flags,
        prop::sample::select(vec![1u32, 2, 64]),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.3),
        any::<bool>(),
        (iommu_case(kinds), memory_case(kinds)),
        prop::bool::weighted(0.3),
    )
        .prop_map(|(flags, trackers, slow_memory, ecrc, pairs, (iommu, memory), long_by_line)| {
            HostCase {
                combine: flags.0,
                long_by_line,
                rcb_128: flags.1,
                jitter: flags.2,
                high_memory: flags.3,
                trackers,
                slow_memory,
                ecrc,
                pairs,
                iommu,
                memory,
            }
        })
}

fn memory_case(kinds: Kinds) -> BoxedStrategy<Option<MemoryCase>> {
    if !kinds.banks {
        return Just(None).boxed();
    }
    let select = |of: &[u64]| prop::sample::select(of.to_vec());
    let bank = (1u32..=5, select(&[0, 46, 200]), select(&[256, 1024, 8192]));
    let banks = bank.prop_map(|(banks, cycle_ns, row)| BankCase { banks, cycle_ns, row });
    let case = (1u32..=4, select(&[64, 256, 4096]), prop::option::weighted(0.7, banks));
    let case = case.prop_map(|(channels, interleave, banks)| MemoryCase { channels, interleave, banks });
    prop::option::weighted(0.9, case).boxed()
}

fn iommu_case(kinds: Kinds) -> BoxedStrategy<Option<IommuCase>> {
    if !kinds.iommu {
        return Just(None).boxed();
    }
    let select = |of: &[u64]| prop::sample::select(of.to_vec());
    let sizes = (prop::sample::select(vec![1u32, 2, 4, 8, 64]), 1u32..=8, select(&[4, 8, 2048]));
    let walks = (0u32..=4, select(&[0, 30, 400]), 1u32..=3, select(&[0, 0, 90]));
    let case = (sizes, walks).prop_map(|(sizes, walks)| IommuCase {
        entries: sizes.0,
        ways: sizes.1,
        page_kib: sizes.2,
        steps: walks.0,
        step_ns: walks.1,
        walkers: walks.2,
        interval_ns: walks.3,
    });
    prop::option::weighted(0.9, case).boxed()
}

fn plug_case() -> impl Strategy<Value = PlugCase> {
    let away = prop_oneof![0u64..300, 0u64..20_000];
    (0usize..6, 0u64..25_000, away).prop_map(|(end, at_ns, away_ns)| PlugCase { end, at_ns, away_ns })
}

fn start_ns(kinds: Kinds) -> BoxedStrategy<u64> {
    if !kinds.early {
        return Just(5_000).boxed();
    }
    prop::sample::select(vec![0u64, 0, 70, 1_000, 5_000]).boxed()
}

fn look_cases(kinds: Kinds) -> BoxedStrategy<Vec<LookCase>> {
    if !kinds.looks {
        return Just(Vec::new()).boxed();
    }
    let what = prop_oneof![
        1 => Just(Look::Pause),
        1 => (0u64..20).prop_map(Look::PauseAfter),
        3 => Just(Look::Stop),
        2 => Just(Look::Account),
        2 => Just(Look::State),
        2 => Just(Look::Rest),
    ];
    let at_ns = prop_oneof![0u64..5_000, 2_000u64..25_000, 0u64..80_000];
    prop::collection::vec((at_ns, what).prop_map(|(at_ns, what)| LookCase { at_ns, what }), 1..24).boxed()
}

fn change_cases(kinds: Kinds) -> BoxedStrategy<Vec<ChangeCase>> {
    if !kinds.changes {
        return Just(Vec::new()).boxed();
    }
    let latency = || prop::sample::select(vec![0u64, 5, 60, 150, 900]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let rest = (prop::sample::select(vec![0u64, 90, 700]), prop::sample::select(vec![0.1, 1.0, 8.0]));
    let case = (3_000u64..25_000, prop::array::uniform3(latency()), flags, rest);
    let case = case.prop_map(|(at_ns, latencies_ns, flags, (interval_ns, errors))| ChangeCase {
        at_ns,
        latencies_ns,
        jitter: flags.0,
        slow_memory: flags.1,
        slow_drain: flags.2,
        interval_ns,
        errors,
    });
    prop::collection::vec(case, 1..6).boxed()
}

/// Random cases of these kinds.
pub fn case(kinds: Kinds) -> impl Strategy<Value = Case> {
    (
        (any::<u64>(), 0u32..3, host_case(kinds)),
        prop::collection::vec(switch_case(kinds), 0..=kinds.switches),
        prop::collection::vec(endpoint_case(kinds), 1..=kinds.endpoints),
        prop::collection::vec(transfer_case(kinds), 1..12),
        prop::array::uniform3(if kinds.channels { 0u8..5 } else { 0..1 }),
        prop::collection::vec(plug_case(), if kinds.hot_plug { 1..8 } else { 0..1 }),
        (start_ns(kinds), look_cases(kinds), change_cases(kinds)),
    )
        .prop_map(|(general, switches, endpoints, transfers, classes, plugs, course)| {
            let ((seed, mps_shift, host), (start_ns, looks, changes)) = (general, course);
            let mut made = Case {
                seed,
                mps_shift,
                host,
                switches,
                endpoints,
                transfers,
                classes,
                plugs,
                start_ns,
                looks,
                changes,
            };
            // A switch that forwards sooner than it checks acknowledges too early: see `known.rs`.
            let slowest = made.slowest_check().div_ceil(Span::from_ns(1));
            made.switches.iter_mut().for_each(|switch| switch.latency_ns = switch.latency_ns.max(slowest));
            made
        })
}
