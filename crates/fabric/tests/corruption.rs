//! Data that change inside a switch: an ECRC finds them, an LCRC does not.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::Direction;
use lanewise_observe::TransactionError;
use lanewise_units::{Generation, Span, Width};

const TRANSFERS: u64 = 40;
const SIZE: u64 = 4096;
const ALL: u64 = TRANSFERS * SIZE;

/// One endpoint below a switch that damages these packets; everybody sends an ECRC, or nobody.
fn rig(tlps: &[u64], ecrc: bool) -> FabricConfig {
    let mut config = behind_switch(Generation::Gen3, Width::X8, Width::X8, 1, 256);
    switch_mut(&mut config, 1).corruption.tlps = tlps.to_vec();
    root_mut(&mut config).ecrc = ecrc;
    let end = endpoint_mut(&mut config, 2);
    end.ecrc = ecrc;
    end.errors =
        ErrorConfig { completion_timeout: Some(Span::from_us(60)), retries: 5, ..ErrorConfig::default() };
    config
}

/// What was delivered and what was reported, when nothing is under way any more.
fn outcome(config: &FabricConfig, direction: Direction) -> (u64, Vec<(TransactionError, u64)>) {
    let mut simulation = Simulation::build(config).expect("a tree");
    simulation.add_workload(Box::new(Stream::new(2, direction, SIZE, 4).times(TRANSFERS)));
    simulation.run_until(us(20_000), u64::MAX);
    simulation.run_until(us(20_200), u64::MAX);
    simulation.fabric.check_conservation();
    assert!(simulation.fabric.is_quiet(), "something is under way");
    let observers = simulation.fabric.observers();
    for port in 0..simulation.fabric.port_count() {
        let counters = observers.counters(port);
        assert_eq!(
            (counters.errors.bad_tlps, counters.errors.naks_sent, counters.errors.replays),
            (0, 0, 0),
            "no LCRC is wrong"
        );
    }
    let errors = observers.errors().map(|(_, error, count)| (error, count)).collect();
    (observers.flows()[0].payload().get(), errors)
}

#[test]
fn damaged_writes_are_dropped_where_they_were_to_go() {
    let (delivered, errors) = outcome(&rig(&[0, 7, 7, 30], true), Direction::Write);
    assert_eq!(delivered, ALL - 3 * 256);
    assert_eq!(errors, [(TransactionError::Ecrc, 3)]);
}

#[test]
fn without_an_ecrc_nobody_notices() {
    for direction in [Direction::Write, Direction::Read] {
        assert_eq!(outcome(&rig(&[0, 7, 30], false), direction), (ALL, vec![]));
    }
}

/// The first packet of all is the request of the first read.
#[test]
fn a_damaged_request_is_not_answered_and_times_out() {
    let (delivered, errors) = outcome(&rig(&[0], true), Direction::Read);
    assert_eq!(delivered, ALL, "it was asked for again");
    assert_eq!(errors, [(TransactionError::Ecrc, 1), (TransactionError::CompletionTimeout, 1)]);
}

/// Of 32 requests in flight one has a damaged completion: what comes after it is of no use, and all of the rest comes again.
#[test]
fn a_damaged_completion_breaks_its_read_until_the_timeout() {
    let tlps: Vec<u64> = (40..43).collect();
    let (delivered, errors) = outcome(&rig(&tlps, true), Direction::Read);
    assert_eq!(delivered, ALL);
    let [(TransactionError::Ecrc, found), (TransactionError::CompletionTimeout, timeouts)] = errors[..]
    else {
        panic!("{errors:?}")
    };
    assert_eq!(found, 3);
    assert!((1..=3).contains(&timeouts), "{timeouts}");
}

#[test]
fn chance_damages_as_many_as_it_says() {
    let mut config = rig(&[], true);
    switch_mut(&mut config, 1).corruption.probability = 0.05;
    let (delivered, errors) = outcome(&config, Direction::Write);
    let [(TransactionError::Ecrc, found)] = errors[..] else { panic!("{errors:?}") };
    assert_eq!(delivered, ALL - found * 256);
    let expected = ALL / 256 / 20;
    assert!(found.abs_diff(expected) < expected, "{found} of {expected}");

    endpoint_mut(&mut config, 2).errors.retries = 1_000;
    let (delivered, _) = outcome(&config, Direction::Read);
    assert_eq!(delivered, ALL, "a read asks until it has everything");
}

#[test]
fn a_switch_that_damages_nothing_changes_nothing() {
    let fingerprint = |tlps: &[u64], ecrc| {
        let stream = Stream::new(2, Direction::Read, SIZE, 4);
        measure(&rig(tlps, ecrc), vec![stream], 100).fabric.observers().fingerprint()
    };
    assert_eq!(fingerprint(&[], true), fingerprint(&[u64::MAX], true));
}
