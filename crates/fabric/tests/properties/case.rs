//! What a random case consists of, and how one is drawn.

use proptest::prelude::*;

/// The link above a device, and the device's place: below a root complex or below an earlier switch.
#[derive(Clone, Debug)]
pub struct LinkCase {
    pub parent: usize,
    pub generation: u8,
    pub lanes: u64,
    /// Flit Mode below Gen6 too.
    pub flit: bool,
    /// 0 minimum, else this many times an MPS of credits.
    pub credits: u16,
    /// Headers without limit, data as above.
    pub infinite_headers: bool,
    pub scale: usize,
    /// Retry buffer, in TLPs of one MPS, or as many flits of 256 B as that.
    pub retry_tlps: u64,
    pub ack_every: u32,
    pub update_every: u32,
    pub receive_ns: u64,
    pub corrupt_downstream: Vec<u64>,
    pub corrupt_upstream: Vec<u64>,
    /// Bit error rates, in units of 1e-7.
    pub errors_downstream: u32,
    pub errors_upstream: u32,
    /// Which traffic classes are on VC1 and up: one of [`MAPS`]. In Flit Mode none are.
    pub channels: usize,
    pub channel_arbitration: u8,
    /// Microseconds of silence after which a direction enters L0s, and the link L1. In Flit Mode it stays awake.
    pub sleep_us: [Option<u64>; 2],
    pub wire: WireCase,
}

/// What few links have.
#[derive(Clone, Debug)]
pub struct WireCase {
    /// Above [`WireCase::SHORT_NS`], Acks may come later than the replay timer waits.
    pub propagation_ns: u64,
    /// Ten times as many ordered sets.
    pub sris: bool,
    pub skip_ns: Option<u64>,
    pub recovery_us: u64,
    /// The replay timer of Gen4 where the older one would do.
    pub simplified_replay: bool,
    /// How long UpdateFCs may be put off, and how often they are repeated; the specification's limits without.
    pub updates_us: Option<[u64; 2]>,
    /// Acks are never put off.
    pub prompt_acks: bool,
}

impl WireCase {
    /// So far away no replay timer runs out without need.
    pub const SHORT_NS: u64 = 30;
}

/// Traffic classes of VC1, VC2 and so on.
pub const MAPS: [&[&[u8]]; 5] =
    [&[], &[&[7]], &[&[1, 2, 3], &[4, 5, 6, 7]], &[&[5], &[1]], &[&[1], &[2], &[3], &[4], &[5], &[6], &[7]]];

#[derive(Clone, Debug)]
pub struct SwitchCase {
    pub link: LinkCase,
    pub core: u8,
    pub store_and_forward: bool,
    pub latency_ns: u64,
    pub arbitration: u8,
    pub acs: bool,
    /// Data of each completion that request metering expects.
    pub metered: Option<u64>,
    /// Room behind the credits, by class, in bytes.
    pub storage: [u64; 3],
    /// Its second port has no link.
    pub spare_port: bool,
}

#[derive(Clone, Debug)]
pub struct EndpointCase {
    pub link: LinkCase,
    pub mrrs_shift: u32,
    pub tags: u32,
    pub wide_tags: bool,
    pub relaxed: bool,
    pub ecrc: bool,
    pub interval_ns: u64,
    pub slow_drain: bool,
    pub slow_memory: bool,
    pub completion_ns: u64,
    /// Units, paces, gaps, a path, tags that are held: a bit each.
    pub dma: u16,
}

#[derive(Clone, Debug)]
pub struct TransferCase {
    pub from: usize,
    /// Another endpoint below the same root complex, or the host.
    pub to: usize,
    pub channel: u32,
    /// 0 read, 1 write, 2 MMIO read, 3 MMIO write, 4 read of nobody's address, 5 write to one.
    pub what: u8,
    pub offset: u64,
    pub length: u64,
    pub at_ns: u64,
    /// 0 when it is done, 1 when the last request has left, 2 never; of a peer's memory always when it is done.
    pub notify: u8,
}

/// An endpoint is taken away as soon as it is at rest after a time, and comes back.
#[derive(Clone, Debug)]
pub struct PlugCase {
    pub endpoint: usize,
    /// None: it is not there from the start.
    pub leaves_ns: Option<u64>,
    pub away_ns: u64,
}

