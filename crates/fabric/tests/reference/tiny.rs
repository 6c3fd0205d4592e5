//! Every tiny case: two ports, up to three TLPs, every placement of faults.
//!
//! Which transmissions of TLPs arrive damaged, replays counted, is in the settings of a link. A damaged DLLP is not: its bit error is
//! drawn, so a seed is looked for whose first wrong bit lies in that DLLP, and whose second comes long after the end.

use super::cases::{Case, EndpointCase, HostCase, LinkCase, PowerCase, TransferCase};
use super::compare::{Tally, compare, slow};
use super::record::Sent;
use lanewise_engine::random::RandomStream;

/// Bit errors, where one is wanted: in units of 1e-7.
const RATE: u32 = 2_000;
/// TLP transmissions of a direction of which every subset is damaged.
const TRANSMISSIONS: u64 = 4;

/// So many writes or reads of one TLP each, on a plain link.
pub fn tiny(generation: u8, tlps: u64, is_read: bool, ack_every: u32, retry_tlps: u64) -> Case {
    let link = LinkCase {
        parent: 0,
        generation,
        lanes: 4,
        credits: Some(1),
        scale: 0,
        retry_tlps,
        ack_every,
        update_every: 2,
        receive_ns: 20,
        propagation_ns: 1,
        sris: false,
        skips: true,
        corrupt: [Vec::new(), Vec::new()],
        errors: [0; 2],
        recovery_ns: 1_000,
        map: 0,
        channel_turns: 0,
        power: PowerCase::default(),
        flits: None,
        skip_ns: None,
        ends: None,
    };
    let end = EndpointCase {
        link,
        mrrs_shift: 0,
        tags: 32,
        relaxed: false,
        id_ordered: false,
        ecrc: false,
        interval_ns: 0,
        completion_ns: 0,
        slow_drain: false,
        memory: (None, 100),
    };
    let host = HostCase {
        combine: true,
        long_by_line: false,
        rcb_128: true,
        trackers: 64,
        jitter: false,
        high_memory: false,
        slow_memory: false,
        ecrc: false,
        pairs: false,
        iommu: None,
        memory: None,
    };
    let transfer = |index| TransferCase {
        from: 0,
        to: 0,
        channel: 0,
        is_read,
        offset: index * 128,
        length: 128,
        at_ns: index * 40,
    };
    let transfers = (0..tlps).map(transfer).collect();
    Case {
        seed: 1,
        mps_shift: 0,
        host,
        switches: Vec::new(),
        endpoints: vec![end],
        transfers,
        classes: [0; 3],
        plugs: Vec::new(),
        start_ns: 5_000,
        looks: Vec::new(),
        changes: Vec::new(),
    }
}

fn subsets() -> impl Iterator<Item = Vec<u64>> {
    (0u64..1 << TRANSMISSIONS).map(|bits| (0..TRANSMISSIONS).filter(|bit| bits >> bit & 1 == 1).collect())
}

/// Where on a direction, in bits, each DLLP of the undisturbed case begins, and how many bits there are.
fn dllps(case: &Case, direction: usize) -> (Vec<u64>, u64) {
    let record = slow(case);
    let link = &case.config().links[0];
    let byte = link.mode.symbol_span().ticks() / link.mode.width.lanes();
    let (mut at, mut starts) = (0, Vec::new());
    for (_, what, span) in &record.sent[direction] {
        if matches!(what, Sent::Dllp | Sent::Nak) {
            starts.push(at);
        }
        at += span.ticks() / byte * 8;
    }
    (starts, at)
}

/// A seed with which the first wrong bit of a direction lies in the DLLP that begins at `start`, and no other comes.
fn seed_for(start: u64, bits: u64, direction: usize) -> u64 {
    let purpose = ["bit errors downstream", "bit errors upstream"][direction];
    let fits = |seed: &u64| {
        let mut stream = RandomStream::new(*seed, "end0", purpose);
        let rate = f64::from(RATE) * 1e-7;
        let first = stream.geometric(rate);
        (start..start + 64).contains(&first) && stream.geometric(rate) > bits * 4
    };
    (0..10_000_000).find(fits).expect("there are enough seeds")
}

/// Ways to be tiny: TLPs, reads or writes, when Acks go, room in the retry buffer.
fn tiny_cases(generation: u8) -> impl Iterator<Item = Case> {
    let kinds = (1..=3).flat_map(|tlps| [false, true].map(|is_read| (tlps, is_read)));
    kinds.flat_map(move |(tlps, is_read)| {
        [(1, 1), (2, 9)].map(|(every, retry)| tiny(generation, tlps, is_read, every, retry))
    })
}

/// What a tiny case has beyond a plain link.
#[derive(Clone, Copy)]
pub enum Beyond {
    Nothing,
    /// Each TLP is asked for on another DMA queue, the first on VC0 and the others on VC1.
    Channels,
    /// L0s at once, and L1 soon after.
    Sleep,
}

impl Beyond {
    fn put_on(self, case: &mut Case) {
        let link = &mut case.endpoints[0].link;
        match self {
            Self::Nothing => {}
            Self::Channels => {
                (link.map, case.classes) = (1, [0, 1, 1]);
                case.transfers.iter_mut().zip(0..).for_each(|(transfer, channel)| transfer.channel = channel);
            }
            Self::Sleep => link.power.states = [Some((0, 60)), Some((100, 500))],
        }
    }
}

/// Damages every subset of the first TLP transmissions of both directions.
pub fn damaged_tlps(generation: u8, beyond: Beyond, tally: &mut Tally) -> Result<(), String> {
    for mut case in tiny_cases(generation) {
        beyond.put_on(&mut case);
        let reads = case.transfers[0].is_read;
        for up in subsets() {
            for down in subsets().take(if reads { usize::MAX } else { 1 }) {
                case.endpoints[0].link.corrupt = [down, up.clone()];
                tally.enter(compare(&case)).map_err(|text| format!("{case:?}\n{text}"))?;
            }
        }
    }
    Ok(())
}

/// Damages each DLLP of either direction, alone and together with every subset of the first TLP transmissions upstream.
pub fn damaged_dllps(generation: u8, tally: &mut Tally) -> Result<(), String> {
    for mut case in tiny_cases(generation) {
        for direction in [0, 1] {
            case.endpoints[0].link.errors = [0; 2];
            case.endpoints[0].link.corrupt = [Vec::new(), Vec::new()];
            let (starts, bits) = dllps(&case, direction);
            for start in starts {
                case.seed = seed_for(start, bits, direction);
                for corrupt in subsets() {
                    case.endpoints[0].link.errors[direction] = RATE;
                    case.endpoints[0].link.corrupt[1] = corrupt;
                    tally.enter(compare(&case)).map_err(|text| format!("{case:?}\n{text}"))?;
                }
            }
        }
    }
    Ok(())
}
