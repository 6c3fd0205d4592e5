//! Cases in which the fabric and the reference once differed, with what it was.

use super::cases::{
    Case, ChangeCase, EndCase, EndpointCase, FlitCase, IommuCase, LinkCase, Look, LookCase, PlugCase,
    SwitchCase, TransferCase,
};
use super::compare::compare;
use super::tiny::tiny;
use super::{FAULTY_TREES, Kinds, TREES, random};

/// A cut-through switch that may forward a TLP before it has checked it takes it in before that. With a latency below `receive_latency`,
/// several TLPs can be between the two moments, and an Ack leaves them all out (PCIe Base 6.3 §3.6.3.1). It left out the last one only.
#[test]
fn an_ack_covers_what_was_checked() {
    let mut tiny = tiny(2, 0, false, 2, 64);
    let end = &mut tiny.endpoints[0];
    let mut above = end.link.clone();
    (above.receive_ns, above.propagation_ns, above.skips, above.credits) = (70, 0, false, None);
    (above.sris, above.update_every) = (true, 1);
    (end.link.parent, end.link.receive_ns, end.link.propagation_ns) = (5, 0, 30);
    (end.link.credits, end.link.retry_tlps, end.link.ack_every) = (Some(0), 1, 1);
    (end.link.update_every, end.link.skips, end.link.sris) = (3, false, true);
    (end.tags, end.relaxed, end.ecrc, end.interval_ns) = (3, true, true, 130);
    (tiny.host.combine, tiny.host.rcb_128, tiny.host.trackers) = (false, false, 1);
    let switch = SwitchCase { latency_ns: 5, ..cut_through(above) };
    tiny.switches.push(switch);
    let transfers = [
        (2, false, 2219, 269, 9338),
        (2, true, 2949, 1110, 14502),
        (2, false, 9261, 65, 3169),
        (1, true, 9588, 982, 6753),
        (1, false, 4652, 81, 11738),
        (1, false, 2781, 2129, 14761),
        (1, false, 2217, 164, 9400),
        (1, true, 4146, 119, 1022),
        (2, false, 4975, 2768, 9049),
        (2, true, 4835, 30, 5882),
    ];
    tiny.transfers = transfers.into_iter().map(transfer).collect();
    agrees(&tiny);
}

/// Of endpoint 0, to or from host memory.
fn transfer((channel, is_read, offset, length, at_ns): (usize, bool, u64, u64, u64)) -> TransferCase {
    TransferCase { from: 0, to: 0, channel, is_read, offset, length, at_ns }
}

fn agrees(case: &Case) {
    let outcome = compare(case);
    assert!(outcome.difference.is_none(), "{:?}", outcome.difference);
}

fn open(kinds: Kinds, seed: u32) {
    random(kinds, 1_500, seed).1.unwrap_or_else(|text| panic!("{text}"));
}

/// An UpdateFC of an endpoint that drains slowly left 19 ns late while the order of one instant followed from which port looked first.
#[test]
fn an_update_of_a_slow_endpoint() {
    open(TREES, 3);
}

/// TLPs behind links with bit errors left late, for the same reason.
#[test]
fn looks_behind_bit_errors() {
    open(FAULTY_TREES, 5);
}

/// An InitFC that its receiver reads when its own InitFCs have left: the peer looked into its mailbox before, because a link that may
/// sleep asks both ends.
#[test]
fn an_init_fc_that_comes_while_init_fcs_leave() {
    let mut case = tiny(1, 1, false, 1, 1);
    let end = &mut case.endpoints[0];
    (end.link.lanes, end.link.credits, end.link.skips) = (1, None, false);
    (end.link.receive_ns, end.link.update_every) = (0, 1);
    let mut other = end.clone();
    (other.link.credits, other.link.map, other.link.errors) = (Some(0), 2, [81, 0]);
    other.link.power.states = [Some((0, 0)), None];
    case.endpoints.push(other);
    case.seed = 13494878841091646091;
    agrees(&case);
}

/// A Nak is read when an Ack is due, and takes the link into Recovery: nothing may be put behind that before it ends.
#[test]
fn an_ack_that_falls_due_in_recovery() {
    let mut case = tiny(3, 1, false, 1, 2);
    (case.mps_shift, case.classes) = (2, [1, 2, 0]);
    (case.host.combine, case.host.rcb_128, case.host.trackers, case.host.high_memory) =
        (false, false, 1, true);
    let end = &mut case.endpoints[0];
    (end.mrrs_shift, end.relaxed, end.interval_ns) = (1, true, 130);
    (end.link.lanes, end.link.credits, end.link.skips) = (2, None, false);
    (end.link.receive_ns, end.link.update_every) = (70, 1);
    (end.link.map, end.link.corrupt) = (1, [vec![0], vec![0, 11, 25]]);
    end.link.power.states = [Some((700, 4_000)), None];
    let transfers = [
        (0, false, 0, 1, 6_797),
        (0, true, 0, 1, 1_985),
        (2, false, 6_382, 1_079, 2_798),
        (2, true, 0, 1_537, 168),
    ];
    case.transfers = transfers.into_iter().map(transfer).collect();
    agrees(&case);
}