/// What goes wrong in the transaction layer: ordinals of reads and packets.
#[derive(Clone, Debug, Default)]
pub struct TransactionErrors {
    /// Of the root complex.
    pub unanswered: Vec<u64>,
    pub late: Vec<u64>,
    /// Of the root complex and every endpoint.
    pub poisoned: Vec<u64>,
    /// Of every switch.
    pub corrupted: Vec<u64>,
    pub timeout_us: u64,
    pub retries: u32,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub mps_shift: u32,
    pub root: RootCase,
    /// A second root complex, alike.
    pub two_roots: bool,
    pub switches: Vec<SwitchCase>,
    pub endpoints: Vec<EndpointCase>,
    pub transfers: Vec<TransferCase>,
    /// Traffic class of each DMA queue.
    pub classes: [u8; 3],
    pub plugs: Vec<PlugCase>,
    /// None: then everything that is asked for arrives.
    pub transaction_errors: Option<TransactionErrors>,
}

#[derive(Clone, Debug)]
pub struct RootCase {
    pub combine: bool,
    pub rcb_128: bool,
    pub engines: u32,
    pub jitter: bool,
    pub shared_outbound: bool,
    /// Places of a root port's queue of completions.
    pub line_places: Option<u32>,
    pub high_memory: bool,
    /// Root ports at two sockets in turn, and memory of endpoints likewise.
    pub sockets: bool,
    /// Translations of so few pages; none without.
    pub iommu: u32,
    pub slow_memory: bool,
    pub ecrc: bool,
    /// Memory of several channels with banks.
    pub banks: bool,
    /// A small last-level cache, with or without ways for devices.
    pub cache: Option<u32>,
    /// Root ports in pairs, which share rates of their own.
    pub pairs: bool,
    /// Peers' packets are cut to so many bytes.
    pub cuts_at: Option<u64>,
}

fn wire_case() -> impl Strategy<Value = WireCase> {
    (
        prop::sample::select(vec![1u64, 1, 1, 0, WireCase::SHORT_NS, 2_000]),
        prop::bool::weighted(0.2),
        prop_oneof![4 => Just(None), 1 => (400u64..20_000).prop_map(Some)],
        prop::sample::select(vec![10u64, 10, 1, 0]),
        any::<bool>(),
        prop_oneof![3 => Just(None), 1 => (0u64..10, 2u64..50).prop_map(|(late, period)| Some([late, period]))],
        prop::bool::weighted(0.1),
    )
        .prop_map(|(propagation_ns, sris, skip_ns, recovery_us, simplified_replay, updates_us, prompt_acks)| {
            WireCase { propagation_ns, sris, skip_ns, recovery_us, simplified_replay, updates_us, prompt_acks }
        })
}

fn link_case() -> impl Strategy<Value = LinkCase> {
    let corrupt = || prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(0u64..60, 1..12)];
    let errors = || prop_oneof![3 => Just(0u32), 1 => 1u32..=100];
    (
        (0usize..6, 1u8..=7, prop::sample::select(vec![1u64, 2, 4, 8, 12, 16]), prop::bool::weighted(0.1)),
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
        wire_case(),
    )
        .prop_map(
            |(
                (parent, generation, lanes, flit),
                (credits, infinite_headers, scale, retry_tlps),
                policy,
                faults,
                several,
                sleep_us,
                wire,
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
                wire,
            },
        )
}

fn switch_case() -> impl Strategy<Value = SwitchCase> {
    let latency = prop::sample::select(vec![0u64, 5, 150]);
    let metered = prop::option::weighted(0.3, prop::sample::select(vec![64u64, 512]));
    let flags = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.1));
    let storage =
        prop::option::weighted(0.3, prop::array::uniform3(prop::sample::select(vec![0u64, 40, 300, 5_000])));
    (link_case(), 0u8..5, latency, 0u8..3, flags, metered, storage).prop_map(
        |(link, core, latency_ns, arbitration, (store_and_forward, acs, spare_port), metered, storage)| {
            SwitchCase {
                link,
                core,
                store_and_forward,
                latency_ns,
                arbitration,
                acs,
                metered,
                storage: storage.unwrap_or_default(),
                spare_port,
            }
        },
    )
}

