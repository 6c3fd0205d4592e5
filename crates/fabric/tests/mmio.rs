//! Loads and stores of a core: the way to the root port, headers by where the BAR lies, and when a store has left.

use crate::common::*;
use lanewise_fabric::config::FabricConfig;
use lanewise_units::{Generation, Span, Width};

/// One card on a Gen1 x4 link, where a byte takes 1 ns: a store of 4 B is there after 45 ns, a load after 189 ns.
fn card() -> FabricConfig {
    without_background(direct(Generation::Gen1, Width::X4, 128))
}

const STORE: Ask = Ask::MmioWrite { device: 1, bytes: 4 };
const LOAD: Ask = Ask::MmioRead { device: 1, bytes: 4 };

#[test]
fn a_core_is_as_far_from_the_root_port_each_way() {
    let (store, load) = (alone(&card(), STORE), alone(&card(), LOAD));
    assert_eq!((store, load), (Span::from_ns(45), Span::from_ns(189)));
    let mut config = card();
    root_mut(&mut config).core_latency = Span::from_ns(80);
    assert_eq!(alone(&config, STORE), store + Span::from_ns(80));
    assert_eq!(alone(&config, LOAD), load + Span::from_ns(160));
}

/// Four bytes more of address for a request; a completion has three DW whatever the request had.
#[test]
fn a_64_bit_bar_needs_four_dw() {
    let mut config = card();
    endpoint_mut(&mut config, 1).registers.is_wide = true;
    assert_eq!(alone(&config, STORE), Span::from_ns(45 + 4));
    // 4 ns more, and the register is read 4 ns later, which is a symbol.
    assert_eq!(alone(&config, LOAD), Span::from_ns(189 + 4));
}

/// Posted stores do not wait for each other on their way: so many in flight go as fast as the link takes them.
#[test]
fn stores_follow_each_other_on_the_way_to_the_root_port() {
    let mut config = card();
    root_mut(&mut config).core_latency = Span::from_ns(400);
    let stores = (0..8).map(|step| (us(5) + Span::from_ns(24 * step), STORE)).collect();
    let (_, log) = run_script(&config, stores, 1000);
    for step in 0..8 {
        assert_eq!(log.latency(step), Span::from_ns(445), "store {step}");
    }
}