/// An ordered set that waits for the end of a TLP as the link goes into Recovery goes among those of Recovery: the reference kept it
/// until after that.
#[test]
fn an_ordered_set_that_falls_due_before_recovery() {
    let mut case = tiny(1, 1, false, 1, 1);
    (case.host.combine, case.host.rcb_128, case.host.trackers) = (false, false, 1);
    (case.mps_shift, case.seed, case.classes) = (1, 677922683952103439, [2, 1, 2]);
    let end = &mut case.endpoints[0];
    let below = &mut end.link;
    (below.credits, below.receive_ns, below.skips, below.update_every) = (None, 0, false, 1);
    let mut above = below.clone();
    (above.lanes, above.retry_tlps) = (1, 2);
    above.power.states = [Some((3_000, 4_000)), None];
    (below.parent, below.generation, below.lanes, below.credits) = (1, 4, 2, Some(1));
    (below.scale, below.receive_ns, below.sris, below.skips) = (2, 20, true, true);
    (below.errors, below.map) = ([0, 132], 1);
    below.power.states = [Some((0, 4_000)), None];
    end.mrrs_shift = 2;
    case.switches.push(SwitchCase { latency_ns: 20, ..cut_through(above) });
    let transfers = [
        (1, false, 1_800, 141, 4_472),
        (2, false, 0, 53, 4_494),
        (1, true, 6_656, 1_537, 2_473),
        (0, false, 8_056, 869, 0),
        (1, false, 5_776, 57, 0),
    ];
    case.transfers = transfers.into_iter().map(transfer).collect();
    agrees(&case);
}

/// A TLP waits in the flits of a full retry buffer: the space that it took up where it came in is not free before it has left.
#[test]
fn a_tlp_whose_last_flit_waits_for_an_ack() {
    let mut case = tiny(1, 1, false, 1, 1);
    let end = &mut case.endpoints[0];
    (end.link.lanes, end.link.credits, end.link.skips) = (1, Some(0), false);
    (end.link.receive_ns, end.link.update_every, end.link.parent) = (0, 1, 1);
    let mut above = end.link.clone();
    above.flits = Some(FlitCase { generation: 1, lanes: 1, replay_timer: 1_500 });
    case.switches.push(cut_through(above));
    (case.transfers[0].length, case.transfers[0].at_ns) = (1, 2_997);
    agrees(&case);
}

/// The InitFC2s of an endpoint are lost, and the root port, which has had TLPs since, comes up with the first UpdateFC: those that it owes
/// for these TLPs go then. Both the reference and the fabric put them off by a period.
#[test]
fn updates_that_are_due_before_flow_control_is_initialised() {
    let mut case = tiny(1, 1, false, 1, 1);
    case.seed = 13434846476167750702;
    (case.host.combine, case.host.rcb_128, case.host.trackers) = (false, false, 1);
    let end = &mut case.endpoints[0];
    (end.tags, end.link.lanes, end.link.credits) = (1, 1, Some(0));
    (end.link.receive_ns, end.link.skips, end.link.update_every) = (20, false, 1);
    let mut ends = [end.clone(), end.clone(), end.clone()];
    ends[0].link.errors = [0, 157];
    let link = &mut ends[1].link;
    (link.receive_ns, link.errors, link.credits, link.scale) = (0, [0, 129], Some(16), 1);
    link.flits = Some(FlitCase { generation: 6, lanes: 1, replay_timer: 1_500 });
    (ends[2].link.receive_ns, ends[2].link.retry_tlps) = (0, 2);
    case.endpoints = ends.to_vec();
    case.transfers[0].from = 1;
    (case.transfers[0].length, case.transfers[0].at_ns) = (2_049, 13_099);
    agrees(&case);
}

/// A link sleeps for longer than the replay timer above it runs: a TLP comes a second time, and has been checked at the very tick at
/// which an Ack leaves. It is dropped behind that, and answered by the next Ack, wherever it was taken in.
#[test]
fn a_duplicate_is_checked_as_an_ack_leaves() {
    let mut case = quiet_host();
    case.mps_shift = 0;
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps, end.link.parent) = (1, 2, 2, 2);
    let mut other = end.clone();
    (other.link.parent, other.link.lanes, other.link.retry_tlps, other.tags) = (1, 1, 1, 32);
    let mut above = end.link.clone();
    (above.parent, above.lanes, above.retry_tlps, above.ack_every) = (0, 16, 1, 3);
    above.power.states = [Some((0, 500)), None];
    case.endpoints = vec![end, other];
    case.switches.push(cut_through(above));
    case.transfers = vec![read_of_peer(0, 329)];
    agrees(&case);
}

/// The core of a switch is busy, so that a nullified copy of a damaged TLP does not leave in time. What comes behind it waits for room in
/// the retry buffer, which keeps the link awake: the fabric took the copy for what is next, and let the link fall asleep.
#[test]
fn a_tlp_behind_a_nullified_copy_that_never_left() {
    let mut case = quiet_host();
    (case.mps_shift, case.seed) = (1, 52601795601729242);
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (2, 8, 1);
    (end.link.parent, end.link.credits) = (1, Some(0));
    let mut target = end.clone();
    (target.link.parent, target.link.generation, target.link.lanes, target.link.credits) = (0, 1, 1, None);
    target.tags = 32;
    let mut asks = end.clone();
    (asks.link.generation, asks.link.credits, asks.link.ack_every) = (1, None, 2);
    (asks.tags, asks.mrrs_shift) = (32, 1);
    asks.link.power.states = [Some((700, 60)), None];
    end.link.corrupt = [vec![], vec![3]];
    case.switches.push(SwitchCase { slow_core: true, ..cut_through(target.link.clone()) });
    case.endpoints = vec![end, asks, target];
    case.transfers = vec![read_of_peer(3, 989)];
    agrees(&case);
}

/// InitFC2s are lost, and a port comes up when it reads an Ack: what it owes by then goes before its first TLP. On a link that may sleep it
/// did, on others the TLP went first.
#[test]
fn what_is_owed_goes_first_when_a_port_comes_up() {
    let mut case = quiet_host();
    (case.mps_shift, case.seed) = (0, 11472247706885097624);
    let mut other = plain_end(&case);
    (other.link.generation, other.link.lanes, other.link.retry_tlps) = (1, 1, 1);
    let mut end = other.clone();
    (end.link.lanes, end.link.credits, end.link.propagation_ns) = (8, Some(0), 30);
    (end.link.errors, end.link.recovery_ns) = ([109, 0], 10_000);
    end.link.power.states = [None, Some((0, 0))];
    case.endpoints = vec![end, other.clone(), other];
    case.transfers = vec![TransferCase { at_ns: 2_441, ..read_of_peer(3, 1) }];
    agrees(&case);
}

