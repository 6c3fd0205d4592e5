//! Links that are longer than what their ends are built for, with everything automatic.

use crate::rig::results;
use lanewise_sim::Results;

/// Writes of 256 B with headers of 3 DW over a link x16, so long one way, with an Ack for each.
fn writes(generation: u8, one_way_ns: u64, retry_buffer: &str) -> Results {
    let text = format!(
        "[run]\ntime_limit = \"4020 us\"\nwarm_up = \"20 us\"\nrelative_half_width = 0.00001\n\
         [host.h]\nmemory_base = \"0 B\"\nslots = {{ a = {{ link = \"gen{generation} x16\", ack_every_tlps = 1 }} }}\n\
         [endpoint]\ne = {{ attach = \"h.a\", generation = \"gen{generation}\", width = \"x16\", retry_buffer = \"{retry_buffer}\", link = {{ propagation = \"{one_way_ns} ns\" }} }}\n\
         [[workload]]\nkind = \"dma\"\nname = \"w\"\ndevice = \"e\"\ndirection = \"write\"\nsize = \"64 KiB\"\noutstanding = 16\n"
    );
    results(text, &[])
}

/// A retry buffer for 30 packets of 274 B each, until an Ack is there and back: wires, checks of 20 ns, a packet, an Ack of 8 B,
/// and half a symbol at each end.
#[test]
fn a_long_link_carries_what_the_retry_buffer_holds() {
    for (generation, rate) in [(4, 16.0 * 16.0 / 8.0 * 128.0 / 130.0), (5, 16.0 * 32.0 / 8.0 * 128.0 / 130.0)]
    {
        for one_way in [500.0, 1000.0, 2000.0] {
            let found = writes(generation, one_way as u64, "8220 B").flows[0].goodput_gb_per_s;
            let expected = 30.0 * 256.0 / (2.0 * (one_way + 20.0) + (276.0 + 8.0 + 16.0) / rate);
            let off = found / expected - 1.0;
            assert!(off.abs() < 0.007, "gen{generation}, {one_way} ns: {found} GB/s, expected {expected}");
        }
    }
}

/// With everything automatic a fibre is not free: what is built for 180 ns runs out on 1,000 ns.
#[test]
fn a_fibre_costs_what_buffers_do_not_hold() {
    for (generation, line) in [(3, 14.6), (4, 29.2), (5, 58.4)] {
        let found = writes(generation, 1000, "auto").flows[0].goodput_gb_per_s;
        assert!((0.1..0.5).contains(&(found / line)), "gen{generation}: {found} GB/s");
    }
}

/// What parts of Gen3 and later are built for, 180 ns, costs nothing, and the replay timer of Gen3 does not run out at 200 ns.
#[test]
fn a_link_within_reach_is_full() {
    for (generation, line) in [(3, 14.6), (4, 29.2), (5, 58.4)] {
        let results = writes(generation, 180, "auto");
        let found = results.flows[0].goodput_gb_per_s;
        assert!(found > line * 0.99, "gen{generation}: {found}");
    }
    let results = writes(3, 200, "auto");
    assert!(results.flows[0].goodput_gb_per_s > 14.0, "{}", results.flows[0].goodput_gb_per_s);
    assert_eq!(results.links[0].upstream.replays, 0);
}
