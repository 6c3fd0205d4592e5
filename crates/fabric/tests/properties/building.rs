//! From a case to the settings of a fabric.

use super::case::{Case, EndpointCase, LinkCase, MAPS, RootCase, SwitchCase};
use super::common::*;
use lanewise_fabric::config::*;
use lanewise_pcie::ack_nak::{FLIT_REPLAY_TIMEOUT_FLITS, ReplayRule, replay_timer_limit};
use lanewise_pcie::encoding::{Clocking, LinkMode};
use lanewise_pcie::flow_control::{CreditPool, ReceiverKind, Scale, minimum_advertisement};
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::tlp::FlowClass;
use lanewise_pcie::virtual_channel::{ChannelArbitration, ChannelMap};
use lanewise_units::{Bytes, Generation, Rate, Span, Width};

pub const SLOW: Rate = Rate::from_bytes_per_second(300_000_000);
/// A stream with units of two TLPs.
const IDE: IdeConfig = IdeConfig { ide: Ide { unit: 2, pcrc: true }, latency: Span::from_ns(15) };

impl LinkCase {
    pub fn mode(&self) -> LinkMode {
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
        let [l0s, l1s] = if self.mode().flit { [None; 2] } else { self.sleep_us };
        let state = |idle: u64, exit| SleepConfig::new(Span::from_us(idle), Span::from_us(exit));
        // What sleeps after an even number of microseconds stays asleep for six.
        let l1 = |idle| SleepConfig { stay: Span::from_us(6 * (1 - idle % 2)), ..state(idle, 8) };
        LinkPower { l0s: l0s.map(|idle| state(idle, 1)), l1: l1s.map(l1) }
    }

    /// By class; the two ends of a link and the classes of an end differ.
    fn scales(&self, receiver: ReceiverKind) -> [Scale; 3] {
        let turn = self.scale + usize::from(receiver == ReceiverKind::Switch);
        [turn, self.scale, turn].map(|scale| Scale::ALL[scale % Scale::ALL.len()])
    }