/// InitFC2s are lost, and a port comes up with the first UpdateFC of its peer, while one of many ordered sets is on its wire: what it owes
/// leaves then. It left when it fell due, 25 us before the port was up, as far back as there had been nothing but ordered sets.
#[test]
fn an_update_of_a_port_that_comes_up_late() {
    let mut case = quiet_host();
    (case.mps_shift, case.seed) = (0, 571303820454644844);
    let mut other = plain_end(&case);
    (other.link.generation, other.link.lanes, other.link.retry_tlps) = (1, 1, 1);
    let mut end = other.clone();
    (end.link.credits, end.link.skips, end.link.errors) = (Some(0), true, [0, 113]);
    end.link.flits = Some(FlitCase { generation: 7, lanes: 8, replay_timer: 1_500 });
    case.endpoints = vec![other, end];
    case.transfers = vec![TransferCase { is_read: false, ..read_of_peer(0, 1) }];
    agrees(&case);
}

/// A request of one ingress enters the core of a switch that meters them, on its way to a peer: another, which waited for credits of
/// the link above and kept that awake, waits for the meter from then on. The fabric let it keep the link awake until it was looked at.
#[test]
fn a_request_that_waits_for_a_meter_keeps_no_link_awake() {
    let mut case = quiet_host();
    (case.mps_shift, case.host.pairs) = (0, true);
    let mut other = plain_end(&case);
    (other.link.generation, other.link.lanes, other.link.retry_tlps) = (1, 1, 1);
    let mut above = other.link.clone();
    (above.generation, above.lanes, above.credits, above.ack_every, above.receive_ns) =
        (2, 2, Some(0), 2, 20);
    above.power.states = [None, Some((0, 60))];
    let mut second = other.link.clone();
    second.parent = 5;
    second.power.states = [Some((0, 4_000)), Some((0, 500))];
    case.switches.push(SwitchCase { latency_ns: 20, metered: Some(64), ..cut_through(above) });
    case.switches.push(SwitchCase { latency_ns: 20, ..cut_through(second) });
    let mut first = other.clone();
    (first.link.parent, first.link.lanes, first.tags) = (1, 4, 32);
    let mut third = other.clone();
    third.link.parent = 1;
    case.endpoints = vec![first, other, third];
    let read =
        |to, offset, length, at_ns| TransferCase { from: 3, offset, at_ns, ..read_of_peer(to, length) };
    case.transfers = vec![read(2, 0, 33, 3_001), read(0, 552, 601, 981)];
    agrees(&case);
}

/// A port has not read for long what its peer said, a Nak included that takes the link into Recovery: it acts on that when its turn comes
/// at the instant, after ports with lower numbers. It did as soon as one more DLLP came, so a flit of its peer left behind Recovery.
#[test]
fn a_nak_among_many_unread_dllps() {
    let mut case = quiet_host();
    case.mps_shift = 0;
    let mut other = plain_end(&case);
    (other.link.generation, other.link.lanes, other.link.retry_tlps) = (1, 1, 1);
    let mut end = other.clone();
    (end.link.credits, end.link.retry_tlps, end.link.receive_ns) = (Some(3), 2, 70);
    end.link.corrupt = [vec![], vec![16]];
    end.link.flits = Some(FlitCase { generation: 7, lanes: 16, replay_timer: 20 });
    let mut third = other.clone();
    (third.link.generation, third.link.lanes, third.mrrs_shift, third.tags, third.ecrc) = (4, 16, 1, 3, true);
    case.endpoints = vec![end, other, third];
    let read = |offset, length, at_ns| TransferCase { from: 2, offset, at_ns, ..read_of_peer(3, length) };
    case.transfers = vec![read(3_712, 1_409, 6_724), read(0, 1, 0)];
    agrees(&case);
}

/// Two reads find a tracking entry at one instant: what the first one frees is said before the second one frees something. The reference
/// said it once for both.
#[test]
fn two_reads_that_start_together() {
    let mut case = quiet_host();
    (case.mps_shift, case.host.trackers, case.host.pairs) = (0, 2, true);
    let walks =
        IommuCase { entries: 1, ways: 1, page_kib: 4, steps: 2, step_ns: 400, walkers: 1, interval_ns: 0 };
    case.host.iommu = Some(walks);
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps, end.tags) = (1, 4, 1, 32);
    end.link.credits = Some(1);
    case.endpoints = vec![end];
    case.transfers = vec![transfer((0, true, 6_715, 1_862, 0))];
    agrees(&case);
}

/// Somebody asks whether a device is at rest while its link is in Recovery: that reads no Nak, which would start a replay and count it.
#[test]
fn a_device_that_is_not_at_rest() {
    let mut case = quiet_host();
    case.mps_shift = 0;
    let mut other = plain_end(&case);
    (other.link.generation, other.link.lanes, other.link.retry_tlps) = (1, 1, 1);
    let mut end = other.clone();
    (end.link.lanes, end.link.recovery_ns, end.mrrs_shift) = (4, 10_000, 1);
    end.link.corrupt = [vec![], vec![0]];
    end.link.power.states = [Some((0, 4_000)), Some((0, 4_000))];
    case.endpoints = vec![other.clone(), end, other];
    let read = |from, to, at_ns| TransferCase { from, at_ns, ..read_of_peer(to, 1) };
    case.transfers = vec![read(1, 0, 449), read(2, 1, 233)];
    case.plugs = vec![PlugCase { end: 1, at_ns: 8_481, away_ns: 0 }];
    agrees(&case);
}

