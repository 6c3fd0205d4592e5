//! Cases in which the fabric and the reference once differed, with what it was.

use super::cases::{SwitchCase, TransferCase};
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
    let switch = SwitchCase {
        link: above,
        store_and_forward: false,
        latency_ns: 5,
        arbitration: 0,
        slow_core: false,
        acs: false,
    };
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
    let transfer = |(channel, is_read, offset, length, at_ns)| TransferCase {
        from: 0,
        to: 0,
        channel,
        is_read,
        offset,
        length,
        at_ns,
    };
    tiny.transfers = transfers.into_iter().map(transfer).collect();
    let outcome = compare(&tiny);
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
