//! Completion timeouts, late and poisoned data, requests for nobody: what is detected, what is lost, what comes again.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{Direction, Target};
use lanewise_fabric::{Progress, Simulation, Waiter};
use lanewise_observe::TransactionError;
use lanewise_units::{Generation, Span, Width};

const TRANSFERS: u64 = 40;
const SIZE: u64 = 4096;

fn rig() -> FabricConfig {
    behind_switch(Generation::Gen3, Width::X8, Width::X8, 2, 256)
}

/// Runs transfers of device 2 to their end. Nothing stays under way.
fn run(config: &FabricConfig, stream: Stream) -> Simulation {
    let mut simulation = Simulation::build(config).expect("a tree");
    simulation.add_workload(Box::new(stream.times(TRANSFERS)));
    simulation.run_until(us(200_000), u64::MAX);
    simulation.fabric.check_conservation();
    simulation.run_until(us(200_200), u64::MAX);
    assert!(simulation.fabric.is_quiet(), "something is under way");
    simulation
}

fn reads() -> Stream {
    Stream::new(2, Direction::Read, SIZE, 4)
}

fn errors(simulation: &Simulation) -> Vec<(TransactionError, u64)> {
    simulation.fabric.observers().errors().map(|(_, error, count)| (error, count)).collect()
}

fn delivered(simulation: &Simulation) -> u64 {
    simulation.fabric.observers().flows()[0].payload().get()
}

fn watching(timeout_us: u64, retries: u32) -> ErrorConfig {
    ErrorConfig { completion_timeout: Some(Span::from_us(timeout_us)), retries, ..ErrorConfig::default() }
}

const REQUEST: u64 = 512;

#[test]
fn a_timeout_that_never_runs_out_changes_nothing() {
    let plain = measure(&rig(), vec![reads()], 500);
    let mut config = rig();
    endpoint_mut(&mut config, 2).errors = watching(60, 3);
    let watched = measure(&config, vec![reads()], 500);
    assert_eq!(plain.fabric.observers().fingerprint(), watched.fabric.observers().fingerprint());
    assert_eq!(errors(&watched), []);
}

#[test]
fn a_read_that_nobody_answers_is_given_up() {
    let mut config = rig();
    root_mut(&mut config).errors.unanswered_reads = vec![3, 17];
    endpoint_mut(&mut config, 2).errors = watching(100, 0);
    let simulation = run(&config, reads());
    assert_eq!(errors(&simulation), [(TransactionError::CompletionTimeout, 2)]);
    assert_eq!(delivered(&simulation), TRANSFERS * SIZE - 2 * REQUEST);
}

#[test]
fn a_read_that_is_repeated_brings_its_data_late() {
    let mut config = rig();
    // The repetition of the first one is lost as well.
    root_mut(&mut config).errors.unanswered_reads = vec![3, 17];
    endpoint_mut(&mut config, 2).errors = watching(100, 2);
    let simulation = run(&config, reads());
    assert_eq!(errors(&simulation), [(TransactionError::CompletionTimeout, 2)]);
    assert_eq!(delivered(&simulation), TRANSFERS * SIZE);
    let slowest = simulation.fabric.observers().flows()[0].latency().max_ns;
    assert!((100_000.0..102_000.0).contains(&slowest), "{slowest}");
}

#[test]
fn a_completion_after_the_timeout_is_unexpected() {
    let mut config = rig();
    root_mut(&mut config).errors =
        ErrorConfig { late_reads: vec![5], late_by: Span::from_us(150), ..ErrorConfig::default() };
    endpoint_mut(&mut config, 2).errors = watching(100, 1);
    let simulation = run(&config, Stream::new(2, Direction::Read, SIZE, 4));
    // A read of 512 B is answered in completions of 64 B.
    assert_eq!(
        errors(&simulation),
        [(TransactionError::CompletionTimeout, 1), (TransactionError::UnexpectedCompletion, 8)]
    );
    assert_eq!(delivered(&simulation), TRANSFERS * SIZE);
}

#[test]
fn a_late_answer_within_the_timeout_is_only_late() {
    let mut config = rig();
    root_mut(&mut config).errors =
        ErrorConfig { late_reads: vec![5], late_by: Span::from_us(50), ..ErrorConfig::default() };
    endpoint_mut(&mut config, 2).errors = watching(100, 1);
    let simulation = run(&config, reads());
    assert_eq!(errors(&simulation), []);
    assert_eq!(delivered(&simulation), TRANSFERS * SIZE);
}

#[test]
fn poisoned_completions_lose_their_data_or_are_asked_for_again() {
    for (retries, lost) in [(0, 3 * 64), (1, 0)] {
        let mut config = rig();
        root_mut(&mut config).errors.poisoned = vec![0, 40, 90];
        endpoint_mut(&mut config, 2).errors = watching(1_000, retries);
        let simulation = run(&config, reads());
        assert_eq!(errors(&simulation), [(TransactionError::PoisonedTlp, 3)]);
        assert_eq!(delivered(&simulation), TRANSFERS * SIZE - lost);
    }
}

#[test]
fn poisoned_writes_lose_their_data_at_memory_and_at_a_peer() {
    for target in [Target::HostMemory, Target::Endpoint(lanewise_fabric::workload::DeviceId(3))] {
        let mut config = rig();
        endpoint_mut(&mut config, 2).errors.poisoned = vec![1, 2, 100];
        let simulation = run(&config, Stream::new(2, Direction::Write, SIZE, 4).to(target));
        assert_eq!(errors(&simulation), [(TransactionError::PoisonedTlp, 3)]);
        assert_eq!(delivered(&simulation), TRANSFERS * SIZE - 3 * 256);
    }
}

#[test]
fn requests_for_nobody_are_unsupported() {
    let requests = TRANSFERS * SIZE / REQUEST;
    let reads = run(&rig(), reads().to(Target::Nobody));
    assert_eq!(errors(&reads), [(TransactionError::UnsupportedRequest, requests)]);
    assert_eq!(delivered(&reads), 0);
    let writes = run(&rig(), Stream::new(2, Direction::Write, SIZE, 4).to(Target::Nobody));
    assert_eq!(errors(&writes), [(TransactionError::UnsupportedRequest, TRANSFERS * SIZE / 256)]);
}

#[test]
fn without_a_timeout_an_unanswered_read_stalls_its_device() {
    let mut config = rig();
    root_mut(&mut config).errors.unanswered_reads = vec![0];
    let mut simulation = Simulation::build(&config).expect("a tree");
    simulation.add_workload(Box::new(reads().times(4)));
    let waiting = vec![Waiter::Reader { device: 2, reads: 1 }];
    assert_eq!(simulation.run_until(us(50_000), u64::MAX), Progress::Stalled { waiting });
}

/// Its time runs from when it has left (PCIe Base 6.3 §2.8). One is served for 50 us, one waits behind it in the only buffer that
/// there is, and a third has waited for that since long before.
#[test]
fn a_read_that_waits_for_credits_does_not_time_out() {
    let mut config = direct(Generation::Gen3, Width::X8, 256);
    let root = root_mut(&mut config);
    (root.stack.read_trackers, root.memory_latency) = (1, Span::from_us(50));
    config.devices[0].ports[0].credits[1].header = Some(1);
    endpoint_mut(&mut config, 1).errors = watching(120, 0);
    let simulation = run(&config, Stream::new(1, Direction::Read, SIZE, 4));
    assert_eq!(errors(&simulation), []);
    assert_eq!(delivered(&simulation), TRANSFERS * SIZE);
}