/// A device comes back, writes, and is at rest again while two InitFC2s that came behind the first have not been read, with an Ack behind.
#[test]
fn a_device_that_is_at_rest_soon() {
    let mut case = quiet_host();
    case.mps_shift = 1;
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (2, 12, 2);
    (end.link.propagation_ns, end.mrrs_shift) = (30, 2);
    case.endpoints = vec![end];
    case.transfers = vec![transfer((0, false, 7_168, 1, 12_782))];
    let plug = |at_ns, away_ns| PlugCase { end: 0, at_ns, away_ns };
    case.plugs = vec![plug(6_332, 6_450), plug(12_918, 0)];
    agrees(&case);
}

/// One endpoint below a host that does one thing after the other.
fn quiet_host() -> Case {
    let mut case = tiny(2, 1, false, 1, 1);
    (case.host.combine, case.host.rcb_128, case.host.trackers) = (false, false, 1);
    (case.classes, case.seed) = ([0; 3], 0);
    case
}

/// Its endpoint with one tag, and a link on which each TLP is answered at once.
fn plain_end(case: &Case) -> EndpointCase {
    let mut end = case.endpoints[0].clone();
    (end.tags, end.relaxed, end.interval_ns, end.mrrs_shift) = (1, false, 0, 0);
    (end.completion_ns, end.slow_drain) = (0, false);
    (end.link.credits, end.link.skips, end.link.receive_ns) = (None, false, 0);
    (end.link.update_every, end.link.ack_every, end.link.propagation_ns) = (1, 1, 1);
    end
}

fn cut_through(link: LinkCase) -> SwitchCase {
    SwitchCase {
        link,
        store_and_forward: false,
        latency_ns: 0,
        arbitration: 0,
        slow_core: false,
        acs: false,
        metered: None,
        storage: [0; 3],
    }
}

fn read_of_peer(to: usize, length: u64) -> TransferCase {
    TransferCase { from: 1, to, channel: 0, is_read: true, offset: 0, length, at_ns: 0 }
}

/// A wait ends while an ordered set is on the wire: silence counts from then, and not from the end of the ordered set, which is nothing that
/// was sent. The least time in L1 shows when that began.
#[test]
fn silence_that_begins_under_an_ordered_set() {
    let mut case = tiny(2, 0, false, 1, 1);
    let end = &mut case.endpoints[0];
    (end.link.lanes, end.link.credits, end.link.skips) = (1, None, true);
    (end.link.receive_ns, end.link.propagation_ns, end.link.sris, end.link.map) = (70, 30, true, 1);
    end.link.update_every = 1;
    (end.link.power.states, end.link.power.stay) = ([None, Some((0, 0))], 6_000);
    case.transfers = vec![transfer((0, false, 0, 1, 3_059))];
    case.plugs = vec![PlugCase { end: 0, at_ns: 0, away_ns: 0 }];
    agrees(&case);
}

/// An InitFC arrives at the instant at which its device leaves and comes back: the reference read it in the next life of the link.
#[test]
fn an_init_fc_that_arrives_as_its_device_leaves() {
    let mut case = tiny(2, 0, false, 1, 1);
    let end = &mut case.endpoints[0];
    (end.link.lanes, end.link.credits, end.link.skips, end.link.map) = (4, None, false, 1);
    (end.link.receive_ns, end.link.propagation_ns, end.link.update_every) = (70, 0, 1);
    case.transfers = vec![transfer((0, false, 0, 1, 0))];
    let away = |at_ns, away_ns| PlugCase { end: 0, at_ns, away_ns };
    case.plugs = vec![away(4_090, 0), away(3_869, 126)];
    agrees(&case);
}

/// A side that wakes late hears all InitFCs while it sends none, and its InitFC2s are the first that the other hears: that side waits for
/// an UpdateFC, though it repeats what is known. Nobody looked for it before the InitFC2s of that side were due again.
#[test]
fn an_update_that_ends_an_initialisation() {
    let mut case = tiny(1, 0, false, 1, 1);
    (case.host.combine, case.host.rcb_128, case.host.trackers) = (false, false, 1);
    let plain = &mut case.endpoints[0];
    (plain.tags, plain.link.lanes, plain.link.credits, plain.link.skips) = (1, 1, None, false);
    (plain.link.receive_ns, plain.link.update_every, plain.link.parent) = (0, 1, 5);
    let mut above = plain.link.clone();
    (above.lanes, above.parent) = (2, 0);
    above.power.states = [Some((0, 4_000)), None];
    let mut leaves = plain.clone();
    (leaves.link.parent, leaves.link.generation, leaves.link.lanes) = (2, 5, 4);
    (leaves.link.credits, leaves.link.scale) = (Some(0), 1);
    leaves.link.power.states = [Some((0, 500)), Some((3_000, 0))];
    let mut third = plain.clone();
    third.link.parent = 0;
    case.endpoints.extend([leaves, third]);
    case.switches.push(SwitchCase { latency_ns: 0, ..cut_through(above) });
    let of_second = |to, at_ns| TransferCase { from: 1, to, ..transfer((0, false, 0, 1, at_ns)) };
    case.transfers = vec![of_second(1, 904), of_second(0, 494)];
    case.plugs = vec![PlugCase { end: 1, at_ns: 4_656, away_ns: 0 }];
    agrees(&case);
}

