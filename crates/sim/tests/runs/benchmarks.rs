//! A benchmark moves the packets that it is there to move: speed is hops over wall time, and a fabric that dawdles, say
//! because credits come back late, shows nothing in that ratio.

use lanewise_sim::bench::bench;

/// Within 1 % of what the rig moves: ties may be broken otherwise, throughput may not change.
#[track_caller]
fn assert_moves(name: &str, hops: u64) {
    let moved = bench(name).expect("a benchmark of that name").tlp_hops;
    assert!(moved.abs_diff(hops) * 100 <= hops, "{name} moved {moved} TLPs over a link instead of {hops}");
}

#[test]
fn reads_and_writes_of_eight_endpoints_keep_the_root_port_busy() {
    assert_moves("mixed", 1_097_547);
}

#[test]
fn writes_fill_the_chain() {
    assert_moves("chain", 1_122_054);
}