    fn port(&self, mps: u64, receiver: ReceiverKind) -> PortConfig {
        let mut made = port(self.mode(), mps);
        made.scale = self.scales(receiver);
        made.credits = FlowClass::ALL.map(|class| {
            let least = minimum_advertisement(class, Bytes::new(mps), made.scale[class.index()], receiver);
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
        if self.wire.prompt_acks {
            made.ack.latency = Span::ZERO;
        }
        made.update_flow_control.every_tlps = self.update_every;
        if let Some([latency, period]) = self.wire.updates_us {
            made.update_flow_control.latency = Span::from_us(latency);
            made.update_flow_control.period = Span::from_us(period);
        }
        made.receive_latency = Span::from_ns(self.receive_ns);
        made.replay_timer = self.replay_timer(made.mps) + self.power().l0s.map_or(Span::ZERO, |l0s| l0s.exit);
        made
    }

    /// The shortest legal replay timer, or another that is legal.
    fn replay_timer(&self, mps: Bytes) -> Span {
        let mode = self.mode();
        if mode.flit {
            return mode.wire_span(Bytes::new(FLIT_REPLAY_TIMEOUT_FLITS * 256));
        }
        let rule = match self.wire.simplified_replay {
            true => ReplayRule::Simplified,
            false => ReplayRule::for_fastest(mode.generation),
        };
        replay_timer_limit(mps, mode.width, mode.generation, rule).span(mode.generation)
    }

    fn link(&self, upper: (usize, usize), lower: (usize, usize)) -> LinkConfig {
        let mut made = link(upper, lower, self.mode());
        made.channels = self.map();
        made.power = self.power();
        made.propagation = Span::from_ns(self.wire.propagation_ns);
        made.clocking = if self.wire.sris { Clocking::Sris } else { Clocking::Common };
        made.skip_interval = self.wire.skip_ns.map(Span::from_ns);
        made.recovery_time = Span::from_us(self.wire.recovery_us);
        let faults = |corrupt: &[u64], errors: u32| FaultConfig {
            bit_error_rate: f64::from(errors) * 1e-7,
            corrupt_tlps: corrupt.to_vec(),
        };
        made.faults_downstream = faults(&self.corrupt_downstream, self.errors_downstream);
        made.faults_upstream = faults(&self.corrupt_upstream, self.errors_upstream);
        made
    }
}

/// Builds devices under their parents: root complexes, then switches, then endpoints.
struct Builder {
    config: FabricConfig,
    mps: u64,
}

impl Builder {
    fn attach(&mut self, parent: usize, name: String, kind: DeviceKind, above: &LinkCase) {
        let below_root = matches!(self.config.devices[parent].kind, DeviceKind::RootComplex(_));
        let receiver = if below_root { ReceiverKind::PeerToPeerRootPort } else { ReceiverKind::Switch };
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
    /// Bytes of payload at most, of every port.
    pub fn mps(&self) -> u64 {
        128 << self.mps_shift
    }

    pub fn config(&self) -> FabricConfig {
        let mps = self.mps();
        let roots = 1 + usize::from(self.two_roots);
        let root = |index: usize| {
            // A load that an endpoint drops for its ECRC is never answered: timeouts of the processor's own are left out.
            let ecrc = self.root.ecrc && self.transaction_errors.is_none();
            let settings =
                RootComplexConfig { errors: self.errors_of_root(), ecrc, ..self.root.settings(mps) };
            device(&format!("root{index}"), DeviceKind::RootComplex(settings), Vec::new())
        };
        let devices = (0..roots).map(root).collect();
        let config = FabricConfig { devices, links: Vec::new(), cxl: Default::default(), seed: self.seed };
        let mut builder = Builder { config, mps };
        for (index, case) in self.switches.iter().enumerate() {
            let parent = case.link.parent % (roots + index);
            let settings = SwitchConfig { corruption: self.corruption(), ..case.settings() };
            builder.attach(parent, format!("switch{index}"), DeviceKind::Switch(settings), &case.link);
            if case.spare_port {
                let made = builder.config.devices.last_mut().expect("just attached");
                made.ports.push(switch_port(case.link.mode(), mps));
            }
        }
        for (index, case) in self.endpoints.iter().enumerate() {
            let parent = case.link.parent % (roots + self.switches.len());
            let memory_socket =
                (case.tags % 3).checked_sub(1).filter(|_| self.root.sockets).map(|socket| socket as u16);
            let errors = self.errors_of_endpoints();
            let settings = EndpointConfig { memory_socket, errors, ..case.settings() };
            builder.attach(parent, format!("end{index}"), DeviceKind::Endpoint(settings), &case.link);
        }
        for root in builder.config.devices.iter_mut().take(roots) {
            let ports = root.ports.len() as u16;
            let DeviceKind::RootComplex(settings) = &mut root.kind else { unreachable!("roots come first") };
            settings.sockets = self.root.sockets.then(|| SocketsConfig {
                of_port: (0..ports).map(|port| port % 2).collect(),
                rate: SLOW,
                links: 2,
                // As the two of each socket take turns.
                link_of_port: (0..ports).map(|port| port / 2 % 2).collect(),
                line: Bytes::new(64),
                line_overhead: Bytes::new(8),
                latency: Span::from_ns(60),
            });
        }
        builder.config
    }

    fn errors_of_root(&self) -> ErrorConfig {
        let Some(transaction_errors) = &self.transaction_errors else { return ErrorConfig::default() };
        ErrorConfig {
            unanswered_reads: transaction_errors.unanswered.clone(),
            late_reads: transaction_errors.late.clone(),
            late_by: Span::from_us(20),
            poisoned: transaction_errors.poisoned.clone(),
            ..ErrorConfig::default()
        }
    }

    fn errors_of_endpoints(&self) -> ErrorConfig {
        let Some(transaction_errors) = &self.transaction_errors else { return ErrorConfig::default() };
        ErrorConfig {
            poisoned: transaction_errors.poisoned.clone(),
            completion_timeout: Some(Span::from_us(transaction_errors.timeout_us)),
            retries: transaction_errors.retries,
            ..ErrorConfig::default()
        }
    }

    fn corruption(&self) -> CorruptionConfig {
        let tlps = self
            .transaction_errors
            .as_ref()
            .map_or(Vec::new(), |transaction_errors| transaction_errors.corrupted.clone());
        CorruptionConfig { probability: 0.0, tlps }
    }
}

impl RootCase {
    /// The RCB, and bytes that a completion carries at most.
    pub fn completions(&self, mps: u64) -> (u64, u64) {
        let rcb = if self.rcb_128 { 128 } else { 64 };
        (rcb, if self.combine { mps } else { rcb })
    }

    fn settings(&self, mps: u64) -> RootComplexConfig {
        let (rcb, most) = self.completions(mps);
        let made = RootComplexConfig {
            stack_of_port: if self.pairs { vec![0, 0, 1, 1] } else { Vec::new() },
            stack: StackConfig {
                read_trackers: self.engines,
                read_bandwidth: self.pairs.then_some(SLOW),
                write_bandwidth: None,
                peer_rate: self.pairs.then_some(SLOW),
            },
            memory: self.memory(),
            cache: self.cache.map(|device_ways| CacheConfig {
                size: Bytes::from_kib(16),
                ways: 4,
                device_ways,
                block: Bytes::new(128),
                latency: Span::from_ns(60),
                read_bandwidth: self.pairs.then_some(FAST),
            }),
            largest_forwarded: self.cuts_at.map(Bytes::new),
            memory_latency_jitter: if self.jitter { Span::from_ns(200) } else { Span::ZERO },
            rcb: Bytes::new(rcb),
            completion_combine_max: Bytes::new(most),
            combine_long_reads: true,
            completion_queue: self.line_places.filter(|_| !self.shared_outbound),
            shared_outbound_queue: self.shared_outbound.then_some(4),
            root_port_queue: 2,
            root_port_request_queue: None,
            memory_base: if self.high_memory { 1 << 32 } else { 0 },
            iommu: (self.iommu > 0).then(|| IommuConfig {
                entries: self.iommu,
                ways: 1 + self.iommu / 4,
                page: Bytes::from_kib(4),
                walk_steps: 2,
                walk_step_latency: Span::from_ns(100),
                walkers: 1 + self.iommu / 2,
                walk_interval: Span::from_ns(u64::from(self.iommu) * 10),
            }),
            ..root_complex()
        };
        if !self.slow_memory {
            return made;
        }
        RootComplexConfig { write_overhead: Span::from_ns(70), ..made }
    }

    fn memory(&self) -> MemoryConfig {
        let cycle = Span::from_ns(46);
        let banks = BankConfig { per_channel: 4, cycle, row: Bytes::from_kib(1) };
        MemoryConfig {
            channels: if self.banks { 3 } else { 1 },
            banks: self.banks.then_some(banks),
            ..memory(if self.slow_memory { SLOW } else { FAST })
        }
    }
}

impl SwitchCase {
    fn settings(&self) -> SwitchConfig {
        SwitchConfig {
            core: match self.core {
                0 => SwitchCore::Crossbar { port_rate: FAST },
                1 => SwitchCore::shared_bus(SLOW),
                2 => SwitchCore::SharedMemory { rate: SLOW },
                3 => SwitchCore::Crossbar { port_rate: SLOW },
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
            request_metering: self.metered.map(Bytes::new),
            storage: self.storage.map(Bytes::new),
            corruption: CorruptionConfig::default(),
        }
    }
}

impl EndpointCase {
    fn settings(&self) -> EndpointConfig {
        EndpointConfig {
            mrrs: Bytes::new(self.mrrs()),
            tags: self.tags,
            tag_width: if self.wide_tags { TagWidth::Bits10 } else { TagWidth::Bits5 },
            relaxed_ordering: self.relaxed,
            id_based_ordering: self.relaxed == self.ecrc,
            ecrc: self.ecrc,
            tlp_prefixes: u8::from(self.relaxed),
            request_interval: Span::from_ns(self.interval_ns),
            completion_latency: Span::from_ns(self.completion_ns),
            dma: self.dma_settings(),
            memory_read_rate: self.slow_memory.then_some(SLOW),
            write_drain: if self.slow_drain { SLOW } else { FAST },
            buffer_hold: if self.slow_drain { Span::from_ns(300) } else { Span::ZERO },
            ..endpoint()
        }
    }

    fn dma_settings(&self) -> DmaConfig {
        let has = |bit: u16| self.dma & (1 << bit) != 0;
        let span = |bit, ns| Span::from_ns(if has(bit) { ns } else { 0 });
        DmaConfig {
            write_unit: has(0).then_some(Bytes::new(32)),
            read_unit: has(1).then_some(Bytes::new(64)),
            write_interval: span(2, 70),
            read_interval: span(3, 90),
            // In Flit Mode there are no gaps.
            tlp_gap: if self.link.mode().flit { Span::ZERO } else { span(4, 25) },
            path_rate: has(5).then_some(SLOW),
            path_latency: span(6, 200),
            collects_reads: has(8),
            tag_hold: has(7).then(|| Span::from_ns(150)),
            ide: has(9).then_some(IDE),
            ats: None,
            functions: None,
        }
    }

    /// Bytes that a read asks for at most.
    pub fn mrrs(&self) -> u64 {
        128 << self.mrrs_shift
    }
}