/// A nullified copy waits for a slow core, before a TLP that waits for credits. When its time is over that TLP keeps the link out of L1,
/// which nobody saw before the next look for another reason.
#[test]
fn a_copy_that_is_gone_before_the_core_is_free() {
    let mut case = tiny(1, 0, false, 1, 1);
    (case.host.combine, case.host.rcb_128, case.host.trackers) = (false, false, 1);
    (case.seed, case.mps_shift) = (1_748_234_878_215_048_666, 0);
    let plain = &mut case.endpoints[0];
    (plain.tags, plain.ecrc, plain.link.credits, plain.link.skips) = (1, true, None, false);
    (plain.link.receive_ns, plain.link.update_every, plain.link.parent) = (0, 1, 2);
    (plain.link.retry_tlps, plain.link.propagation_ns) = (2, 1);
    let plain = plain.clone();
    let mut above = plain.link.clone();
    (above.generation, above.lanes, above.parent, above.errors, above.map) = (2, 1, 0, [86, 0], 1);
    let mut second = plain.clone();
    (second.link.lanes, second.link.retry_tlps, second.mrrs_shift, second.ecrc) = (1, 1, 3, false);
    let mut third = plain.clone();
    (third.link.parent, third.link.generation, third.link.lanes) = (5, 2, 4);
    (third.link.credits, third.link.scale, third.link.retry_tlps) = (Some(0), 1, 2);
    (third.link.ack_every, third.link.receive_ns) = (2, 70);
    (third.link.power.states, third.link.power.stay) = ([None, Some((0, 0))], 400);
    (third.mrrs_shift, third.tags, third.relaxed, third.interval_ns) = (1, 3, true, 130);
    third.slow_drain = true;
    case.endpoints = vec![plain, second, third];
    case.switches = vec![SwitchCase { latency_ns: 70, slow_core: true, ..cut_through(above) }];
    let transfer = |from, to, channel, is_read, offset, length, at_ns| TransferCase {
        from,
        to,
        channel,
        is_read,
        offset,
        length,
        at_ns,
    };
    case.transfers = vec![
        transfer(4, 2, 0, true, 1_168, 513, 1_397),
        transfer(3, 4, 2, false, 6_388, 9, 1_073),
        transfer(2, 2, 1, true, 704, 1, 1_775),
        transfer(3, 2, 0, false, 7_104, 805, 1_817),
        transfer(2, 3, 0, true, 468, 301, 1_805),
    ];
    case.classes = [0, 1, 0];
    agrees(&case);
}

/// A device may leave when nothing waits for its link. A nullified copy whose time is over is nothing, whether or not somebody looked since.
#[test]
fn a_device_that_leaves_behind_a_nullified_copy() {
    let mut case = quiet_host();
    (case.seed, case.mps_shift) = (13_075, 1);
    let mut plain = plain_end(&case);
    (plain.link.generation, plain.link.lanes, plain.link.retry_tlps) = (1, 1, 1);
    let mut above = plain.link.clone();
    above.parent = 0;
    let mut writer = plain.clone();
    (writer.link.parent, writer.link.generation, writer.link.lanes) = (4, 5, 4);
    (writer.link.retry_tlps, writer.link.receive_ns, writer.link.corrupt) = (9, 20, [vec![], vec![1, 5]]);
    let mut leaves = plain.clone();
    (leaves.link.parent, leaves.link.lanes) = (1, 4);
    plain.link.parent = 0;
    case.endpoints = vec![plain, writer, leaves];
    let switch = |slow_core| SwitchCase { latency_ns: 20, slow_core, ..cut_through(above.clone()) };
    case.switches = vec![switch(true), switch(false)];
    case.transfers = vec![TransferCase {
        from: 1,
        to: 2,
        channel: 0,
        is_read: false,
        offset: 3_328,
        length: 1_025,
        at_ns: 6_599,
    }];
    case.plugs = vec![PlugCase { end: 2, at_ns: 6_917, away_ns: 0 }];
    agrees(&case);
}

/// An end of a link that answers each TLP at once, and repeats UpdateFCs every microsecond.
fn plain_half() -> EndCase {
    EndCase {
        retry: (1, 30),
        ack: (1, 0),
        update: (1, 0, 1_000),
        receive_ticks: 0,
        replay_ns: None,
        infinite: [false; 2],
    }
}

/// Ordered sets have half of the wire: behind a completion of 256 B, an Ack waits for as many as fell due meanwhile, and for longer than the
/// replay timer of the write that it answers runs. The fabric counted one ordered set, and did not watch the timer.
#[test]
fn an_ack_that_waits_for_many_ordered_sets() {
    let mut case = quiet_host();
    case.mps_shift = 1;
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (1, 2, 1);
    (end.link.skips, end.link.skip_ns) = (true, Some(5));
    let lower = EndCase { retry: (3, 30), replay_ns: Some(1_000), ..plain_half() };
    end.link.ends = Some([plain_half(), lower]);
    case.endpoints = vec![end];
    case.transfers = vec![transfer((0, false, 0, 1_009, 0))];
    agrees(&case);
}

/// An Ack starts the replay timer as the next TLP is on the wire, and that one is answered when it has gone, and a packet of the peer, too. The
/// fabric counted the time of the peer's packet only, and did not watch the timer.
#[test]
fn an_ack_that_starts_the_timer_of_a_tlp_on_the_wire() {
    let mut case = quiet_host();
    (case.mps_shift, case.host.combine, case.host.pairs) = (1, true, true);
    let mut other = plain_end(&case);
    (other.link.generation, other.link.lanes, other.link.retry_tlps) = (1, 1, 1);
    let mut end = other.clone();
    (end.link.lanes, end.mrrs_shift) = (2, 2);
    let lower = EndCase { retry: (2, 30), replay_ns: Some(1_000), ..plain_half() };
    end.link.ends = Some([plain_half(), lower]);
    case.switches = vec![cut_through(other.link.clone())];
    case.endpoints = vec![end];
    let first = transfer((2, false, 0, 1_009, 8_665));
    case.transfers =
        vec![first, transfer((0, false, 664, 1_857, 8_041)), transfer((1, true, 256, 1_021, 7_709))];
    agrees(&case);
}