fn endpoint_case() -> impl Strategy<Value = EndpointCase> {
    let tags = prop::sample::select(vec![1u32, 3, 32, 700]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    let dma = prop_oneof![Just(0u16), 0u16..1 << 10];
    let times = (prop::sample::select(vec![0u64, 0, 130]), prop::sample::select(vec![0u64, 0, 90]), dma);
    (link_case(), 0u32..6, tags, flags, times).prop_map(
        |(link, mrrs_shift, tags, flags, (interval_ns, completion_ns, dma))| {
            let (wide_tags, relaxed, ecrc, slow_drain, slow_memory) = flags;
            EndpointCase {
                link,
                mrrs_shift,
                tags,
                wide_tags,
                relaxed,
                ecrc,
                interval_ns,
                slow_drain,
                slow_memory,
                completion_ns,
                dma,
            }
        },
    )
}

fn transfer_case() -> impl Strategy<Value = TransferCase> {
    let length = prop_oneof![1u64..200, 1u64..12_000];
    let what = prop::sample::select(vec![0u8, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5]);
    let notify = prop::sample::select(vec![0u8, 0, 0, 0, 1, 2]);
    (0usize..6, 0usize..6, 0u32..3, what, 0u64..10_000, length, 0u64..20_000, notify).prop_map(
        |(from, to, channel, what, offset, length, at_ns, notify)| TransferCase {
            from,
            to,
            channel,
            what,
            offset,
            length,
            at_ns,
            notify,
        },
    )
}

fn plug_case() -> impl Strategy<Value = PlugCase> {
    (0usize..6, prop::option::weighted(0.8, 0u64..60_000), 0u64..30_000)
        .prop_map(|(endpoint, leaves_ns, away_ns)| PlugCase { endpoint, leaves_ns, away_ns })
}

fn transaction_errors() -> impl Strategy<Value = TransactionErrors> {
    let listed = || prop::collection::vec(0u64..80, 0..8);
    let lists = (listed(), listed(), listed(), listed());
    (lists, prop::sample::select(vec![3u64, 50, 400]), 0u32..4).prop_map(|(lists, timeout_us, retries)| {
        let (unanswered, late, poisoned, corrupted) = lists;
        TransactionErrors { unanswered, late, poisoned, corrupted, timeout_us, retries }
    })
}

fn root_case() -> impl Strategy<Value = RootCase> {
    (
        (any::<bool>(), any::<bool>(), prop::sample::select(vec![1u32, 2, 64]), any::<bool>()),
        (any::<bool>(), any::<bool>(), any::<bool>(), prop::sample::select(vec![0u32, 0, 1, 4])),
        (prop::bool::weighted(0.2), prop::bool::weighted(0.3)),
        (any::<bool>(), prop::sample::select(vec![None, Some(0), Some(2)]), any::<bool>()),
        prop::sample::select(vec![None, Some(64u64), Some(128)]),
        prop::sample::select(vec![None, None, Some(1), Some(6)]),
    )
        .prop_map(|(reads, path, rare, memory, cuts_at, line_places)| RootCase {
            combine: reads.0,
            rcb_128: reads.1,
            engines: reads.2,
            jitter: reads.3,
            shared_outbound: path.0,
            line_places,
            high_memory: path.1,
            sockets: path.2,
            iommu: path.3,
            slow_memory: rare.0,
            ecrc: rare.1,
            banks: memory.0,
            cache: memory.1,
            pairs: memory.2,
            cuts_at,
        })
}

pub fn case() -> impl Strategy<Value = Case> {
    (
        (any::<u64>(), 0u32..4, root_case(), prop::bool::weighted(0.3)),
        prop::collection::vec(switch_case(), 1..=3),
        prop::collection::vec(endpoint_case(), 1..=6),
        prop::collection::vec(transfer_case(), 1..24),
        prop_oneof![1 => Just([0u8; 3]), 3 => prop::array::uniform3(0u8..8)],
        prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(plug_case(), 1..5)],
        prop_oneof![3 => Just(None), 1 => transaction_errors().prop_map(Some)],
    )
        .prop_map(|(general, switches, endpoints, transfers, classes, plugs, transaction_errors)| Case {
            seed: general.0,
            mps_shift: general.1,
            root: general.2,
            two_roots: general.3,
            switches,
            endpoints,
            transfers,
            classes,
            plugs,
            transaction_errors,
        })
}