/// Recovery is over before a long TLP that is on the wire: the replay timer of that TLP starts at its end. In the reference it started with
/// the end of Recovery, and so it did in the fabric, which looked at it too late.
#[test]
fn recovery_ends_before_a_tlp_that_is_on_the_wire() {
    let mut case = quiet_host();
    case.mps_shift = 2;
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (1, 1, 1);
    end.link.ends = Some([EndCase { replay_ns: Some(100), ..plain_half() }; 2]);
    case.endpoints = vec![end];
    case.transfers = vec![transfer((0, false, 0, 2_553, 2_985)), transfer((1, true, 0, 1, 2_657))];
    agrees(&case);
}

/// An UpdateFC that repeats what is known is not due in L1, and its period starts anew when the link wakes, also where space is still to be
/// freed a little later: the fabric waited for that.
#[test]
fn an_update_that_repeats_after_l1() {
    let mut case = quiet_host();
    (case.seed, case.mps_shift, case.classes) = (1_077_573_285_264_584_987, 2, [2, 1, 0]);
    (case.host.trackers, case.host.slow_memory) = (64, true);
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (1, 12, 1);
    (end.link.credits, end.link.scale, end.link.propagation_ns) = (Some(0), 2, 30);
    (end.link.map, end.link.channel_turns) = (1, 2);
    end.link.power.states = [None, Some((0, 60))];
    end.link.ends = Some([EndCase { infinite: [false, true], ..plain_half() }, plain_half()]);
    (end.mrrs_shift, end.tags) = (2, 3);
    case.endpoints = vec![end];
    let write = |channel, offset, length, at_ns| transfer((channel, false, offset, length, at_ns));
    case.transfers = vec![write(1, 0, 1, 2_401), write(0, 0, 965, 6_057), write(0, 18, 1_324, 1_389)];
    agrees(&case);
}

/// A link comes up while ordered sets that fell due before are on its wire, and sleeps at once: no other falls due. The fabric put those
/// there that fell due before the ones on the wire were over.
#[test]
fn a_link_that_sleeps_under_ordered_sets() {
    let mut case = quiet_host();
    case.mps_shift = 0;
    let mut plain = plain_end(&case);
    (plain.link.generation, plain.link.lanes, plain.link.retry_tlps) = (1, 1, 1);
    let mut above = plain.link.clone();
    (above.generation, above.errors, above.map, above.skips, above.skip_ns) = (4, [0, 1], 1, true, Some(5));
    above.power.states = [None, Some((0, 0))];
    let half = |receive_ticks| EndCase { receive_ticks, ..plain_half() };
    above.ends = Some([half(7_296_001), half(56_696_001)]);
    let switch = |link| SwitchCase { latency_ns: 56, ..cut_through(link) };
    case.switches = vec![switch(plain.link.clone()), switch(above)];
    let mut below = plain.clone();
    below.link.parent = 2;
    case.endpoints = vec![below, plain];
    case.transfers = vec![TransferCase { from: 5, to: 0, ..transfer((0, false, 0, 1, 0)) }];
    agrees(&case);
}

/// Ordered sets that wait behind a TLP take longer than Recovery: the wire goes on behind them, and what is due is decided on when the TLP
/// has gone. The reference decided on DLLPs then, and on TLPs later.
#[test]
fn ordered_sets_that_outlast_recovery() {
    let mut case = quiet_host();
    case.mps_shift = 0;
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (1, 1, 1);
    let mut other = end.clone();
    (other.link.generation, other.link.lanes) = (2, 2);
    (end.link.propagation_ns, end.link.skips, end.link.skip_ns) = (30, true, Some(5));
    let lower = EndCase { ack: (3, 3_000), replay_ns: Some(100), ..plain_half() };
    end.link.ends = Some([EndCase { retry: (9, 30), ..plain_half() }, lower]);
    case.endpoints = vec![end, other];
    let peer = TransferCase { from: 1, to: 2, ..transfer((0, false, 172, 597, 4_183)) };
    case.transfers = vec![peer, transfer((0, false, 5_128, 77, 7_192))];
    agrees(&case);
}

/// A replay begins in Recovery, which ordered sets on the wire outlast: its timer is held until the link is up. In the fabric it ran, and was
/// looked at too late; in the reference it ran, and took the link into Recovery once more.
#[test]
fn a_replay_that_begins_in_recovery() {
    let mut case = quiet_host();
    case.mps_shift = 2;
    let mut other = plain_end(&case);
    (other.link.generation, other.link.lanes, other.link.retry_tlps) = (1, 2, 1);
    (other.mrrs_shift, other.tags) = (3, 3);
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (1, 1, 1);
    (end.link.skips, end.link.skip_ns, end.mrrs_shift) = (true, Some(5), 1);
    let upper = EndCase { replay_ns: Some(100), ..plain_half() };
    end.link.ends = Some([upper, EndCase { ack: (3, 3_000), ..plain_half() }]);
    case.endpoints = vec![other, end];
    case.transfers = vec![TransferCase { from: 1, to: 0, ..transfer((0, true, 0, 469, 0)) }];
    agrees(&case);
}

/// The period of one end of a link in L1 ends, which wakes the link, again and again, while nobody looks at the other end: that has UpdateFCs due
/// since then, which go before what it is asked for later. They were found only behind that.
#[test]
fn an_update_that_the_peer_woke_the_link_before() {
    let mut case = quiet_host();
    (case.mps_shift, case.host.slow_memory) = (2, true);
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (1, 12, 1);
    (end.link.credits, end.link.scale) = (Some(3), 1);
    end.link.power.states = [Some((0, 500)); 2];
    let upper = EndCase { infinite: [false, true], ..plain_half() };
    end.link.ends = Some([upper, EndCase { retry: (3, 30), ..plain_half() }]);
    case.endpoints = vec![end];
    case.transfers = vec![transfer((0, false, 0, 1, 9_049)), transfer((0, false, 4_455, 1_989, 309))];
    agrees(&case);
}

/// A Nak comes at the instant at which an UpdateFC wakes a direction from L0s: it is acted on when that is awake. The fabric acted on it before,
/// and the replay timer ran out three times on the way.
#[test]
fn a_nak_that_comes_as_an_update_wakes_a_link() {
    let mut case = quiet_host();
    case.mps_shift = 0;
    let mut plain = plain_end(&case);
    (plain.link.generation, plain.link.lanes, plain.link.retry_tlps) = (1, 1, 1);
    let mut end = plain.clone();
    (end.link.lanes, end.link.credits, end.tags) = (4, Some(1), 3);
    end.link.corrupt = [vec![8, 0], vec![]];
    (end.link.power.states, end.link.power.patient) = ([Some((0, 4_000)), Some((0, 0))], true);
    let upper = EndCase { retry: (9, 30), replay_ns: Some(1_000), infinite: [true, false], ..plain_half() };
    end.link.ends = Some([upper, EndCase { retry: (3, 32), ..plain_half() }]);
    case.endpoints = vec![end, plain];
    let of = |from, to, channel, is_read, length, at_ns| TransferCase {
        from,
        to,
        ..transfer((channel, is_read, 0, length, at_ns))
    };
    case.transfers = vec![
        of(2, 0, 0, false, 1, 813),
        of(0, 1, 0, false, 185, 1_813),
        of(2, 0, 1, false, 257, 11_813),
        of(2, 2, 0, true, 257, 841),
    ];
    agrees(&case);
}

/// The same as the replay timer runs out: that read the Nak before the UpdateFC had begun to wake the direction.
#[test]
fn a_nak_that_comes_as_the_replay_timer_runs_out() {
    let mut case = quiet_host();
    (case.mps_shift, case.seed, case.host.combine) = (0, 4_973_664_679_757_900, true);
    let mut plain = plain_end(&case);
    (plain.link.generation, plain.link.lanes, plain.link.retry_tlps) = (1, 1, 1);
    let mut end = plain.clone();
    (end.link.lanes, end.link.credits) = (4, Some(1));
    end.link.corrupt = [vec![5, 2, 0], vec![]];
    (end.link.power.states, end.link.power.patient) = ([Some((0, 4_000)), Some((0, 0))], true);
    let upper = EndCase { retry: (3, 30), replay_ns: Some(1_000), infinite: [true, false], ..plain_half() };
    end.link.ends = Some([upper, EndCase { retry: (2, 30), ..plain_half() }]);
    case.endpoints = vec![end, plain];
    let of = |from, to, given| TransferCase { from, to, ..transfer(given) };
    case.transfers = vec![
        of(0, 0, (1, false, 0, 129, 8_501)),
        of(1, 2, (0, true, 1_920, 101, 2_313)),
        of(0, 0, (0, false, 0, 1, 1_041)),
        of(2, 0, (0, true, 0, 1, 1_130)),
    ];
    agrees(&case);
}

/// A Nak waits for the wire, and behind it an Ack that came before the replay began: that starts the replay timer no sooner than the replay
/// did. The reference set the timer back, and counted one replay more.
#[test]
fn an_ack_that_is_read_behind_a_nak() {
    let mut case = quiet_host();
    (case.mps_shift, case.seed) = (2, 0);
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps, end.link.parent) = (1, 8, 1, 2);
    let mut first = end.link.clone();
    (first.lanes, first.parent) = (1, 0);
    let mut second = first.clone();
    (second.parent, second.generation, second.credits) = (1, 4, Some(3));
    (second.corrupt, second.recovery_ns) = ([vec![], vec![0, 22, 17, 27]], 10_000);
    let upper = EndCase { ack: (3, 400), receive_ticks: 53_056_001, ..plain_half() };
    let lower = EndCase { retry: (2, 30), receive_ticks: 71_680_000, replay_ns: Some(100), ..plain_half() };
    second.ends = Some([upper, lower]);
    let switch = |link| SwitchCase { latency_ns: 70, ..cut_through(link) };
    case.switches.push(SwitchCase { store_and_forward: true, ..switch(first) });
    case.switches.push(SwitchCase { slow_core: true, ..switch(second) });
    end.tags = 32;
    case.endpoints = vec![end];
    let transfers = [
        (0, false, 492, 393, 4_007),
        (0, true, 0, 385, 1_675),
        (0, false, 0, 1, 1_345),
        (0, true, 3_649, 64, 0),
        (0, false, 8_984, 825, 1_461),
    ];
    case.transfers = transfers.into_iter().map(transfer).collect();
    agrees(&case);
}

/// A TLP comes a second time on its way to an endpoint that has it already: a duplicate waits for nothing, and the endpoint may be taken
/// away. The reference took it for one that waits in the switch.
#[test]
fn a_duplicate_holds_no_device() {
    let mut case = quiet_host();
    (case.mps_shift, case.seed, case.start_ns) = (0, 0, 0);
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (1, 2, 1);
    let mut above = end.link.clone();
    (above.generation, above.propagation_ns) = (3, 30);
    above.power.states = [None, Some((0, 4_000))];
    let upper = EndCase { receive_ticks: 71_680_000, replay_ns: Some(100), ..plain_half() };
    let lower = EndCase { ack: (2, 400), receive_ticks: 30_512_001, ..plain_half() };
    above.ends = Some([upper, lower]);
    case.switches.push(SwitchCase { latency_ns: 70, ..cut_through(above) });
    let mut target = end.clone();
    target.link.parent = 1;
    case.endpoints = vec![end, target];
    case.transfers = vec![TransferCase { from: 0, to: 1, ..transfer((0, false, 696, 45, 7_313)) }];
    case.plugs = vec![PlugCase { end: 1, at_ns: 11_829, away_ns: 0 }];
    agrees(&case);
}

/// A device is taken away while a Nak is owed for a replay of what had come before: the Nak is forgotten with all else. In the reference it
/// went out when the link was up again.
#[test]
fn a_nak_that_is_owed_as_a_link_goes_down() {
    let mut case = quiet_host();
    (case.mps_shift, case.seed, case.start_ns) = (0, 0, 0);
    let mut other = plain_end(&case);
    (other.link.generation, other.link.lanes, other.link.retry_tlps) = (1, 1, 1);
    let mut end = other.clone();
    end.link.lanes = 4;
    end.link.corrupt = [vec![], vec![5]];
    end.link.power.states = [None, Some((0, 0))];
    end.link.power.stay = 6_000;
    let upper = EndCase { ack: (2, 400), receive_ticks: 20_480_000, ..plain_half() };
    let lower = EndCase { receive_ticks: 20_480_000, replay_ns: Some(100), ..plain_half() };
    end.link.ends = Some([upper, lower]);
    case.endpoints = vec![other, end];
    case.transfers = vec![TransferCase { from: 1, ..transfer((0, false, 6, 143, 0)) }];
    case.plugs = vec![PlugCase { end: 1, at_ns: 1_941, away_ns: 0 }];
    agrees(&case);
}

/// A link goes down while InitFC2s are on its wire: ordered sets that wait for their end follow them, as before Recovery. The reference
/// forgot those.
#[test]
fn an_ordered_set_that_falls_due_before_a_link_goes_down() {
    let mut case = quiet_host();
    (case.mps_shift, case.seed, case.start_ns) = (0, 0, 0);
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (1, 2, 1);
    (end.link.receive_ns, end.link.skips, end.link.skip_ns, end.link.map) = (20, true, Some(5), 1);
    case.endpoints = vec![end];
    case.transfers = vec![transfer((0, false, 0, 1, 205))];
    case.plugs = vec![PlugCase { end: 0, at_ns: 128, away_ns: 0 }];
    agrees(&case);
}

/// A root complex forwards sooner from some time on: a completion that comes after that does not pass those of its read that came before. It
/// did, and the run ended there.
#[test]
fn completions_stay_in_order_when_forwarding_becomes_quicker() {
    let mut case = quiet_host();
    case.mps_shift = 0;
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps, end.tags, end.mrrs_shift) = (1, 1, 1, 32, 3);
    case.endpoints = vec![end.clone(), end];
    case.transfers = vec![read_of_peer(0, 1_024)];
    let change = |at_ns, forward| ChangeCase {
        at_ns,
        latencies_ns: [150, forward, 100],
        jitter: false,
        slow_memory: false,
        slow_drain: false,
        interval_ns: 0,
        errors: 1.0,
    };
    for at_ns in [6_500, 7_000, 7_500, 8_000] {
        case.changes = vec![change(5_000, 900), change(at_ns, 0)];
        agrees(&case);
    }
}

/// A Nak takes a link into Recovery, as the fourth replay without progress, at the instant at which the other end wants to wake the link for a
/// TLP. That end has the lower number and is asked first: the TLP goes before Recovery. The fabric read the Nak of both ends at once.
#[test]
fn a_nak_that_comes_as_the_other_end_wants_the_wire() {
    let mut case = quiet_host();
    case.mps_shift = 2;
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps) = (1, 1, 2);
    let other = EndpointCase { link: LinkCase { lanes: 4, ..end.link.clone() }, ..end.clone() };
    end.link.corrupt = [vec![], (0..40).collect()];
    let lower = EndCase { retry: (9, 30), ack: (64, 3_000), replay_ns: Some(500), ..plain_half() };
    end.link.ends = Some([plain_half(), lower]);
    end.link.power.states = [Some((0, 4)), None];
    case.endpoints = vec![end, other];
    let of = |from, length, at_ns| TransferCase { from, to: 0, ..transfer((0, false, 0, length, at_ns)) };
    // Symbols have 4 ns.
    for at_ns in (2_680..2_700).step_by(4) {
        case.transfers = vec![of(0, 4, 1_000), of(1, 512, 0), of(1, 4, at_ns)];
        agrees(&case);
    }
}

/// An UpdateFC for which nothing waits wakes a link from L1. The periods of the other end, which has the lower number, start anew, and it has
/// something to tell sooner for that: both are brought up to date when the time up to a stop is accounted for, whichever is looked at first.
#[test]
fn a_stop_behind_an_update_that_wakes_the_other_end() {
    let mut case = quiet_host();
    (case.mps_shift, case.host.slow_memory) = (0, true);
    let mut end = plain_end(&case);
    (end.link.generation, end.link.lanes, end.link.retry_tlps, end.link.credits) = (1, 4, 2, Some(16));
    let other = end.clone();
    end.link.power.states = [None, Some((400, 60))];
    let upper = EndCase { update: (64, 3_000, 1_000), ..plain_half() };
    let lower = EndCase { update: (64, 3_000, 30_000), ..plain_half() };
    end.link.ends = Some([upper, lower]);
    case.endpoints = vec![end, other];
    let of = |from, to, length, at_ns| TransferCase { from, to, ..transfer((0, false, 0, length, at_ns)) };
    for peer_at in (5_000..11_000).step_by(300) {
        case.transfers =
            vec![of(1, 1, 2_900, 0), of(0, 0, 64, 3_000), of(1, 0, 64, peer_at), of(0, 0, 4, 30_000)];
        for at_ns in (12_000..24_000).step_by(300) {
            case.looks = vec![LookCase { at_ns, what: Look::Account }];
            agrees(&case);
        }
    }
}
